// The scheduler `oldest-ready`, see memory/dram/channel.hpp.
//
// Requests of a kind (reads, writes) and bank are in lists of a row each, in order of age: the list
// of the open row, and the others by the age of their first. Of a bank at most two requests can be
// next: the first that hits the row; and the first of the others, for which the row must be closed
// or opened. The oldest of these that is ready is the oldest of all that are, so that a cycle costs
// a look at banks by age up to the first that is ready, not at each request.

#include <bit>
#include <utility>

#include "dram/banks_by_age.hpp"
#include "dram/run.hpp"
#include "dram/scheduler.hpp"

namespace tessera::memory {
namespace {

class OldestReady final : public DramScheduler {
 public:
  explicit OldestReady(const DramSpec& spec)
      : DramScheduler(spec, spec.timing.refi, spec.timing.refi - 1),
        lists_{std::vector<Lists>(banks_.size()), std::vector<Lists>(banks_.size())},
        served_(banks_.size(), none) {}

  bool accepts(bool write) const override {
    return write ? queued_[1] < controller_.write_queue : queued_[0] < controller_.read_queue;
  }

  void submit(Cycle now, const DramRequest& request, std::vector<DramDone>& done) override {
    catch_up(now, done);
    wake_ = std::min(wake_, now);
    if (!request.write && requests_.find(request.burst, true) != none) {
      done.push_back({request.id, now, now});
      ++banks_.counts().answered_reads;
      return;
    }
    const std::size_t kind = request.write ? 1 : 0;
    const std::uint32_t place = requests_.add(request, request.write);
    append(kind, place);
    ++queued_[kind];
  }

  Cycle tick(Cycle now, std::vector<DramDone>& done) override {
    catch_up(now, done);
    step(now, done);
    return DramScheduler::next();
  }

  Cycle run(Cycle from, Cycle until, DramPort& port, const DramAddressMap& map,
            std::vector<DramDone>& done) override {
    return run_channel(*this, from, until, port, map, done);
  }

  // With writes in the queue the next cycle, unless it takes some before any of them may issue and
  // no read that may come meanwhile is of what they hold.
  Cycle first_finish(Cycle from, const DramPort& port) const override {
    const Cycle reads = DramScheduler::first_finish(from, port);
    if (reads > from || turns_to_writes() || serves_write()) {
      return reads;
    }
    // A cycle takes one read at most; writing does not begin before there is none.
    const Cycle cycles = std::min<Cycle>(banks_.read_latency(), queued_[0]);
    const std::uint64_t room = port.one_a_cycle() ? 0 : controller_.read_queue - queued_[0];
    if (room > most_looked_at) {
      return from;
    }
    const bool meets_write = port.any_of_next(
        room + static_cast<std::uint64_t>(cycles) + 1, [&](const WaitingBursts& bursts) {
          return bursts.write != 0 || requests_.holds_write(bursts.index, bursts.count);
        });
    return meets_write ? from : from + cycles;
  }

  std::size_t resident_bytes() const override {
    return DramScheduler::resident_bytes() +
           (lists_[0].capacity() + lists_[1].capacity()) * sizeof(Lists) +
           served_.capacity() * sizeof(std::uint32_t);
  }

  void save(pdes::StateWriter& writer) const override {
    DramScheduler::save(writer);
    writer.put_all(lists_[0]);
    writer.put_all(lists_[1]);
    writer.put_all(served_);
    writer.put(state());
  }
  void restore(pdes::StateReader& reader) override {
    DramScheduler::restore(reader);
    lists_[0] = reader.get_all<Lists>();
    lists_[1] = reader.get_all<Lists>();
    served_ = reader.get_all<std::uint32_t>();
    const auto state = reader.get<State>();
    queued_ = state.queued;
    banks_served_ = state.banks_served;
    writing_ = state.writing != 0;
    for (std::uint32_t bank = 0; bank < banks_.size(); ++bank) {
      put_forward(0, bank);
      put_forward(1, bank);
    }
  }

 private:
  // Bursts of each line before it costs more than it saves.
  static constexpr std::uint64_t most_looked_at = 64;

  // Of one bank and kind: the first requests of lists of a row.
  struct Lists {
    std::uint32_t hit = none;     // of the open row
    std::uint32_t others = none;  // oldest first
  };
  struct State {
    std::array<std::uint32_t, 2> queued;
    std::uint64_t banks_served;
    std::uint64_t writing;
  };
  template <class Visit>
  static void for_each_bank(std::uint64_t banks, Visit visit) {
    for (; banks != 0; banks &= banks - 1) {
      visit(static_cast<std::uint32_t>(std::countr_zero(banks)));
    }
  }

  State state() const { return {queued_, banks_served_, writing_ ? 1U : 0U}; }

