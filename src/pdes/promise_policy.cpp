#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "global_round.hpp"
#include "other_rank.hpp"
#include "statements.hpp"
#include "tessera/core/error.hpp"
#include "tessera/pdes/sync_policy.hpp"

namespace tessera::pdes {
namespace {

using WallClock = std::chrono::steady_clock;

// Events from one look at what came in to the next: some tens of microseconds of work.
constexpr std::uint64_t events_while_nobody_waits = 768;
// While another rank waits, and may have to be told that it can go on.
constexpr std::uint64_t events_while_waited_for = 256;
// Neighbours that do not wait are told anew after so many looks, so that they need not ask.
constexpr std::uint32_t looks_between_statements = 4;
// The first rank calls a global round as often, to tell of progress.
constexpr std::chrono::milliseconds global_round_period(100);
// A waiting rank looks up as often for requests of the user.
constexpr std::chrono::milliseconds longest_wait(1);
// Batches of each neighbour that bring a waiting rank no further, before it calls a global round
// where ranks do not know of all.
constexpr std::uint64_t patience = 3;
// A rank that has waited so long calls one in any case.
constexpr std::chrono::milliseconds longest_silence(200);

class PromisePolicy final : public SyncPolicy {
 public:
  PromisePolicy(comm::Communicator& communicator, const RegionDelays& delays)
      : communicator_(communicator),
        ranks_(static_cast<std::size_t>(communicator.size())),
        self_(static_cast<std::size_t>(communicator.rank())),
        posted_to_(ranks_),
        statements_(ranks_, self_, delays),
        others_(statements_.known()),
        sums_(ranks_ + sums_carried) {
    for (std::size_t i = 0; i < statements_.neighbours_of(0).size(); ++i) {
      others_[statements_.place_of(statements_.neighbours_of(0)[i])].neighbour = i;
    }
  }

  std::uint64_t stretch() const override {
    return ranks_ == 1      ? 1U << 18
           : someone_waits_ ? events_while_waited_for
                            : events_while_nobody_waits;
  }

  // A rank that works alone hears from nobody, though those that are idle may have rung.
  bool has_news() const override { return ranks_ > 1 && communicator_.has_async_news(); }

  RoundResult advance(Site& site, const RoundSums& sums) override {
    if (ranks_ == 1) {
      return meet(site, sums);
    }
    check(site);
    receive(site);
    is_stated_ = false;
    if (sums.stop_requests > 0 || sums.checkpoint_requests > 0 || is_time_to_tell()) {
      call_global_round();
    }
    if (called_ > met_) {
      return meet(site, sums);
    }
    if (may_run(site)) {
      began_to_wait_ = {};
      tell_while_working(site);
    } else {
      wait(site);
      if (called_ > met_) {
        return meet(site, sums);
      }
    }
    RoundResult result;
    result.bound = bound_;
    result.global = false;
    return result;
  }

 private:
  using Other = OtherRank;
  static constexpr std::size_t sums_carried = 6;

  // --- what comes in ---

  void receive(Site& site) {
    communicator_.receive_async([this, &site](int source, std::span<const std::byte> batch) {
      take(site, static_cast<std::size_t>(source), events_of(batch));
    });
  }

  void take(Site& site, std::size_t source, std::span<const Event> batch) {
    ensure(!batch.empty(), "a batch ends with a record of its sender");
    const Event& record = batch.back();
    ++received_;
    if ((record.flags & calls) != 0) {
      called_ = std::max<std::uint64_t>(called_, record.sequence);
    }
    if ((record.flags & is_arrived) != 0 && record.sequence == met_) {
      ++arrived_;
    }
    const std::size_t place = statements_.place_of(source);
    const std::span<const Event> events = (record.flags & states) != 0
                                              ? statements_.take_from(batch, place)
                                              : batch.first(batch.size() - 1);
    ++fruitless_;
    if (events.empty()) {
      return;
    }
    ensure(place != Statements::none && others_[place].neighbour != Statements::none,
           "events from a region that was said to send none here");
    Other& other = others_[place];
    ++other.received;
    for (const Event& event : events) {
      if (event.time < other.bound) [[unlikely]] {
        refuse(site, event, source, self_, other.bound);
      }
      input_since_ = std::min(input_since_, event.time);
    }
    site.arrive(events);
  }

  // --- what this rank says of itself ---

