#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "global_round.hpp"
#include "tessera/core/error.hpp"
#include "tessera/pdes/sync_policy.hpp"

namespace tessera::pdes {
namespace {

using WallClock = std::chrono::steady_clock;

// The most rounds, and wall time, from one global round to the next.
constexpr std::int64_t longest_stretch = 64;
constexpr std::int64_t longest_stretch_us = 50'000;

class NullMessagePolicy final : public SyncPolicy {
 public:
  NullMessagePolicy(comm::Communicator& communicator, RegionDelays delays)
      : communicator_(communicator),
        global_round_(communicator, std::move(delays.from)),
        ranks_(static_cast<std::size_t>(communicator.size())),
        promised_(ranks_, SimTime::never()) {
    const auto self = static_cast<std::uint32_t>(communicator.rank());
    std::map<std::size_t, SimTime> delay_to;  // never: that way nothing is sent
    for (const RegionDelays::Direct& pair : delays.direct) {
      if (pair.from == self) {
        delay_to[pair.to] = pair.delay;
      } else if (pair.to == self) {
        delay_to.try_emplace(pair.from, SimTime::never());
      }
    }
    for (const auto& [rank, delay] : delay_to) {
      // Both ways even if events go one way only, so that neither gets far ahead of the other.
      neighbours_.push_back({rank, delay});
      if (!delay.is_never()) {
        promised_[rank] = SimTime::zero();
      }
    }
  }

  RoundResult advance(Site& site, const RoundSums& sums) override {
    ++counts_.rounds;
    counts_.waits += ranks_ > 1 ? 1 : 0;
    busy_rounds_ += sums.events > events_before_ ? 1 : 0;
    events_before_ = sums.events;
    // A request lasts until all have heard of it.
    stop_requests_ = std::max(stop_requests_, sums.stop_requests);
    checkpoint_requests_ = std::max(checkpoint_requests_, sums.checkpoint_requests);
    if (++rounds_ < stretch_) {
      return advance_locally(site);
    }
    return advance_globally(site, sums);
  }

 private:
  struct Neighbour {
    std::size_t rank;
    SimTime delay;  // direct, to it
  };

  RoundResult advance_locally(Site& site) {
    const SimTime earliest = std::min(site.next(), bound_);
    for (const Neighbour& neighbour : neighbours_) {
      Outbox& outbox = site.outboxes()[neighbour.rank];
      SimTime& promised = promised_[neighbour.rank];
      check(outbox, neighbour.rank);
      promised = std::max(promised, earliest + neighbour.delay);
      // The promise is the time of one more record, the last.
      Event promise;
      promise.time = promised;
      outbox.events.push_back(promise);
      communicator_.post_batch(static_cast<int>(neighbour.rank),
                               std::as_bytes(std::span(outbox.events)));
      outbox.events.clear();
      outbox.earliest = SimTime::never();
    }
    local_batches_ += neighbours_.size();
    counts_.batches = local_batches_ + global_round_.batches_sent();
    communicator_.end_round();
    SimTime least = SimTime::never();
    communicator_.receive_batches(static_cast<std::int64_t>(neighbours_.size()),
                                  [&least, &site](int, std::span<const std::byte> batch) {
                                    const std::span<const Event> events = events_of(batch);
                                    ensure(!events.empty(), "a batch ends with a promise");
                                    site.arrive(events.first(events.size() - 1));
                                    least = std::min(least, events.back().time);
                                  });
    // What the last global round told may reach further.
    bound_ = std::max(bound_, least);
    RoundResult result;
    result.bound = bound_;
    result.global = false;
    return result;
  }

  RoundResult advance_globally(Site& site, RoundSums sums) {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      check(site.outboxes()[rank], rank);
    }
    sums.stop_requests = stop_requests_;
    sums.checkpoint_requests = checkpoint_requests_;
    const auto now = WallClock::now();
    GlobalRound::Counts counts{
        busy_rounds_,
        std::chrono::duration_cast<std::chrono::microseconds>(now - stretch_began_).count()};
    RoundResult result = global_round_.advance(site, sums, counts);
    counts_.batches = local_batches_ + global_round_.batches_sent();
    bound_ = std::max(bound_, result.bound);
    result.bound = bound_;
    const bool requests = result.sums.stop_requests > 0 || result.sums.checkpoint_requests > 0;
    choose_stretch(counts[0], counts[1], requests);
    stretch_began_ = now;
    busy_rounds_ = 0;
    rounds_ = 0;
    stop_requests_ = 0;
    checkpoint_requests_ = 0;
    return result;
  }

  // From sums over all ranks, so that all choose alike. A rank that handled an event since the
  // round before is busy.
  void choose_stretch(std::int64_t busy_rounds, std::int64_t wall_us, bool requests) {
    const auto ranks = static_cast<std::int64_t>(ranks_);
    const std::int64_t rounds = ranks * rounds_;
    const std::int64_t mean_us = wall_us / ranks;
    if (ranks == 1 || requests || 2 * busy_rounds < rounds) {
      stretch_ = 1;
    } else if (mean_us > longest_stretch_us) {
      stretch_ = std::max<std::int64_t>(1, stretch_ * longest_stretch_us / mean_us);
    } else if (2 * busy_rounds > rounds && 2 * mean_us < longest_stretch_us) {
      stretch_ = std::min(2 * stretch_, longest_stretch);
    }
  }

  void check(const Outbox& outbox, std::size_t rank) const {
    if (outbox.earliest < promised_[rank]) [[unlikely]] {
      refuse(outbox, rank);
    }
  }

  [[noreturn]] void refuse(const Outbox& outbox, std::size_t rank) const {
    const SimTime promised = promised_[rank];
    const auto event =
        std::ranges::find_if(outbox.events, [=](const Event& e) { return e.time < promised; });
    ensure(event != outbox.events.end(), "the earliest event of an outbox is in it");
    const std::string who = "entity " + std::to_string(event->source.value()) + " (rank " +
                            std::to_string(communicator_.rank()) + ") sends to entity " +
                            std::to_string(event->target) + " (rank " + std::to_string(rank) + ")";
    throw ModelError(
        promised.is_never()
            ? who +
                  " and no link leads from the one's region to the other's, as the null-message "
                  "synchronization was told"
            : "causality: " + who + " for " + to_string(event->time) + ", but nothing before " +
                  to_string(promised) + " was to come over the links between their regions",
        event->time, event->source);
  }

  comm::Communicator& communicator_;
  GlobalRound global_round_;
  std::size_t ranks_;
  std::vector<Neighbour> neighbours_;
  // [ranks] nothing of ours reaches the rank before; never for those that are not sent to
  std::vector<SimTime> promised_;
  SimTime bound_;  // nothing reaches this rank before
  std::uint64_t local_batches_ = 0;

  std::int64_t stretch_ = 1;  // rounds from one global round to the next, the latter included
  // Since the last global round:
  std::int64_t rounds_ = 0;
  std::int64_t busy_rounds_ = 0;
  std::int64_t stop_requests_ = 0;
  std::int64_t checkpoint_requests_ = 0;
  WallClock::time_point stretch_began_ = WallClock::now();
  std::int64_t events_before_ = 0;
};

const Registration null_message_policy_registration(
    sync_policies(),
    {"null-message",
     "neighbouring ranks exchange promises; all ranks synchronise at times, always in idle periods",
     {}},
    make_null_message_policy);

}  // namespace

std::unique_ptr<SyncPolicy> make_null_message_policy(comm::Communicator& communicator,
                                                     RegionDelays delays) {
  return std::make_unique<NullMessagePolicy>(communicator, std::move(delays));
}

}  // namespace tessera::pdes
