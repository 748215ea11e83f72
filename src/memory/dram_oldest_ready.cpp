// The scheduler `oldest-ready`, see dram_channel.hpp.
//
// Requests of a kind (reads, writes) and bank are a list in order of age. Of a bank at most two can
// be next: with its row closed the oldest, which needs an activation; else the oldest that hits the
// row and the oldest that misses it. The oldest of these that is ready is the oldest of all that
// are, so that a cycle costs a look at each bank with requests, not at each request.

#include <bit>
#include <utility>

#include "dram_scheduler.hpp"

namespace tessera::memory {
namespace {

class OldestReady final : public DramScheduler {
 public:
  explicit OldestReady(const DramSpec& spec)
      : DramScheduler(spec, spec.timing.refi, spec.timing.refi - 1),
        lists_{std::vector<List>(banks_.size()), std::vector<List>(banks_.size())},
        served_(banks_.size(), none) {}

  bool accepts(bool write) const override {
    return write ? queued_[1] < controller_.write_queue : queued_[0] < controller_.read_queue;
  }

  void submit(Cycle now, const DramRequest& request, std::vector<DramDone>& done) override {
    catch_up(now, done);
    wake_ = std::min(wake_, now);
    if (!request.write && requests_.find(request.burst, true) != none) {
      done.push_back({request.id, now});
      return;
    }
    const std::size_t kind = request.write ? 1 : 0;
    const std::uint32_t place = requests_.add(request);
    List& list = lists_[kind][request.bank];
    requests_[place].previous = list.last;
    (list.last == none ? list.first : requests_[list.last].next) = place;
    list.last = place;
    const std::uint32_t open = banks_.open_row(request.bank);
    std::uint32_t& place_of_kind = open == request.row ? list.hit : list.miss;
    if (place_of_kind == none) {
      place_of_kind = place;
    }
    banks_with_[kind] |= bit(request.bank);
    ++queued_[kind];
  }

  std::size_t resident_bytes() const override {
    return DramScheduler::resident_bytes() +
           (lists_[0].capacity() + lists_[1].capacity()) * sizeof(List) +
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
    lists_[0] = reader.get_all<List>();
    lists_[1] = reader.get_all<List>();
    served_ = reader.get_all<std::uint32_t>();
    const auto state = reader.get<State>();
    banks_with_ = state.banks_with;
    queued_ = state.queued;
    banks_served_ = state.banks_served;
    writing_ = state.writing != 0;
  }

 private:
  // Of one bank and kind, by age.
  struct List {
    std::uint32_t first = none;
    std::uint32_t last = none;
    std::uint32_t hit = none;   // the first that hits the open row
    std::uint32_t miss = none;  // the first that does not; or `unknown`, to be looked for
  };
  static constexpr std::uint32_t unknown = none - 1;
  struct State {
    std::array<std::uint64_t, 2> banks_with;
    std::array<std::uint32_t, 2> queued;
    std::uint64_t banks_served;
    std::uint64_t writing;
  };
  enum class Command : std::uint8_t { nothing, activate, precharge, column };
  struct Choice {
    Command command = Command::nothing;
    std::uint32_t place = none;
    std::uint64_t order = ~std::uint64_t{0};
    Cycle later = no_cycle;  // the first cycle in which one of the others is ready

    // `ready` is asked for only where it can matter: of a request older than the choice.
    template <class Ready>
    void offer(Command with, std::uint32_t at, std::uint64_t of_order, Cycle now, Ready ready) {
      if (of_order > order) {
        return;
      }
      const Cycle cycle = ready();
      if (cycle > now) {
        later = std::min(later, cycle);
      } else {
        command = with;
        place = at;
        order = of_order;
      }
    }
  };

  template <class Visit>
  static void for_each_bank(std::uint64_t banks, Visit visit) {
    for (; banks != 0; banks &= banks - 1) {
      visit(static_cast<std::uint32_t>(std::countr_zero(banks)));
    }
  }

  State state() const { return {banks_with_, queued_, banks_served_, writing_ ? 1U : 0U}; }

  void step(Cycle now, std::vector<DramDone>& done) override {
    if (refresh_due_ <= now) {
      for (std::uint32_t rank = 0; rank < banks_.ranks(); ++rank) {
        refreshing_.push_back(rank);
      }
      refresh_due_ += banks_.timing().refi;
    }
    Choice choice = best_served(now);
    bool issued = choice.command != Command::nothing;
    if (issued) {
      serve(choice.place, now, done);
    } else if (!refreshing_.empty()) {
      issued = advance_refresh(now, choice.later);
    } else {
      set_direction();
      choose_queued(now, choice);
      issued = issue(choice, now, done);
    }
    // `later` leaves out those that are younger than a choice.
    const bool chosen = choice.command != Command::nothing;
    wake_ = std::min(issued || chosen ? now + 1 : choice.later, refresh_due_);
  }