  // `wanted`: as in Statement.
  void state(Site& site, SimTime wanted) {
    check(site);
    say_wanted(wanted);
    Statement& own = statements_.own();
    bool is_new = own.version == 0;
    for (std::size_t i = 0; i < own.towards.size(); ++i) {
      const std::size_t rank = statements_.neighbours_of(0)[i];
      const Towards towards = towards_of(site, rank);
      is_new = is_new || towards != own.towards[i];
      own.towards[i] = towards;
    }
    if (is_new) {
      statements_.own_changed();
    }
    input_since_ = SimTime::never();
    is_stated_ = true;
  }

  void say_wanted(SimTime wanted) {
    if (statements_.own().wanted != wanted) {
      statements_.own().wanted = wanted;
      statements_.own_changed();
    }
  }

  Towards towards_of(Site& site, std::size_t rank) {
    const std::size_t place = statements_.place_of(rank);
    Other& other = others_[place];
    const Outbox& outbox = site.outboxes()[rank];
    const std::uint32_t known_there =
        statements_.of(place).towards[statements_.neighbour_of(place, self_)].received;
    while (!other.unanswered.empty() && !is_before(known_there, other.unanswered.front().number)) {
      other.unanswered.pop_front();
    }
    const Outlook outlook = site.outlook(static_cast<std::uint32_t>(rank), wanted_of_all());
    Towards towards;
    towards.at = std::max(firm_, std::min(outlook.at, site.next() + outlook.after_next));
    towards.through = outlook.through();
    towards.sent = outbox.earliest;
    for (const OtherRank::Unanswered& batch : other.unanswered) {
      towards.sent = std::min(towards.sent, batch.earliest);
    }
    towards.bound = statements_.complete() ? SimTime::zero() : other.bound;
    towards.posted = other.posted + (outbox.events.empty() ? 0 : 1);
    towards.received = other.received;
    return towards;
  }

  // What would let all go on that wait and have work.
  SimTime wanted_of_all() const {
    SimTime most;
    for (std::size_t place = 1; place < others_.size(); ++place) {
      most = std::max(most, statements_.of(place).wanted);
    }
    return most;
  }

  // Whether what was sent since the last statement keeps it.
  void check(Site& site) {
    const Statement& said = statements_.own();
    for (std::size_t i = 0; i < said.towards.size(); ++i) {
      const std::size_t rank = statements_.neighbours_of(0)[i];
      Other& other = others_[statements_.place_of(rank)];
      const std::vector<Event>& events = site.outboxes()[rank].events;
      const Towards& towards = said.towards[i];
      const SimTime promised =
          std::max(firm_, std::min(towards.at, input_since_ + towards.through));
      for (; other.checked < events.size(); ++other.checked) {
        if (said.version != 0 && events[other.checked].time < promised) [[unlikely]] {
          refuse(site, events[other.checked], self_, rank, promised);
        }
      }
    }
  }

  [[noreturn]] static void refuse(const Site& site, const Event& event, std::size_t from,
                                  std::size_t to, SimTime promised) {
    throw InternalError("a promise between ranks was broken: " + site.describe(event) + " (rank " +
                        std::to_string(from) + ") sends to entity " + std::to_string(event.target) +
                        " (rank " + std::to_string(to) + ") for " + to_string(event.time) +
                        ", but nothing was to come before " + to_string(promised));
  }

  // --- how far this rank may run ---

  bool has_work(const Site& site) const { return site.next() < site.limit(); }

  bool is_within_bound(const Site& site) const {
    const SimTime end = site.next() + site.width();
    return has_work(site) && end <= bound_ && !end.is_never();
  }

  // If not, this rank is said to wait.
  bool may_run(Site& site) {
    if (is_within_bound(site)) {
      return true;
    }
    state(site, has_work(site) ? site.next() + site.width() : site.limit());
    find_bounds();
    if (is_within_bound(site)) {
      say_wanted(SimTime::zero());
      return true;
    }
    return false;
  }

  void find_bounds() {
    statements_.solve();
    for (std::size_t place = 1; place < others_.size(); ++place) {
      others_[place].bound = std::max(others_[place].bound, statements_.earliest_from(place));
    }
    bound_ = std::max(bound_, statements_.earliest_input(0));
  }

  // --- what goes out ---

  bool has_events(Site& site, std::size_t place) const {
    return others_[place].neighbour != Statements::none &&
           !site.outboxes()[statements_.rank_of(place)].events.empty();
  }

