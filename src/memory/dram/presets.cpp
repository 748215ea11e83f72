// Devices by name, each with the source of its numbers. Times in cycles of the command clock.
//
// What comes from another simulator's preset is as good as that preset: few data sheets of these
// devices are public. Where a preset contradicts its standard, the standard counts and is named.

#include <array>

#include "tessera/memory/dram/spec.hpp"

namespace tessera::memory {
namespace {

using F = DramField;

// Bursts of a stream in turn over channels, data buses and bank groups, so that tCCD_S counts.
const std::vector<DramField> groups_in_turn{F::row,   F::rank,   F::bank,   F::column,
                                            F::group, F::pseudo, F::channel};

// JEDEC JESD79-4, speed bin 2400U, as for Micron MT40A1G8 (8 Gb, x8) in DRAMsim3's
// DDR4_8Gb_x8_2400.ini; two ranks of 8 GiB, 64 bits wide. tRTW, tRTRS: 1 (the same file).
DramSpec ddr4() {
  DramSpec spec;
  spec.organization = {1, 1, 2, 4, 4, 65536, 128, Bytes(64)};
  spec.timing = {.clock = Clock::hertz(1'200'000'000),
                 .burst = 4,
                 .cl = 17,
                 .cwl = 12,
                 .rcd_read = 17,
                 .rcd_write = 17,
                 .rp = 17,
                 .ras = 39,
                 .rc = 56,
                 .wr = 18,
                 .rtp = 9,
                 .ccd_s = 4,
                 .ccd_l = 6,
                 .rrd_s = 4,
                 .rrd_l = 6,
                 .wtr_s = 3,
                 .wtr_l = 9,
                 .faw = 26,
                 .rtw = 1,
                 .rtrs = 1,
                 .act = 1,
                 .rfc = 420,
                 .refi = 9360};
  spec.controller.mapping = {F::row, F::channel, F::rank, F::bank, F::group, F::column, F::pseudo};
  return spec;
}

// JEDEC JESD79-5, speed bin 3200AN, 16 Gb x8, as in Ramulator 2's DDR5.cpp (tRRD_L by the standard:
// max(8 cycles, 5 ns)); two sub-channels of 32 bits. tCCD_L of writes (16) is taken as that of
// reads.
DramSpec ddr5() {
  DramSpec spec;
  spec.organization = {2, 1, 1, 8, 4, 65536, 64, Bytes(64)};
  spec.timing = {.clock = Clock::hertz(1'600'000'000),
                 .burst = 8,
                 .cl = 24,
                 .cwl = 22,
                 .rcd_read = 24,
                 .rcd_write = 24,
                 .rp = 24,
                 .ras = 52,
                 .rc = 75,
                 .wr = 48,
                 .rtp = 12,
                 .ccd_s = 8,
                 .ccd_l = 8,
                 .rrd_s = 8,
                 .rrd_l = 8,
                 .wtr_s = 4,
                 .wtr_l = 16,
                 .faw = 32,
                 .rtw = 4,
                 .rtrs = 2,
                 .act = 2,
                 .rfc = 472,
                 .refi = 6240};
  spec.controller.mapping = groups_in_turn;
  return spec;
}

// JEDEC JESD209-5, 6400 Mb/s with CK at 800 MHz, 16 Gb x16, four channels, as in Ramulator 2's
// LPDDR5.cpp; by the standard a burst of 16 takes 2 cycles (4 in the same bank group) and tRC is
// tRAS + tRPpb. Synchronisation of WCK costs nothing here.
DramSpec lpddr5() {
  DramSpec spec;
  spec.organization = {4, 1, 1, 4, 4, 65536, 64, Bytes(32)};
  spec.timing = {.clock = Clock::hertz(800'000'000),
                 .burst = 2,
                 .cl = 20,
                 .cwl = 11,
                 .rcd_read = 15,
                 .rcd_write = 15,
                 .rp = 15,
                 .ras = 34,
                 .rc = 49,
                 .wr = 28,
                 .rtp = 4,
                 .ccd_s = 2,
                 .ccd_l = 4,
                 .rrd_s = 4,
                 .rrd_l = 4,
                 .wtr_s = 5,
                 .wtr_l = 10,
                 .faw = 16,
                 .rtw = 2,
                 .rtrs = 2,
                 .act = 2,
                 .rfc = 224,
                 .refi = 3125};
  spec.controller.mapping = groups_in_turn;
  return spec;
}

// JEDEC JESD250, 14 Gb/s with CK at 1.75 GHz, 8 Gb, two channels of 16 bits; array times as in
// Ramulator 2's GDDR6.cpp (1350 mV); by the standard a burst of 16 takes 2 cycles. tCCD_L: assumed.
DramSpec gddr6() {
  DramSpec spec;
  spec.organization = {2, 1, 1, 4, 4, 16384, 64, Bytes(32)};
  spec.timing = {.clock = Clock::hertz(1'750'000'000),
                 .burst = 2,
                 .cl = 24,
                 .cwl = 6,
                 .rcd_read = 26,
                 .rcd_write = 16,
                 .rp = 26,
                 .ras = 53,
                 .rc = 79,
                 .wr = 26,
                 .rtp = 4,
                 .ccd_s = 2,
                 .ccd_l = 3,
                 .rrd_s = 7,
                 .rrd_l = 7,
                 .wtr_s = 9,
                 .wtr_l = 11,
                 .faw = 28,
                 .rtw = 4,
                 .rtrs = 1,
                 .act = 1,
                 .rfc = 210,
                 .refi = 3333};
  spec.controller.mapping = groups_in_turn;
  return spec;
}

// JEDEC JESD235, 2 Gb/s, eight channels of 128 bits (legacy mode), 8 Gb a channel: DRAMsim3's
// HBM2_8Gb_x128.ini. tRTP 5, tRTW and tRTRS 2: its defaults, as its file has none.
DramSpec hbm2() {
  DramSpec spec;
  spec.organization = {8, 1, 1, 4, 4, 32768, 32, Bytes(64)};
  spec.timing = {.clock = Clock::hertz(1'000'000'000),
                 .burst = 2,
                 .cl = 14,
                 .cwl = 4,
                 .rcd_read = 14,
                 .rcd_write = 14,
                 .rp = 14,
                 .ras = 34,
                 .rc = 48,
                 .wr = 16,
                 .rtp = 5,
                 .ccd_s = 1,
                 .ccd_l = 2,
                 .rrd_s = 4,
                 .rrd_l = 6,
                 .wtr_s = 6,
                 .wtr_l = 8,
                 .faw = 30,
                 .rtw = 2,
                 .rtrs = 2,
                 .act = 1,
                 .rfc = 260,
                 .refi = 3900};
  spec.controller.two_commands = true;
  spec.controller.mapping = {F::row, F::rank, F::group, F::bank, F::channel, F::column, F::pseudo};
  return spec;
}

// JEDEC JESD235C, 2 Gb/s, eight channels of two pseudo-channels of 64 bits: HBM2_8Gb and
// HBM2_2Gbps of Ramulator 2's HBM2.cpp as ONNXim has it, where a channel issues one command a
// cycle. ONNXim never refreshes; here tRFC is that of the same file, 350 ns.
DramSpec hbm2_pseudo() {
  DramSpec spec;
  spec.organization = {8, 2, 1, 4, 4, 32768, 16, Bytes(32)};
  spec.timing = {.clock = Clock::hertz(1'000'000'000),
                 .burst = 2,
                 .cl = 7,
                 .cwl = 2,
                 .rcd_read = 7,
                 .rcd_write = 7,
                 .rp = 7,
                 .ras = 17,
                 .rc = 19,
                 .wr = 8,
                 .rtp = 3,
                 .ccd_s = 1,
                 .ccd_l = 2,
                 .rrd_s = 2,
                 .rrd_l = 3,
                 .wtr_s = 3,
                 .wtr_l = 4,
                 .faw = 15,
                 .rtw = 2,
                 .rtrs = 2,
                 .act = 2,
                 .rfc = 350,
                 .refi = 3900};
  spec.controller.mapping = {F::row, F::bank, F::group, F::rank, F::pseudo, F::column, F::channel};
  return spec;
}

// JEDEC JESD238, 6.4 Gb/s, 16 channels of two pseudo-channels of 32 bits, 8 Gb a channel: clock,
// burst, tCCD and organisation are the standard's. Array times are assumed to be, in ns, those of
// HBM2 (DRAMsim3's HBM2_8Gb_x128.ini), tFAW 15 ns and tRFC 350 ns those of Ramulator 2's HBM3.cpp:
// there is no public data sheet.
DramSpec hbm3() {
  DramSpec spec;
  spec.organization = {16, 2, 1, 4, 4, 32768, 32, Bytes(32)};
  spec.timing = {.clock = Clock::hertz(1'600'000'000),
                 .burst = 2,
                 .cl = 23,
                 .cwl = 7,
                 .rcd_read = 23,
                 .rcd_write = 23,
                 .rp = 23,
                 .ras = 55,
                 .rc = 78,
                 .wr = 26,
                 .rtp = 8,
                 .ccd_s = 2,
                 .ccd_l = 4,
                 .rrd_s = 4,
                 .rrd_l = 5,
                 .wtr_s = 10,
                 .wtr_l = 13,
                 .faw = 24,
                 .rtw = 2,
                 .rtrs = 2,
                 .act = 2,
                 .rfc = 560,
                 .refi = 6240};
  spec.controller.two_commands = true;
  spec.controller.mapping = groups_in_turn;
  return spec;
}

const std::array<Registration, 7> preset_registrations{
    Registration(dram_presets(), {"DDR4", "DDR4-2400, 64 bits, two ranks, 19.2 GB/s", {}}, ddr4),
    Registration(dram_presets(), {"DDR5", "DDR5-3200, two sub-channels, 25.6 GB/s", {}}, ddr5),
    Registration(dram_presets(), {"LPDDR5", "LPDDR5-6400, four channels, 51.2 GB/s", {}}, lpddr5),
    Registration(dram_presets(), {"GDDR6", "14 Gb/s, two channels, 56 GB/s", {}}, gddr6),
    Registration(dram_presets(), {"HBM2", "2 Gb/s, eight channels, 256 GB/s", {}}, hbm2),
    Registration(dram_presets(), {"HBM2-PC", "HBM2 with two pseudo-channels per channel", {}},
                 hbm2_pseudo),
    Registration(dram_presets(), {"HBM3", "6.4 Gb/s, 16 channels, 819 GB/s", {}}, hbm3)};

}  // namespace
}  // namespace tessera::memory