  // Of the requests whose row was opened for them.
  Choice best_served(Cycle now) const {
    Choice choice;
    for_each_bank(banks_served_, [&](std::uint32_t bank) {
      const HeldRequest& request = requests_[served_[bank]];
      choice.offer(Command::column, served_[bank], request.order, now,
                   [&] { return banks_.column_at(bank, request.write != 0); });
    });
    return choice;
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
        find_hits(rank * banks_.banks_of_rank() + i);
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

  bool serves_rank(std::uint32_t rank) const {
    bool serves = false;
    for_each_bank(banks_served_,
                  [&](std::uint32_t bank) { serves = serves || banks_.rank_of(bank) == rank; });
    return serves;
  }

  void set_direction() {
    if (!writing_) {
      writing_ = queued_[1] >= controller_.write_high || queued_[0] == 0;
    } else if (queued_[1] <= controller_.write_low && queued_[0] != 0) {
      writing_ = false;
    }
  }

  void choose_queued(Cycle now, Choice& choice) {
    const std::size_t kind = writing_ ? 1 : 0;
    for_each_bank(banks_with_[kind], [&](std::uint32_t bank) {
      List& list = lists_[kind][bank];
      const std::uint64_t oldest = requests_[list.first].order;
      if (oldest > choice.order) {
        return;
      }
      if (banks_.open_row(bank) == DramBanks::closed) {
        choice.offer(Command::activate, list.first, oldest, now,
                     [&] { return banks_.activate_at(bank); });
        return;
      }
      if (list.hit != none) {
        choice.offer(Command::column, list.hit, requests_[list.hit].order, now,
                     [&] { return banks_.column_at(bank, writing_); });
      }
      if (list.miss == unknown && oldest < choice.order) {
        list.miss = following(list.first, banks_.open_row(bank), false);
      }
      if (list.miss < unknown) {
        choice.offer(Command::precharge, list.miss, requests_[list.miss].order, now,
                     [&] { return banks_.precharge_at(bank); });
      }
    });
  }

  bool issue(const Choice& choice, Cycle now, std::vector<DramDone>& done) {
    if (choice.command == Command::nothing) {
      return false;
    }
    const std::uint32_t bank = requests_[choice.place].bank;
    if (choice.command == Command::precharge) {
      if ((banks_served_ & bit(bank)) != 0) {
        return false;
      }
      banks_.precharge(bank, true, now);
      find_hits(bank);
    } else if (choice.command == Command::activate) {
      banks_.activate(bank, requests_[choice.place].row, now);
      take(choice.place);
      served_[bank] = choice.place;
      banks_served_ |= bit(bank);
      find_hits(bank);
    } else {
      take(choice.place);
      finish(choice.place, now, done);
    }
    return true;
  }

  void serve(std::uint32_t place, Cycle now, std::vector<DramDone>& done) {
    const std::uint32_t bank = requests_[place].bank;
    banks_served_ &= ~bit(bank);
    served_[bank] = none;
    finish(place, now, done);
  }

  void finish(std::uint32_t place, Cycle now, std::vector<DramDone>& done) {
    const HeldRequest& request = requests_[place];
    const std::uint32_t bank = request.bank;
    const bool close =
        controller_.closed_page && lists_[0][bank].hit == none && lists_[1][bank].hit == none;
    banks_.column(bank, request.write != 0, close, now);
    done.push_back({request.id, request.write != 0 ? now : now + banks_.read_latency()});
    requests_.remove(place);
    if (close) {
      find_hits(bank);
    }
  }

  // Out of the list of its bank.
  void take(std::uint32_t place) {
    const HeldRequest& request = requests_[place];
    const std::size_t kind = request.write;
    List& list = lists_[kind][request.bank];
    (request.previous == none ? list.first : requests_[request.previous].next) = request.next;
    (request.next == none ? list.last : requests_[request.next].previous) = request.previous;
    if (list.hit == place) {
      list.hit = following(request.next, request.row, true);
    }
    if (list.miss == place) {
      list.miss = following(request.next, banks_.open_row(request.bank), false);
    }
    if (list.first == none) {
      banks_with_[kind] &= ~bit(request.bank);
    }
    --queued_[kind];
  }

  // From `place` on, the first that does (not) want the row.
  std::uint32_t following(std::uint32_t place, std::uint32_t row, bool wants) const {
    while (place != none && (requests_[place].row == row) != wants) {
      place = requests_[place].next;
    }
    return place;
  }

  void find_hits(std::uint32_t bank) {
    const std::uint32_t row = banks_.open_row(bank);
    for (std::vector<List>& lists : lists_) {
      List& list = lists[bank];
      list.hit = row == DramBanks::closed ? none : following(list.first, row, true);
      list.miss = row == DramBanks::closed ? list.first : unknown;
    }
  }

  std::array<std::vector<List>, 2> lists_;  // [reads, writes][banks]
  std::array<std::uint64_t, 2> banks_with_{};
  std::array<std::uint32_t, 2> queued_{};
  std::vector<std::uint32_t> served_;  // [banks] whose row was opened for it, or none
  std::uint64_t banks_served_ = 0;
  bool writing_ = false;
};

const Registration registration(
    dram_schedulers(),
    {"oldest-ready",
     "FR-FCFS over a queue of reads and one of writes: the oldest request whose command may issue",
     {}},
    [](const DramSpec& spec) { return std::make_unique<OldestReady>(spec); });

}  // namespace
}  // namespace tessera::memory