  // Whether it waits, as far as this rank knows, and was not told that it may go on.
  bool waits(std::size_t place) const {
    const Statement& said = statements_.of(place);
    return said.waits() && others_[place].freed != said.wanted;
  }

  // Whether it may go on.
  bool frees(std::size_t place) const {
    return waits(place) && statements_.earliest_input(place) >= statements_.of(place).wanted;
  }

  void tell_while_working(Site& site) {
    bool has_to_tell = false;
    someone_waits_ = false;
    for (std::size_t place = 1; place < others_.size(); ++place) {
      const bool is_waiting = waits(place);
      someone_waits_ = someone_waits_ || is_waiting;
      has_to_tell = has_to_tell || is_waiting || has_events(site, place) ||
                    others_[place].looks + 1 >= looks_between_statements;
      ++others_[place].looks;
    }
    if (!has_to_tell && !statements_.own().waits()) {
      return;
    }
    if (!is_stated_) {
      state(site, SimTime::zero());
      find_bounds();
    }
    for (std::size_t place = 1; place < others_.size(); ++place) {
      const bool is_due = others_[place].neighbour != Statements::none &&
                          others_[place].looks >= looks_between_statements && !waits(place) &&
                          statements_.has_news_for(place);
      if (is_due || has_events(site, place) || frees(place)) {
        post(site, place, true);
      }
    }
  }

  void wait(Site& site) {
    const auto now = WallClock::now();
    if (began_to_wait_ == WallClock::time_point{}) {
      began_to_wait_ = now;
      fruitless_ = 0;
      counts_.waits += has_work(site) ? 1 : 0;
    }
    bool all_wait = true;
    for (std::size_t place = 1; place < others_.size(); ++place) {
      all_wait = all_wait && statements_.of(place).waits();
      const bool wakes = has_events(site, place) || frees(place);
      if (wakes || statements_.has_news_for(place)) {
        post(site, place, wakes);
      }
    }
    const bool creeps =
        !statements_.complete() && all_wait && fruitless_ > patience * others_.size();
    if (!has_work(site) && bound_ >= site.limit()) {
      arrive_at_limit();
    } else if (creeps || now - began_to_wait_ > longest_silence) {
      call_global_round();
    }
    if (called_ == met_) {
      communicator_.await_async(longest_wait);
    }
  }

  // The last statement counts all that is in the outbox.
  void post(Site& site, std::size_t place, bool wakes) {
    Other& other = others_[place];
    const std::size_t rank = statements_.rank_of(place);
    other.looks = 0;
    if (frees(place)) {
      other.freed = statements_.of(place).wanted;
    }
    if (!has_events(site, place)) {
      record_.clear();
      statements_.append_to(record_, place);
      record_.back().flags = states;
      send(rank, record_, wakes);
      return;
    }
    Outbox& outbox = site.outboxes()[rank];
    statements_.append_to(outbox.events, place);
    outbox.events.back().flags = states;
    send(rank, outbox.events, wakes);
    other.unanswered.push_back({++other.posted, outbox.earliest});
    other.checked = 0;
    outbox.events.clear();
    outbox.earliest = SimTime::never();
  }

  void send(std::size_t rank, std::span<const Event> batch, bool wakes) {
    communicator_.post_async(static_cast<int>(rank), std::as_bytes(batch), wakes);
    ++posted_to_[rank];
    ++counts_.batches;
  }

  // --- global rounds ---

  bool is_time_to_tell() const {
    return self_ == 0 && WallClock::now() - last_global_round_ >= global_round_period;
  }

  void call_global_round() { called_ = std::max(called_, met_ + 1); }

  // Each rank that comes to a global round calls those beside it, so that all hear.
  void pass_call_on() {
    Event record;
    record.flags = calls;
    record.sequence = static_cast<std::uint32_t>(called_);
    for (std::size_t place = 1; place < others_.size(); ++place) {
      send_mark(statements_.rank_of(place), record);
    }
    for (const std::size_t rank : {self_ + 1, self_ - 1}) {  // wherever links lead
      if (rank < ranks_ && statements_.place_of(rank) == Statements::none) {
        send_mark(rank, record);
      }
    }
  }

  void send_mark(std::size_t rank, const Event& record) { send(rank, std::span(&record, 1), true); }

