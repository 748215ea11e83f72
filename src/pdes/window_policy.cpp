#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/pdes/sync_policy.hpp"

namespace tessera::pdes {
namespace {

class WindowPolicy final : public SyncPolicy {
 public:
  WindowPolicy(comm::Communicator& communicator, std::vector<SimTime> delays)
      : communicator_(communicator),
        delays_(std::move(delays)),
        values_(static_cast<std::size_t>(communicator.size()) + counters) {
    const auto ranks = static_cast<std::size_t>(communicator.size());
    ensure(delays_.size() == ranks * ranks, "a delay for each pair of ranks");
  }

  RoundResult advance(SimTime next, std::vector<Outbox>& outboxes, const RoundSums& sums,
                      const EventSink& sink) override {
    const auto ranks = static_cast<std::size_t>(communicator_.size());
    const auto self = static_cast<std::size_t>(communicator_.rank());
    std::fill(values_.begin(), values_.end(), comm::MinSum{});
    values_[self].earliest = next;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      Outbox& outbox = outboxes[rank];
      if (!outbox.events.empty()) {
        // What is under way counts as an event of the rank where it will arrive.
        values_[rank] = {outbox.earliest, 1};
        post(static_cast<int>(rank), outbox);
      }
    }
    values_[ranks].count = sums.stop_requests;
    values_[ranks + 1].count = sums.checkpoint_requests;
    values_[ranks + 2].count = sums.events;
    values_[ranks + 3].count = sums.work_done;
    communicator_.reduce_min_sum(values_);
    communicator_.receive_batches(values_[self].count, [&](int, std::span<const std::byte> bytes) {
      ensure(bytes.size() % sizeof(Event) == 0, "a batch of whole events");
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(Event)) {
        Event event;
        std::memcpy(static_cast<void*>(&event), bytes.data() + at, sizeof(Event));
        sink(event);
      }
    });
    return result_of(ranks, self);
  }

 private:
  static constexpr std::size_t counters = 4;

  void post(int rank, Outbox& outbox) {
    std::vector<std::byte> bytes(outbox.events.size() * sizeof(Event));
    std::memcpy(bytes.data(), outbox.events.data(), bytes.size());
    communicator_.post_batch(rank, std::move(bytes));
    outbox.events.clear();
    outbox.earliest = SimTime::never();
    ++batches_sent_;
  }

  RoundResult result_of(std::size_t ranks, std::size_t self) const {
    RoundResult result;
    result.bound = SimTime::never();
    result.global_next = SimTime::never();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const SimTime earliest = values_[rank].earliest;
      result.bound = std::min(result.bound, earliest + delays_[rank * ranks + self]);
      result.global_next = std::min(result.global_next, earliest);
    }
    result.finished = result.global_next.is_never();
    result.sums = {values_[ranks].count, values_[ranks + 1].count, values_[ranks + 2].count,
                   values_[ranks + 3].count};
    return result;
  }

  comm::Communicator& communicator_;
  std::vector<SimTime> delays_;
  std::vector<comm::MinSum> values_;
};

}  // namespace

std::unique_ptr<SyncPolicy> make_window_policy(comm::Communicator& communicator,
                                               std::vector<SimTime> delays) {
  return std::make_unique<WindowPolicy>(communicator, std::move(delays));
}

}  // namespace tessera::pdes