  void step(Cycle now, std::vector<DramDone>& done) override {
    if (refresh_due_ <= now) {
      for (std::uint32_t rank = 0; rank < banks_.ranks(); ++rank) {
        refreshing_.push_back(rank);
      }
      refresh_due_ += banks_.timing().refi;
    }
    Cycle later = no_cycle;  // than now, when nothing is ready: the first cycle in which it is
    const bool served = banks_served_ != 0 && serve(now, later, done);
    bool busy = served;
    if (!served || controller_.two_commands) {
      if (!refreshing_.empty()) {
        busy |= advance_refresh(now, later);
      } else {
        writing_ = turns_to_writes();
        busy |= issue_queued(now, !served, later, done);
      }
    }
    wake_ = std::min(busy ? now + 1 : later, refresh_due_);
  }

  // The oldest that is ready of those whose row was opened for them.
  bool serve(Cycle now, Cycle& later, std::vector<DramDone>& done) {
    std::uint32_t oldest = none;
    for_each_bank(banks_served_, [&](std::uint32_t bank) {
      const HeldRequest& request = requests_[served_[bank]];
      const Cycle ready = banks_.column_at(bank, request.write);
      if (ready > now) {
        later = std::min(later, ready);
      } else if (oldest == none || request.order < requests_[oldest].order) {
        oldest = served_[bank];
      }
    });
    if (oldest == none) {
      return false;
    }
    const std::uint32_t bank = requests_[oldest].bank;
    banks_served_ &= ~bit(bank);
    served_[bank] = none;
    finish(oldest, now, done);
    return true;
  }

  // True when a command was issued; else `later` becomes the time of the next try.
  bool advance_refresh(Cycle now, Cycle& later) {
    const std::uint32_t rank = refreshing_.front();
    const Cycle precharge = banks_.precharge_all_at(rank);
    if (precharge != no_cycle) {
      if (precharge > now) {
        later = std::min(later, precharge);
        return false;
      }
      if (serves_rank(rank)) {
        return false;
      }
      banks_.precharge_all(rank, now);
      for (std::uint32_t i = 0; i < banks_.banks_of_rank(); ++i) {
        row_is_closed(rank * banks_.banks_of_rank() + i);
      }
      return true;
    }
    const Cycle refresh = banks_.refresh_at(rank);
    if (refresh > now) {
      later = std::min(later, refresh);
      return false;
    }
    banks_.refresh(rank, now);
    refreshing_.erase(refreshing_.begin());
    return true;
  }

  bool serves_write() const {
    bool serves = false;
    for_each_bank(banks_served_, [&](std::uint32_t bank) {
      serves = serves || requests_[served_[bank]].write != 0;
    });
    return serves;
  }

  bool serves_rank(std::uint32_t rank) const {
    bool serves = false;
    for_each_bank(banks_served_,
                  [&](std::uint32_t bank) { serves = serves || banks_.rank_of(bank) == rank; });
    return serves;
  }

  bool turns_to_writes() const {
    return writing_ ? queued_[1] > controller_.write_low || queued_[0] == 0
                    : queued_[1] >= controller_.write_high || queued_[0] == 0;
  }

  // Of requests of the kind that it is the turn of; true when one is ready. With two commands a
  // cycle one for rows and, unless a column command was issued before, one for columns.
  bool issue_queued(Cycle now, bool column_is_free, Cycle& later, std::vector<DramDone>& done) {
    const std::size_t kind = writing_ ? 1 : 0;
    std::uint32_t hit = column_is_free ? oldest_hit(kind, now, later) : none;
    const std::uint64_t before =
        controller_.two_commands || hit == none ? ~std::uint64_t{0} : requests_[hit].order;
    const bool row = issue_row(kind, before, now, later);
    if (hit != none && row && controller_.two_commands) {
      hit = oldest_hit(kind, now, later);  // the row command may have closed its row
    }
    if (hit == none || (row && !controller_.two_commands)) {
      return row;
    }
    take_hit(hit);
    finish(hit, now, done);
    return true;
  }

  std::uint32_t oldest_hit(std::size_t kind, Cycle now, Cycle& later) const {
    const BanksByAge& hits = hits_[kind];
    for (std::size_t i = 0; i < hits.size(); ++i) {
      const std::uint32_t bank = hits.bank(i);
      const Cycle ready = banks_.column_at(bank, kind != 0);
      if (ready <= now) {
        return lists_[kind][bank].hit;
      }
      later = std::min(later, ready);
    }
    return none;
  }

  // For the oldest request that is older than `before` and whose row can be opened or made room
  // for.
  bool issue_row(std::size_t kind, std::uint64_t before, Cycle now, Cycle& later) {
    const BanksByAge& others = others_[kind];
    for (std::size_t i = 0; i < others.size() && others.order(i) < before; ++i) {
      const std::uint32_t bank = others.bank(i);
      const bool closed = banks_.open_row(bank) == DramBanks::closed;
      const Cycle ready = closed ? banks_.activate_at(bank) : banks_.precharge_at(bank);
      if (controller_.two_commands && !closed && keeps_row(kind, bank, others.order(i))) {
        continue;
      }
      if (ready <= now) {
        closed ? activate(kind, bank, now) : precharge(bank, now);
        return true;
      }
      later = std::min(later, ready);
    }
    return false;
  }

