#include <utility>

#include "meeting.hpp"
#include "tessera/pdes/sync_policy.hpp"

namespace tessera::pdes {
namespace {

class WindowPolicy final : public SyncPolicy {
 public:
  WindowPolicy(comm::Communicator& communicator, std::vector<SimTime> delays)
      : meeting_(communicator, std::move(delays)) {}

  RoundResult advance(SimTime next, std::vector<Outbox>& outboxes, const RoundSums& sums,
                      const EventSink& sink) override {
    Meeting::Counts none{};
    const RoundResult result = meeting_.advance(next, outboxes, sums, none, sink);
    batches_sent_ = meeting_.batches_sent();
    return result;
  }

 private:
  Meeting meeting_;
};

const Registration registration(sync_policies(),
                                {"window",
                                 "all ranks meet in one reduction a round; jumps idle stretches",
                                 {}},
                                [](comm::Communicator& communicator, RegionDelays delays) {
                                  return make_window_policy(communicator, std::move(delays.least));
                                });

}  // namespace

std::unique_ptr<SyncPolicy> make_window_policy(comm::Communicator& communicator,
                                               std::vector<SimTime> delays) {
  return std::make_unique<WindowPolicy>(communicator, std::move(delays));
}

}  // namespace tessera::pdes
