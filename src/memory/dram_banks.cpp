#include "dram_banks.hpp"

#include <bit>

namespace tessera::memory {
namespace {

void delay(Cycle& at, Cycle until) {
  at = std::max(at, until);
}

}  // namespace

DramBanks::DramBanks(const DramSpec& spec)
    : timing_(spec.timing),
      banks_of_rank_(spec.organization.banks_of_rank()),
      ranks_of_bus_(spec.organization.ranks),
      group_shift_(static_cast<unsigned>(std::countr_zero(spec.organization.banks))),
      rank_shift_(static_cast<unsigned>(std::countr_zero(banks_of_rank_))),
      banks_(spec.organization.banks_of_channel()),
      groups_(spec.organization.all_ranks() * spec.organization.groups),
      ranks_(spec.organization.all_ranks()) {}

bool DramBanks::all_closed() const {
  return std::all_of(banks_.begin(), banks_.end(),
                     [](const Bank& bank) { return bank.row == closed; });
}

Cycle DramBanks::refresh_at(std::uint32_t rank) const {
  Cycle at = 0;
  for (std::uint32_t i = 0; i < banks_of_rank_; ++i) {
    delay(at, banks_[rank * banks_of_rank_ + i].activate);
  }
  return at;
}

Cycle DramBanks::precharge_all_at(std::uint32_t rank) const {
  Cycle at = no_cycle;
  for (std::uint32_t i = 0; i < banks_of_rank_; ++i) {
    const Bank& bank = banks_[rank * banks_of_rank_ + i];
    if (bank.row != closed) {
      at = std::max(at == no_cycle ? row_bus_free_ : at, bank.precharge);
    }
  }
  return at;
}

void DramBanks::activate(std::uint32_t index, std::uint32_t row, Cycle now) {
  Bank& bank = banks_[index];
  bank.row = row;
  bank.columns = 0;
  delay(bank.activate, now + timing_.rc);
  delay(bank.precharge, now + timing_.ras);
  delay(bank.column[0], now + timing_.rcd_read);
  delay(bank.column[1], now + timing_.rcd_write);
  delay(groups_[index >> group_shift_].activate, now + timing_.rrd_l);
  Rank& rank = ranks_[rank_of(index)];
  delay(rank.activate, now + timing_.rrd_s);
  rank.window[rank.oldest] = now + timing_.faw;
  rank.oldest = (rank.oldest + 1) % rank.window.size();
  row_bus_free_ = now + timing_.act;
}

void DramBanks::close(Bank& bank, Cycle precharged) {
  bank.row = closed;
  bank.columns = 0;
  delay(bank.activate, precharged + timing_.rp);
}

void DramBanks::precharge(std::uint32_t bank, bool for_request, Cycle now) {
  banks_[bank].conflict = for_request ? 1 : 0;
  close(banks_[bank], now);
}

void DramBanks::precharge_all(std::uint32_t rank, Cycle now) {
  for (std::uint32_t i = 0; i < banks_of_rank_; ++i) {
    Bank& bank = banks_[rank * banks_of_rank_ + i];
    if (bank.row != closed) {
      bank.conflict = 0;
      close(bank, now);
    }
  }
}

void DramBanks::column(std::uint32_t index, bool write, bool close_row, Cycle now) {
  const DramTiming& t = timing_;
  Bank& bank = banks_[index];
  (write ? counts_.writes : counts_.reads) += 1;
  if (bank.columns++ > 0) {
    ++counts_.hits;
  } else {
    (bank.conflict != 0 ? counts_.conflicts : counts_.misses) += 1;
    bank.conflict = 0;
  }
  Group& group = groups_[index >> group_shift_];
  const std::uint32_t own = rank_of(index);
  const std::uint32_t first = own - own % ranks_of_bus_;
  Rank& rank = ranks_[own];
  const Cycle data_end = now + (write ? t.cwl : t.cl) + t.burst;
  const std::size_t same = write ? 1 : 0;
  delay(group.column[same], now + std::max(t.burst, t.ccd_l));
  delay(rank.column[same], now + std::max(t.burst, t.ccd_s));
  if (write) {
    delay(group.column[0], data_end + t.wtr_l);
    delay(rank.column[0], data_end + t.wtr_s);
    delay(bank.precharge, data_end + t.wr);
  } else {
    delay(rank.column[1], data_end - t.cwl + t.rtw);
    delay(bank.precharge, now + t.rtp);
  }
  for (std::uint32_t other = first; other < first + ranks_of_bus_; ++other) {
    if (other != own) {
      Cycle& read = ranks_[other].column[0];
      Cycle& written = ranks_[other].column[1];
      delay(read,
            write ? std::max(now + t.burst, data_end + t.rtrs - t.cl) : now + t.burst + t.rtrs);
      delay(written, write ? now + t.burst : data_end + t.rtrs - t.cwl);
    }
  }
  if (close_row) {
    close(bank, bank.precharge);
  }
}

void DramBanks::refresh(std::uint32_t rank, Cycle now) {
  ++counts_.refreshes;
  for (std::uint32_t i = 0; i < banks_of_rank_; ++i) {
    delay(banks_[rank * banks_of_rank_ + i].activate, now + timing_.rfc);
  }
}

std::size_t DramBanks::resident_bytes() const {
  return banks_.capacity() * sizeof(Bank) + groups_.capacity() * sizeof(Group) +
         ranks_.capacity() * sizeof(Rank);
}

void DramBanks::save(pdes::StateWriter& writer) const {
  writer.put_all(banks_);
  writer.put_all(groups_);
  writer.put_all(ranks_);
  writer.put(row_bus_free_);
  writer.put(counts_);
}

void DramBanks::restore(pdes::StateReader& reader) {
  banks_ = reader.get_all<Bank>();
  groups_ = reader.get_all<Group>();
  ranks_ = reader.get_all<Rank>();
  row_bus_free_ = reader.get<Cycle>();
  counts_ = reader.get<DramCounts>();
}

}  // namespace tessera::memory
