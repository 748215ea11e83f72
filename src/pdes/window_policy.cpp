#include <utility>

#include "global_round.hpp"
#include "tessera/pdes/sync_policy.hpp"

namespace tessera::pdes {
namespace {

class WindowPolicy final : public SyncPolicy {
 public:
  WindowPolicy(comm::Communicator& communicator, RegionDelays delays)
      : communicator_(communicator), global_round_(communicator, std::move(delays.from)) {}

  RoundResult advance(Site& site, const RoundSums& sums) override {
    GlobalRound::Counts none{};
    const RoundResult result = global_round_.advance(site, sums, none);
    counts_.batches = global_round_.batches_sent();
    ++counts_.rounds;
    counts_.waits += communicator_.size() > 1 && !result.finished ? 1 : 0;
    return result;
  }

 private:
  comm::Communicator& communicator_;
  GlobalRound global_round_;
};

const Registration window_policy_registration(
    sync_policies(),
    {"window", "all ranks synchronise in one reduction per round; idle periods are skipped", {}},
    make_window_policy);

}  // namespace

std::unique_ptr<SyncPolicy> make_window_policy(comm::Communicator& communicator,
                                               RegionDelays delays) {
  return std::make_unique<WindowPolicy>(communicator, std::move(delays));
}

}  // namespace tessera::pdes
