// The banks of one DRAM channel: which rows are open, and when which command may issue. The rules
// are those of memory/dram/spec.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "tessera/memory/dram/channel.hpp"

namespace tessera::memory {

class DramBanks {
 public:
  static constexpr std::uint32_t closed = 0xFFFFFFFFU;

  explicit DramBanks(const DramSpec& spec);

  std::uint32_t size() const { return static_cast<std::uint32_t>(banks_.size()); }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(ranks_.size()); }
  std::uint32_t banks_of_rank() const { return banks_of_rank_; }
  std::uint32_t rank_of(std::uint32_t bank) const { return bank >> rank_shift_; }

  std::uint32_t open_row(std::uint32_t bank) const { return banks_[bank].row; }
  // Column commands since the row was opened.
  std::uint32_t columns(std::uint32_t bank) const { return banks_[bank].columns; }

  bool all_closed() const;

  // First cycle in which the command may issue, as far as timing goes. Kinds: 0 read, 1 write.
  Cycle activate_at(std::uint32_t bank) const {
    const Rank& rank = ranks_[rank_of(bank)];
    const Cycle of_rank = last(rank.activate, rank.window[rank.oldest]);
    const Cycle of_group = last(groups_[bank >> group_shift_].activate, row_bus_free_);
    return last(banks_[bank].activate, last(of_rank, of_group));
  }
  Cycle precharge_at(std::uint32_t bank) const {
    return last(banks_[bank].precharge, row_bus_free_);
  }
  Cycle column_at(std::uint32_t bank, std::size_t kind) const {
    const Cycle of_group = groups_[bank >> group_shift_].column[kind];
    const Cycle of_rank = ranks_[rank_of(bank)].column[kind];
    return last(banks_[bank].column[kind], last(of_group, of_rank));
  }
  // With all banks of the rank closed.
  Cycle refresh_at(std::uint32_t rank) const;
  // All banks of the rank at once; no_cycle when none is open.
  Cycle precharge_all_at(std::uint32_t rank) const;

  void activate(std::uint32_t index, std::uint32_t row, Cycle now);
  // `for_request`: another row is wanted, which counts as a conflict.
  void precharge(std::uint32_t bank, bool for_request, Cycle now);
  void precharge_all(std::uint32_t rank, Cycle now);
  // `close_row`: precharges by itself as soon as it may.
  void column(std::uint32_t index, bool write, bool close_row, Cycle now) {
    Bank& bank = banks_[index];
    (write ? counts_.writes : counts_.reads) += 1;
    if (bank.columns++ > 0) {
      ++counts_.hits;
    } else {
      (bank.conflict != 0 ? counts_.conflicts : counts_.misses) += 1;
      bank.conflict = 0;
    }
    const AfterColumn& after = after_[write ? 1 : 0];
    const std::uint32_t own = rank_of(index);
    delay(groups_[index >> group_shift_].column, now, after.group);
    delay(ranks_[own].column, now, after.rank);
    if (ranks_of_bus_ > 1) {
      const std::uint32_t first = own - own % ranks_of_bus_;
      for (std::uint32_t other = first; other < first + ranks_of_bus_; ++other) {
        if (other != own) {
          delay(ranks_[other].column, now, after.other_rank);
        }
      }
    }
    delay(bank.precharge, now + after.precharge);
    if (close_row) {
      close(bank, bank.precharge);
    }
  }
  void refresh(std::uint32_t rank, Cycle now);

  Cycle read_latency() const { return timing_.cl + timing_.burst; }
  const DramTiming& timing() const { return timing_; }
  const DramCounts& counts() const { return counts_; }
  DramCounts& counts() { return counts_; }

  std::size_t resident_bytes() const;
  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);

 private:
  struct Bank {
    Cycle activate = 0;
    Cycle precharge = 0;
    std::array<Cycle, 2> column{};  // read, write
    std::uint32_t row = closed;
    std::uint32_t columns = 0;
    std::uint32_t conflict = 0;  // 1: the row before was closed for another one
    std::uint32_t unused = 0;
  };
  struct Group {
    Cycle activate = 0;
    std::array<Cycle, 2> column{};
  };
  struct Rank {
    Cycle activate = 0;
    std::array<Cycle, 2> column{};
    std::array<Cycle, 4> window{};  // when each of the last four activations leaves tFAW
    std::uint64_t oldest = 0;       // of the window
  };
  // What may follow a column command, in cycles after it.
  struct AfterColumn {
    std::array<Cycle, 2> group{};  // read, write
    std::array<Cycle, 2> rank{};
    std::array<Cycle, 2> other_rank{};  // of the same data bus
    Cycle precharge = 0;
  };

  // By value, so that no branch is needed.
  static Cycle last(Cycle a, Cycle b) { return a > b ? a : b; }
  static void delay(Cycle& at, Cycle until) { at = last(at, until); }
  static void delay(std::array<Cycle, 2>& at, Cycle now, const std::array<Cycle, 2>& after) {
    delay(at[0], now + after[0]);
    delay(at[1], now + after[1]);
  }
  void close(Bank& bank, Cycle precharged) const {
    bank.row = closed;
    bank.columns = 0;
    delay(bank.activate, precharged + timing_.rp);
  }

  DramTiming timing_;
  std::array<AfterColumn, 2> after_;  // read, write
  std::uint32_t banks_of_rank_;
  std::uint32_t ranks_of_bus_;
  unsigned group_shift_;
  unsigned rank_shift_;
  std::vector<Bank> banks_;
  std::vector<Group> groups_;
  std::vector<Rank> ranks_;
  Cycle row_bus_free_ = 0;
  DramCounts counts_;
};

}  // namespace tessera::memory