  // An older request hits the open row, or the row was opened for one that is not served yet.
  bool keeps_row(std::size_t kind, std::uint32_t bank, std::uint64_t order) const {
    const std::uint32_t hit = lists_[kind][bank].hit;
    return (banks_served_ & bit(bank)) != 0 || (hit != none && requests_[hit].order < order);
  }

  // For the oldest of the bank's others.
  void activate(std::size_t kind, std::uint32_t bank, Cycle now) {
    const std::uint32_t place = lists_[kind][bank].others;
    banks_.activate(bank, requests_[place].row, now);
    row_is_open(bank);
    take_hit(place);
    served_[bank] = place;
    banks_served_ |= bit(bank);
    if (controller_.strict_page) {
      row_is_closed(bank);  // to all others
    }
  }

  // Not before the request was served that the row was opened for.
  void precharge(std::uint32_t bank, Cycle now) {
    if ((banks_served_ & bit(bank)) == 0) {
      banks_.precharge(bank, true, now);
      row_is_closed(bank);
    }
  }

  void finish(std::uint32_t place, Cycle now, std::vector<DramDone>& done) {
    const HeldRequest& request = requests_[place];
    const std::uint32_t bank = request.bank;
    // Not while the request waits that the row was opened for.
    const bool close =
        controller_.strict_page || (controller_.closed_page && (banks_served_ & bit(bank)) == 0 &&
                                    lists_[0][bank].hit == none && lists_[1][bank].hit == none);
    banks_.column(bank, request.write != 0, close, now);
    done.push_back({request.id, request.write != 0 ? now : now + banks_.read_latency(), now});
    requests_.remove(place);
  }

  // To the list of its row.
  void append(std::size_t kind, std::uint32_t place) {
    const HeldRequest& request = requests_[place];
    Lists& lists = lists_[kind][request.bank];
    const bool hits = !controller_.strict_page && request.row == banks_.open_row(request.bank);
    std::uint32_t* first = hits ? &lists.hit : &lists.others;
    while (*first != none && requests_[*first].row != request.row) {
      first = &requests_[*first].next_list;
    }
    if (*first != none) {
      HeldRequest& oldest = requests_[*first];
      requests_[oldest.last].next = place;
      oldest.last = place;
      return;
    }
    *first = requests_[place].last = place;
    if (hits) {
      hits_[kind].set(request.bank, request.order);
    } else if (lists.others == place) {
      others_[kind].set(request.bank, request.order);
    }
  }

  // The first of those that hit the row.
  void take_hit(std::uint32_t place) {
    const HeldRequest& request = requests_[place];
    const std::size_t kind = request.write;
    lists_[kind][request.bank].hit = request.next;
    if (request.next != none) {
      requests_[request.next].last = request.last;
    }
    hits_[kind].set(request.bank, order_of(request.next));
    --queued_[kind];
  }

  void row_is_open(std::uint32_t bank) {
    const std::uint32_t row = banks_.open_row(bank);
    for (std::size_t kind = 0; kind < 2; ++kind) {
      Lists& lists = lists_[kind][bank];
      std::uint32_t* link = &lists.others;
      while (*link != none && requests_[*link].row != row) {
        link = &requests_[*link].next_list;
      }
      lists.hit = *link;
      if (lists.hit != none) {
        *link = requests_[lists.hit].next_list;
        requests_[lists.hit].next_list = none;
      }
      put_forward(kind, bank);
    }
  }

  void row_is_closed(std::uint32_t bank) {
    for (std::size_t kind = 0; kind < 2; ++kind) {
      Lists& lists = lists_[kind][bank];
      if (lists.hit == none) {
        continue;
      }
      std::uint32_t* link = &lists.others;
      while (*link != none && requests_[*link].order < requests_[lists.hit].order) {
        link = &requests_[*link].next_list;
      }
      requests_[lists.hit].next_list = *link;
      *link = lists.hit;
      lists.hit = none;
      put_forward(kind, bank);
    }
  }

  void put_forward(std::size_t kind, std::uint32_t bank) {
    const Lists& lists = lists_[kind][bank];
    hits_[kind].set(bank, order_of(lists.hit));
    others_[kind].set(bank, order_of(lists.others));
  }
  std::uint64_t order_of(std::uint32_t place) const {
    return place == none ? BanksByAge::nothing : requests_[place].order;
  }

  std::array<std::vector<Lists>, 2> lists_;  // [reads, writes][banks]
  std::array<BanksByAge, 2> hits_;           // [reads, writes]
  std::array<BanksByAge, 2> others_;         // the same
  std::array<std::uint32_t, 2> queued_{};
  std::vector<std::uint32_t> served_;  // [banks] whose row was opened for it, or none
  std::uint64_t banks_served_ = 0;
  bool writing_ = false;
};

const Registration oldest_ready_registration(
    dram_schedulers(),
    {"oldest-ready",
     "FR-FCFS over a read queue and a write queue: the oldest request whose command can issue",
     {}},
    [](const DramSpec& spec) { return std::make_unique<OldestReady>(spec); });

}  // namespace
}  // namespace tessera::memory