  // Nothing is left to do, and nothing can come in, before the pause or the end. The first rank
  // calls the global round when that is so of all.
  void arrive_at_limit() {
    if (!told_arrival_) {
      told_arrival_ = true;
      if (self_ == 0) {
        ++arrived_;
      } else {
        Event record;
        record.flags = is_arrived;
        record.sequence = static_cast<std::uint32_t>(met_);
        send_mark(0, record);
      }
    }
    if (self_ == 0 && arrived_ == ranks_) {
      call_global_round();
    }
  }

  // All ranks: takes in all that is under way, then reduces.
  RoundResult meet(Site& site, const RoundSums& sums) {
    if (ranks_ > 1) {
      called_ = met_ + 1;
      pass_call_on();
      take_all_in(site);
    }
    ++met_;
    ++counts_.rounds;
    std::fill(sums_.begin(), sums_.end(), comm::MinSum{});
    sums_[0].earliest = site.next();
    sums_[1].earliest = earliest_output(site);
    sums_[2].count = sums.stop_requests;
    sums_[3].count = sums.checkpoint_requests;
    sums_[4].count = sums.events;
    sums_[5].count = sums.work_done;
    communicator_.reduce_min_sum(std::span(sums_).first(sums_carried));
    firm_ = std::max(firm_, sums_[1].earliest);
    for (Other& other : others_) {
      other.bound = std::max(other.bound, firm_);
    }
    bound_ = std::max(bound_, firm_);
    last_global_round_ = WallClock::now();
    began_to_wait_ = {};
    told_arrival_ = false;
    arrived_ = 0;
    RoundResult result;
    result.bound = bound_;
    result.global_next = sums_[0].earliest;
    result.finished = result.global_next.is_never();
    result.sums = {sums_[2].count, sums_[3].count, sums_[4].count, sums_[5].count};
    return result;
  }

  void take_all_in(Site& site) {
    state(site, SimTime::zero());
    for (std::size_t place = 1; place < others_.size(); ++place) {
      if (has_events(site, place)) {
        post(site, place, true);
      }
    }
    std::fill(sums_.begin(), sums_.end(), comm::MinSum{});
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      sums_[rank].count = static_cast<std::int64_t>(posted_to_[rank]);
    }
    communicator_.reduce_min_sum(std::span(sums_).first(ranks_));
    const auto all = static_cast<std::uint64_t>(sums_[self_].count);
    while (received_ < all) {
      receive(site);
      if (received_ < all) {
        communicator_.await_async(longest_wait);
      }
    }
  }

  // To any rank, when nothing is under way between ranks and nothing comes in.
  SimTime earliest_output(Site& site) const {
    SimTime earliest = SimTime::never();
    for (const std::size_t rank : statements_.neighbours_of(0)) {
      const Outlook outlook = site.outlook(static_cast<std::uint32_t>(rank), SimTime::never());
      earliest = std::min({earliest, outlook.at, site.next() + outlook.after_next});
    }
    return earliest;
  }

  comm::Communicator& communicator_;
  std::size_t ranks_;
  std::size_t self_;
  std::vector<std::uint64_t> posted_to_;  // [ranks] batches
  Statements statements_;
  std::vector<Other> others_;   // [known ranks] as in statements_; the first is unused
  std::vector<Event> record_;   // a batch without events
  std::uint64_t received_ = 0;  // batches from all
  std::vector<comm::MinSum> sums_;
  SimTime bound_;  // nothing reaches this rank before
  SimTime firm_;   // nothing reached any rank before, from the last global round
  SimTime input_since_ = SimTime::never();  // earliest that came in since the last statement
  std::uint64_t met_ = 0;                   // global rounds so far
  std::uint64_t called_ = 0;                // number of the last one called
  std::uint64_t fruitless_ = 0;             // batches that came since this rank began to wait
  std::size_t arrived_ = 0;                 // ranks at the pause or the end, at the first rank
  bool told_arrival_ = false;
  bool is_stated_ = false;  // nothing has changed since the last statement
  bool someone_waits_ = false;
  WallClock::time_point last_global_round_ = WallClock::now();
  WallClock::time_point began_to_wait_;  // epoch: it does not wait
};

const Registration promise_policy_registration(
    sync_policies(),
    {"promise",
     "models promise when they will next send; a waiting rank asks only its neighbours",
     {}},
    make_promise_policy);

}  // namespace

std::unique_ptr<SyncPolicy> make_promise_policy(comm::Communicator& communicator,
                                                RegionDelays delays) {
  return std::make_unique<PromisePolicy>(communicator, delays);
}

}  // namespace tessera::pdes
