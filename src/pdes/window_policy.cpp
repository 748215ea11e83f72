#include <utility>

#include "meeting.hpp"
#include "tessera/pdes/sync_policy.hpp"

namespace tessera::pdes {
namespace {

class WindowPolicy final : public SyncPolicy {
 public:
  WindowPolicy(comm::Communicator& communicator, RegionDelays delays)
      : communicator_(communicator), meeting_(communicator, std::move(delays.from)) {}

  RoundResult advance(Site& site, const RoundSums& sums) override {
    Meeting::Counts none{};
    const RoundResult result = meeting_.advance(site, sums, none);
    counts_.batches = meeting_.batches_sent();
    ++counts_.rounds;
    counts_.waits += communicator_.size() > 1 && !result.finished ? 1 : 0;
    return result;
  }

 private:
  comm::Communicator& communicator_;
  Meeting meeting_;
};

const Registration window_policy_registration(
    sync_policies(),
    {"window", "all ranks meet in one reduction a round; jumps idle stretches", {}},
    make_window_policy);

}  // namespace

std::unique_ptr<SyncPolicy> make_window_policy(comm::Communicator& communicator,
                                               RegionDelays delays) {
  return std::make_unique<WindowPolicy>(communicator, std::move(delays));
}

}  // namespace tessera::pdes
