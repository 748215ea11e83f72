#include "dram/banks.hpp"

#include <bit>

namespace tessera::memory {

DramBanks::DramBanks(const DramSpec& spec)
    : timing_(spec.timing),
      banks_of_rank_(spec.organization.banks_of_rank()),
      ranks_of_bus_(spec.organization.ranks),
      group_shift_(static_cast<unsigned>(std::countr_zero(spec.organization.banks))),
      rank_shift_(static_cast<unsigned>(std::countr_zero(banks_of_rank_))),
      banks_(spec.organization.banks_of_channel()),
      groups_(spec.organization.all_ranks() * spec.organization.groups),
      ranks_(spec.organization.all_ranks()) {
  const DramTiming& t = timing_;
  const Cycle read_end = t.cl + t.burst;
  const Cycle write_end = t.cwl + t.burst;
  after_[0] = {.group = {std::max(t.burst, t.ccd_l), 0},
               .rank = {std::max(t.burst, t.ccd_s), read_end - t.cwl + t.rtw},
               .other_rank = {t.burst + t.rtrs, read_end + t.rtrs - t.cwl},
               .precharge = t.rtp};
  after_[1] = {.group = {write_end + t.wtr_l, std::max(t.burst, t.ccd_l)},
               .rank = {write_end + t.wtr_s, std::max(t.burst, t.ccd_s)},
               .other_rank = {std::max(t.burst, write_end + t.rtrs - t.cl), t.burst},
               .precharge = write_end + t.wr};
}

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
