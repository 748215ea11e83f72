// What a DRAM is made of, how fast its commands may follow one another, and how its controller
// chooses among requests.
//
// A channel has one command bus and, for each pseudo-channel, a data bus of its own. Times are
// whole cycles of the command clock, as data sheets and JEDEC standards count them. A row is
// counted in bursts: the access granularity, burst length times bus width.
//
// How long after one command another may follow (the longest rule counts):
//   ACT -> RD, WR  same bank          tRCDRD, tRCDWR
//   ACT -> PRE     same bank          tRAS
//   ACT -> ACT     same bank          tRC; same bank group tRRD_L; same rank tRRD_S, and tFAW for
//                                     the fifth
//   PRE -> ACT     same bank          tRP
//   RD -> PRE      same bank          tRTP
//   WR -> PRE      same bank          tCWL + BL + tWR
//   RD -> RD, WR -> WR                same group max(BL, tCCD_L), same rank max(BL, tCCD_S), other
//                                     rank BL + tRTRS for reads, BL for writes
//   RD -> WR       same data bus      tCL + BL - tCWL + tRTW
//   WR -> RD       same group         tCWL + BL + tWTR_L; same rank tCWL + BL + tWTR_S; other rank
//                                     max(BL, tCWL + BL + tRTRS - tCL)
//   REF -> ACT     same rank          tRFC, with all banks precharged, every tREFI
// where tRTW is the gap that the data bus needs between a read and a write.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"

namespace tessera::memory {

// Of the command clock.
using Cycle = std::int64_t;

// Counts are powers of two; a channel has 64 banks at most.
struct DramOrganization {
  std::uint32_t channels = 1;
  std::uint32_t pseudo_channels = 1;  // of a channel
  std::uint32_t ranks = 1;            // of a pseudo-channel
  std::uint32_t groups = 1;           // of a rank
  std::uint32_t banks = 1;            // of a group
  std::uint32_t rows = 1;             // of a bank
  std::uint32_t bursts = 1;           // of a row
  Bytes burst = Bytes(64);            // access granularity

  std::uint32_t all_ranks() const { return pseudo_channels * ranks; }
  std::uint32_t banks_of_rank() const { return groups * banks; }
  std::uint32_t banks_of_channel() const { return all_ranks() * banks_of_rank(); }
  Bytes capacity() const;
};

struct DramTiming {
  Clock clock = Clock::hertz(1'000'000'000);
  Cycle burst = 4;  // BL: cycles that a burst is on the data bus
  Cycle cl = 1;
  Cycle cwl = 1;
  Cycle rcd_read = 1;
  Cycle rcd_write = 1;
  Cycle rp = 1;
  Cycle ras = 1;
  Cycle rc = 1;
  Cycle wr = 1;
  Cycle rtp = 1;
  Cycle ccd_s = 1;
  Cycle ccd_l = 1;
  Cycle rrd_s = 1;
  Cycle rrd_l = 1;
  Cycle wtr_s = 1;
  Cycle wtr_l = 1;
  Cycle faw = 1;
  Cycle rtw = 1;
  Cycle rtrs = 1;
  Cycle act = 1;  // cycles that an activation holds the row command bus
  Cycle rfc = 1;
  Cycle refi = 0;  // 0: no refresh
};

// Fields of an address.
enum class DramField : std::uint8_t { channel, pseudo, rank, group, bank, row, column };
inline constexpr std::size_t dram_fields = 7;

struct DramController {
  std::string scheduler = "oldest-ready";
  // A column command also closes its row unless another request waits for it.
  bool closed_page = false;
  // Every column command closes its row (DRAMsim3's CLOSE_PAGE).
  bool strict_page = false;
  // A row and a column command may go in one cycle (HBM has a bus for each).
  bool two_commands = false;
  // From the most significant field to the least.
  std::vector<DramField> mapping;
  bool hash_channels = false;      // IPOLY
  std::uint32_t read_queue = 64;   // requests of a channel
  std::uint32_t write_queue = 64;  // the same
  std::uint32_t bank_queue = 8;    // of a bank, with `bank-queues`
  std::uint32_t write_high = 52;   // writes that wait: so many, and writing begins
  std::uint32_t write_low = 12;    // so few, and it ends (or with no more reads: goes on)
};

struct DramSpec {
  DramOrganization organization;
  DramTiming timing;
  DramController controller;

  // Data of all channels at best.
  Bandwidth peak() const;
};

// Named devices; each gives organization, timing, and a fitting mapping.
using DramPresetMaker = std::function<DramSpec()>;
Registry<DramPresetMaker>& dram_presets();

// Reads `preset` and the keys that change it, see dram_parameters(). After complaints the result is
// of no use.
DramSpec read_dram_spec(config::Section& section);

// Keys with defaults and meaning, for `tessera list`.
std::vector<ParameterInfo> dram_parameters();

}  // namespace tessera::memory
