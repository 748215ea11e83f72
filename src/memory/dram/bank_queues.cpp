// The scheduler `bank-queues`, see memory/dram/channel.hpp.

#include <algorithm>
#include <bit>
#include <optional>

#include "dram/run.hpp"
#include "dram/scheduler.hpp"

namespace tessera::memory {
namespace {

// Column commands after which a row may be closed although requests hit it.
constexpr std::uint32_t fair_columns = 4;
// Cycles after which an idle channel drains the few writes it has. Assumed: DRAMsim3 waits for
// ever.
constexpr Cycle patience = 1000;

class BankQueues final : public DramScheduler {
 public:
  explicit BankQueues(const DramSpec& spec)
      : DramScheduler(spec, interval_of(spec) * spec.organization.all_ranks(), interval_of(spec)),
        entries_(std::size_t{banks_.size()} * controller_.bank_queue),
        sizes_(banks_.size(), 0),
        not_before_(banks_.size(), 0),
        refresh_interval_(interval_of(spec)) {
    find_wanted();
  }

  bool accepts(bool write) const override {
    return write ? transactions_[1].size() < controller_.write_queue
                 : transactions_[0].size() < controller_.read_queue;
  }

  void submit(Cycle now, const DramRequest& request, std::vector<DramDone>& done) override {
    catch_up(now, done);
    wake_ = std::min(wake_, now);
    const bool written = requests_.find(request.burst, true) != none;
    if (request.write || written) {
      done.push_back({request.id, now + 1, now});
    }
    if (written) {
      DramCounts& counts = banks_.counts();
      ++(request.write ? counts.answered_writes : counts.answered_reads);
      return;
    }
    const bool merged = !request.write && requests_.find(request.burst, false) != none;
    const std::uint32_t place = requests_.add(request, true);
    if (!merged) {
      transactions_[request.write ? 1 : 0].push_back(place);
      wanted_[request.write ? 1 : 0].push_back(static_cast<std::uint8_t>(request.bank));
    }
  }

  Cycle run(Cycle from, Cycle until, DramPort& port, const DramAddressMap& map,
            std::vector<DramDone>& done) override {
    return run_channel(*this, from, until, port, map, done);
  }

  std::size_t resident_bytes() const override {
    return DramScheduler::resident_bytes() + entries_.capacity() * sizeof(Entry) +
           sizes_.capacity() * sizeof(std::uint32_t) + not_before_.capacity() * sizeof(Cycle) +
           (transactions_[0].capacity() + transactions_[1].capacity()) * sizeof(std::uint32_t) +
           wanted_[0].capacity() + wanted_[1].capacity();
  }

  void save(pdes::StateWriter& writer) const override {
    DramScheduler::save(writer);
    writer.put_all(transactions_[0]);
    writer.put_all(transactions_[1]);
    writer.put_all(entries_);
    writer.put_all(sizes_);
    writer.put(state_);
  }
  void restore(pdes::StateReader& reader) override {
    DramScheduler::restore(reader);
    transactions_[0] = reader.get_all<std::uint32_t>();
    transactions_[1] = reader.get_all<std::uint32_t>();
    entries_ = reader.get_all<Entry>();
    sizes_ = reader.get_all<std::uint32_t>();
    state_ = reader.get<State>();
    std::fill(not_before_.begin(), not_before_.end(), 0);
    find_wanted();
  }

 private:
  // Between refreshes of one rank and of the next.
  static Cycle interval_of(const DramSpec& spec) {
    return spec.timing.refi / spec.organization.all_ranks();
  }

  // What follows from the state.
  void find_wanted() {
    for (std::size_t kind = 0; kind < transactions_.size(); ++kind) {
      wanted_[kind].clear();
      for (const std::uint32_t place : transactions_[kind]) {
        wanted_[kind].push_back(static_cast<std::uint8_t>(requests_[place].bank));
      }
    }
    with_room_ = 0;
    for (std::uint32_t bank = 0; bank < banks_.size(); ++bank) {
      with_room_ |= sizes_[bank] < controller_.bank_queue ? bit(bank) : 0;
    }
  }

  struct Entry {
    std::uint32_t place = none;
    std::uint32_t row = 0;
    std::uint32_t write = 0;
  };
  struct State {
    std::uint64_t banks_with = 0;  // banks whose queue is not empty
    std::uint32_t turn = 0;        // the bank that issued last
    std::uint32_t draining = 0;    // writes still to be moved at once
    std::uint32_t refresh_rank = 0;
    std::uint32_t blocked_rank = none;  // of a refresh that has begun
    Cycle flush_at = no_cycle;          // when writes no longer wait for others
  };
  enum class Command : std::uint8_t { nothing, activate, precharge, column };
  struct Candidate {
    Command command = Command::nothing;
    std::uint32_t entry = 0;
  };

