#include "global_round.hpp"

#include <algorithm>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::pdes {
namespace {

constexpr std::size_t sums_carried = 4;
constexpr std::size_t counters = sums_carried + std::tuple_size_v<GlobalRound::Counts>;

}  // namespace

std::span<const Event> events_of(std::span<const std::byte> batch) {
  ensure(batch.size() % sizeof(Event) == 0, "a batch of whole events");
  ensure(reinterpret_cast<std::uintptr_t>(batch.data()) % alignof(Event) == 0,
         "a batch where events may lie");
  return {reinterpret_cast<const Event*>(batch.data()), batch.size() / sizeof(Event)};
}

GlobalRound::GlobalRound(comm::Communicator& communicator, std::vector<SimTime> delays)
    : communicator_(communicator),
      delays_(std::move(delays)),
      ranks_(static_cast<std::size_t>(communicator.size())),
      self_(static_cast<std::size_t>(communicator.rank())),
      values_(ranks_ + counters) {
  ensure(delays_.size() == ranks_, "a delay from each rank");
}

RoundResult GlobalRound::advance(Site& site, const RoundSums& sums, Counts& counts) {
  std::fill(values_.begin(), values_.end(), comm::MinSum{});
  values_[self_].earliest = site.next();
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    Outbox& outbox = site.outboxes()[rank];
    if (!outbox.events.empty()) {
      // What is under way counts as an event of the rank where it will arrive.
      values_[rank] = {outbox.earliest, 1};
      communicator_.post_batch(static_cast<int>(rank), std::as_bytes(std::span(outbox.events)));
      outbox.events.clear();
      outbox.earliest = SimTime::never();
      ++batches_sent_;
    }
  }
  values_[ranks_].count = sums.stop_requests;
  values_[ranks_ + 1].count = sums.checkpoint_requests;
  values_[ranks_ + 2].count = sums.events;
  values_[ranks_ + 3].count = sums.work_done;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    values_[ranks_ + sums_carried + i].count = counts[i];
  }
  communicator_.reduce_min_sum(values_);
  communicator_.receive_batches(
      values_[self_].count,
      [&site](int, std::span<const std::byte> batch) { site.arrive(events_of(batch)); });
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = values_[ranks_ + sums_carried + i].count;
  }
  return result();
}

RoundResult GlobalRound::result() const {
  RoundResult result;
  result.bound = SimTime::never();
  result.global_next = SimTime::never();
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    const SimTime earliest = values_[rank].earliest;
    result.bound = std::min(result.bound, earliest + delays_[rank]);
    result.global_next = std::min(result.global_next, earliest);
  }
  result.finished = result.global_next.is_never();
  result.sums = {values_[ranks_].count, values_[ranks_ + 1].count, values_[ranks_ + 2].count,
                 values_[ranks_ + 3].count};
  return result;
}

}  // namespace tessera::pdes