  void step(Cycle now, std::vector<DramDone>& done) override {
    if (refresh_due_ <= now) {
      refreshing_.push_back(state_.refresh_rank);
      state_.refresh_rank = (state_.refresh_rank + 1) % banks_.ranks();
      refresh_due_ += refresh_interval_;
    }
    Cycle later = no_cycle;
    bool issued = !refreshing_.empty() && advance_refresh(now, later);
    bool column = false;
    if (!issued) {
      const auto command = issue_one(now, std::nullopt, later, done);
      issued = command.has_value();
      column = command.value_or(false);
    }
    if (issued && controller_.two_commands) {
      issue_one(now, !column, later, done);
    }
    const bool moved = move_transaction(now);
    wake_ = std::min(issued || moved ? now + 1 : later, refresh_due_);
    if (state_.banks_with != 0 || !transactions_[0].empty() || transactions_[1].empty()) {
      state_.flush_at = no_cycle;
      return;
    }
    if (state_.flush_at == no_cycle) {
      state_.flush_at = now + patience;
    }
    wake_ = std::min(wake_, state_.flush_at);
  }

  // True when a command was issued; else `later` is lowered to the time of the next try.
  bool advance_refresh(Cycle now, Cycle& later) {
    const std::uint32_t rank = refreshing_.front();
    state_.blocked_rank = rank;
    bool any_open = false;
    for (std::uint32_t i = 0; i < banks_.banks_of_rank(); ++i) {
      const std::uint32_t bank = rank * banks_.banks_of_rank() + i;
      if (banks_.open_row(bank) == DramBanks::closed) {
        continue;
      }
      any_open = true;
      const Cycle at = banks_.precharge_at(bank);
      if (at <= now) {
        banks_.precharge(bank, false, now);
        not_before_[bank] = 0;
        return true;
      }
      later = std::min(later, at);
    }
    if (any_open) {
      return false;
    }
    const Cycle at = banks_.refresh_at(rank);
    if (at > now) {
      later = std::min(later, at);
      return false;
    }
    banks_.refresh(rank, now);
    refreshing_.erase(refreshing_.begin());
    state_.blocked_rank = none;
    return true;
  }

  // The next bank in turn that has something ready issues it. True: a column command; nothing: none
  // was ready. With `only_column` set, the command is issued only if it is (not) one.
  std::optional<bool> issue_one(Cycle now, std::optional<bool> only_column, Cycle& later,
                                std::vector<DramDone>& done) {
    std::uint64_t banks = state_.banks_with;
    if (state_.blocked_rank != none) {
      const std::uint32_t count = banks_.banks_of_rank();
      const std::uint64_t ones = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
      banks &= ~(ones << state_.blocked_rank * count);
    }
    const std::uint64_t upper = banks & ~(bit(state_.turn) | (bit(state_.turn) - 1));
    for (std::uint64_t part : {upper, banks ^ upper}) {
      for (; part != 0; part &= part - 1) {
        const auto bank = static_cast<std::uint32_t>(std::countr_zero(part));
        if (not_before_[bank] > now) {
          later = std::min(later, not_before_[bank]);
          continue;
        }
        Cycle ready = no_cycle;
        const Candidate candidate = first_ready(bank, now, ready);
        if (candidate.command != Command::nothing) {
          state_.turn = bank;
          const bool column = candidate.command == Command::column;
          if (!only_column || *only_column == column) {
            issue(bank, candidate, now, done);
          }
          return column;
        }
        not_before_[bank] = ready;
        later = std::min(later, ready);
      }
    }
    return std::nullopt;
  }

  // In the queue of a bank; else `later` is lowered to when one will be.
  Candidate first_ready(std::uint32_t bank, Cycle now, Cycle& later) const {
    const Entry* queue = &entries_[std::size_t{bank} * controller_.bank_queue];
    const std::uint32_t size = sizes_[bank];
    const std::uint32_t open = banks_.open_row(bank);
    if (open == DramBanks::closed) {
      return when(Command::activate, 0, banks_.activate_at(bank), now, later);
    }
    if (queue[0].row != open && may_close(bank, queue, size, open)) {
      const Candidate close = when(Command::precharge, 0, banks_.precharge_at(bank), now, later);
      if (close.command != Command::nothing) {
        return close;
      }
    }
    // All reads of a row can go at one time, and all writes: those behind a first one that cannot
    // need no look.
    std::uint32_t tried = 0;  // bit 0: reads, 1: writes
    for (std::uint32_t i = 0; i < size && tried != 3; ++i) {
      const std::uint32_t kind = 1U << queue[i].write;
      if (queue[i].row == open && (tried & kind) == 0) {
        const Candidate hit =
            when(Command::column, i, banks_.column_at(bank, queue[i].write), now, later);
        if (hit.command != Command::nothing) {
          return hit;
        }
        tried |= kind;
      }
    }
    return {};
  }
  static Candidate when(Command command, std::uint32_t entry, Cycle at, Cycle now, Cycle& later) {
    if (at <= now) {
      return {command, entry};
    }
    later = std::min(later, at);
    return {};
  }

  bool may_close(std::uint32_t bank, const Entry* queue, std::uint32_t size,
                 std::uint32_t open) const {
    if (banks_.columns(bank) >= fair_columns) {
      return true;
    }
    for (std::uint32_t i = 0; i < size; ++i) {
      if (queue[i].row == open) {
        return false;
      }
    }
    return true;
  }

  void issue(std::uint32_t bank, const Candidate& candidate, Cycle now,
             std::vector<DramDone>& done) {
    Entry* queue = &entries_[std::size_t{bank} * controller_.bank_queue];
    not_before_[bank] = 0;
    if (candidate.command == Command::activate) {
      banks_.activate(bank, queue[candidate.entry].row, now);
      return;
    }
    if (candidate.command == Command::precharge) {
      banks_.precharge(bank, true, now);
      return;
    }
    const Entry entry = queue[candidate.entry];
    for (std::uint32_t i = candidate.entry + 1; i < sizes_[bank]; ++i) {
      queue[i - 1] = queue[i];
    }
    with_room_ |= bit(bank);
    if (--sizes_[bank] == 0) {
      state_.banks_with &= ~bit(bank);
    }
    const bool close = controller_.strict_page ||
                       (controller_.closed_page && may_close_after(queue, sizes_[bank], entry.row));
    banks_.column(bank, entry.write != 0, close, now);
    const std::uint64_t burst = requests_[entry.place].burst;
    if (entry.write != 0) {
      requests_.remove(entry.place);
      return;
    }
    // With the reads merged into this one.
    const std::size_t before = done.size();
    for (std::uint32_t place = requests_.find(burst, false); place != none;
         place = requests_.find(burst, false)) {
      done.push_back({requests_[place].id, now + banks_.read_latency(), now});
      requests_.remove(place);
    }
    banks_.counts().answered_reads += done.size() - before - 1;
  }
  static bool may_close_after(const Entry* queue, std::uint32_t size, std::uint32_t row) {
    for (std::uint32_t i = 0; i < size; ++i) {
      if (queue[i].row == row) {
        return false;
      }
    }
    return true;
  }

  // The first transaction whose bank has room moves there.
  bool move_transaction(Cycle now) {
    const std::size_t writes = transactions_[1].size();
    const bool idle = state_.banks_with == 0;
    if (state_.draining == 0 &&
        (writes >= controller_.write_high || (idle && writes >= controller_.write_low) ||
         (idle && state_.flush_at <= now))) {
      state_.draining = static_cast<std::uint32_t>(writes);
    }
    if (state_.draining > 0) {
      const std::optional<bool> moved = move_from(1);
      if (moved) {
        return *moved;
      }
    }
    return move_from(0).value_or(false);
  }

  // Nothing: a write has to wait for the read of the same burst, and draining ends.
  std::optional<bool> move_from(std::size_t kind) {
    std::vector<std::uint8_t>& wanted = wanted_[kind];
    const auto found = std::find_if(wanted.begin(), wanted.end(), [this](std::uint8_t bank) {
      return (with_room_ & bit(bank)) != 0;
    });
    if (found == wanted.end()) {
      return false;
    }
    const auto item = transactions_[kind].begin() + (found - wanted.begin());
    const HeldRequest& request = requests_[*item];
    if (request.write != 0) {
      if (requests_.find(request.burst, false) != none) {
        state_.draining = 0;
        return std::nullopt;
      }
      --state_.draining;
    }
    put_in_queue(*item, request);
    transactions_[kind].erase(item);
    wanted.erase(found);
    return true;
  }

  void put_in_queue(std::uint32_t place, const HeldRequest& request) {
    const std::uint32_t bank = request.bank;
    entries_[std::size_t{bank} * controller_.bank_queue + sizes_[bank]] = {place, request.row,
                                                                           request.write};
    if (++sizes_[bank] == controller_.bank_queue) {
      with_room_ &= ~bit(bank);
    }
    state_.banks_with |= bit(bank);
    not_before_[bank] = 0;
  }

  std::array<std::vector<std::uint32_t>, 2> transactions_;  // reads, writes
  // Of each, its bank, of 64 at most: apart, as they are looked through each cycle.
  std::array<std::vector<std::uint8_t>, 2> wanted_;
  std::uint64_t with_room_ = 0;       // banks whose queue is not full
  std::vector<Entry> entries_;        // [banks][bank_queue]
  std::vector<std::uint32_t> sizes_;  // [banks]
  // [banks] Before it, nothing in the queue is ready: commands at other banks only put it off. Not
  // part of the state.
  std::vector<Cycle> not_before_;
  State state_;
  Cycle refresh_interval_;
};

const Registration bank_queues_registration(
    dram_schedulers(),
    {"bank-queues",
     "FR-FCFS in a queue for each bank, banks in turn, fed by queues of reads and writes",
     {}},
    [](const DramSpec& spec) { return std::make_unique<BankQueues>(spec); });

}  // namespace
}  // namespace tessera::memory
