#include "tessera/memory/dram/channel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "tessera/core/random.hpp"
#include "tessera/memory/dram/drive.hpp"

namespace tessera::memory::dram_channel_test {
namespace {

// Keys of `machine.memory` as YAML.
DramSpec spec_of(const std::string& yaml) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("d.yaml", yaml, diagnostics), "", diagnostics);
  const DramSpec spec = read_dram_spec(section);
  section.finish();
  diagnostics.throw_if_any();
  return spec;
}

const std::string dramsim3 =
    "{scheduler: bank-queues, read_queue: 32, write_queue: 32, write_high: 32, write_low: 9, ";

DramMeasure drive(const DramSpec& spec, DramPattern pattern, std::uint64_t requests,
                  std::uint64_t outstanding = 0, Fraction writes = Fraction::millionths(0)) {
  DramDrive drive;
  drive.pattern = pattern;
  drive.requests = requests;
  drive.outstanding = outstanding;
  drive.writes = writes;
  return drive_dram(spec, drive);
}

// Within `share` of the expected value.
void expect_near(double value, double expected, double share, const std::string& what) {
  EXPECT_LE(std::abs(value / expected - 1), share) << what << ": " << value << ", not " << expected;
}

template <class Number>
using Kinds = std::array<Number, 2>;  // reads, writes

class Scheduler : public ::testing::TestWithParam<std::string> {
 protected:
  DramSpec spec(const std::string& keys) const {
    return spec_of("{scheduler: " + GetParam() + ", " + keys + "}");
  }
  // Cycles between submission and the first command.
  Cycle overhead() const { return GetParam() == "bank-queues" ? 1 : 0; }
};
INSTANTIATE_TEST_SUITE_P(Both, Scheduler, ::testing::Values("oldest-ready", "bank-queues"));

// A row conflict takes tRAS + tRP, while the rank does not refresh.
TEST_P(Scheduler, RowConflictsTakeARowCycle) {
  for (const char* preset : {"DDR4", "HBM2", "LPDDR5"}) {
    const DramSpec of = spec("channels: 1, preset: " + std::string(preset));
    const DramTiming& t = of.timing;
    const DramMeasure measure = drive(of, DramPattern::conflict, 20'000);
    const double rest = 1 - static_cast<double>(t.rfc) / static_cast<double>(t.refi);
    expect_near(static_cast<double>(measure.cycles) / 20'000,
                static_cast<double>(t.ras + t.rp) / rest, 0.01, preset);
    EXPECT_EQ(measure.counts.hits, 0U);
  }
}

// An idle channel: CL + burst, with tRCD when the row is closed and tRP when another is open.
TEST_P(Scheduler, IdleLatencyIsOfTheCommandsNeeded) {
  for (const std::string& preset : dram_presets().names()) {
    const DramSpec of = spec("refresh: false, channels: 1, preset: " + preset);
    const DramTiming& t = of.timing;
    const Cycle hit = overhead() + t.cl + t.burst + 1;
    const DramMeasure hits = drive(of, DramPattern::hit, 50, 1);
    EXPECT_EQ(hits.latency_most, hit + t.rcd_read) << preset;
    EXPECT_EQ(hits.latency_sum, static_cast<std::uint64_t>(50 * hit + t.rcd_read)) << preset;
    DramDrive conflicts;
    conflicts.pattern = DramPattern::conflict;
    conflicts.requests = 50;
    conflicts.interval = 1000;
    const DramMeasure measure = drive_dram(of, conflicts);
    EXPECT_EQ(measure.latency_most, hit + t.rcd_read + t.rp) << preset;
    EXPECT_EQ(measure.latency_sum,
              static_cast<std::uint64_t>(50 * (hit + t.rcd_read + t.rp) - t.rp))
        << preset;
  }
}

TEST_P(Scheduler, OneBankGroupTakesTheLongColumnDelay) {
  const DramSpec of = spec("refresh: false, preset: DDR4");
  const DramMeasure measure = drive(of, DramPattern::hit, 10'000);
  expect_near(static_cast<double>(measure.cycles) / 10'000, 6, 0.01, "tCCD_L");
}

TEST_P(Scheduler, RandomReadsOfHbmAreBoundByFourActivations) {
  const DramSpec of = spec("refresh: false, channels: 1, preset: HBM2, read_queue: 256");
  const DramMeasure measure = drive(of, DramPattern::random, 20'000);
  const double window = static_cast<double>(of.timing.faw) / 4;
  const double each = static_cast<double>(measure.cycles) / 20'000;
  EXPECT_GE(each, window * 0.999);
  expect_near(each, window, 0.07, "tFAW");
}

// Bank groups that alternate stream all the time but that of refreshes.
TEST_P(Scheduler, StreamsFillTheBus) {
  const DramSpec of =
      spec("preset: DDR4, ranks: 1, mapping: [row, rank, bank, channel, pseudo, column, group]");
  const DramMeasure measure = drive(of, DramPattern::stream, 100'000);
  const double rest = 1 - static_cast<double>(of.timing.rfc) / static_cast<double>(of.timing.refi);
  expect_near(measure.utilization(of), rest, 0.02, "utilization");
}

// Both pseudo-channels of HBM3 at the full rate take a column command in every cycle, so rows are
// opened for what waits by commands of their own.
TEST(OldestReady, OpensRowsBesideAStreamOfHbm3) {
  const DramSpec of = spec_of("{preset: HBM3, scheduler: oldest-ready}");
  const DramMeasure measure = drive(of, DramPattern::stream, 1'000'000);
  const double rest = 1 - static_cast<double>(of.timing.rfc) / static_cast<double>(of.timing.refi);
  expect_near(measure.utilization(of), rest, 0.03, "utilization");
}

// A row is closed for a request that is older than one that has just come and would hit it: of the
// two commands that could go in this cycle one only.
TEST(OldestReady, AClosedRowIsNotReadInTheSameCycle) {
  const DramSpec spec = spec_of("{preset: HBM2, refresh: false, channels: 1, commands: 2}");
  for (Cycle arrival = 1; arrival < 80; ++arrival) {
    const std::unique_ptr<DramChannel> channel = make_dram_channel(spec);
    std::vector<DramDone> done;
    channel->submit(0, {0, 100, 0, 5, false}, done);
    channel->submit(0, {1, 200, 0, 6, false}, done);
    for (Cycle now = 0; now < 400; ++now) {
      if (now == arrival) {
        channel->submit(now, {2, 101, 0, 5, false}, done);
      }
      if (now == 100) {
        channel->submit(now, {3, 300, 0, 7, false}, done);
      }
      channel->tick(now, done);
    }
    std::vector<std::uint64_t> served(4);
    for (const DramDone& one : done) {
      ++served.at(one.id);
    }
    EXPECT_EQ(served, std::vector<std::uint64_t>(4, 1)) << arrival;
    EXPECT_EQ(channel->waiting(), (Kinds<std::size_t>{0, 0})) << arrival;
  }
}

TEST_P(Scheduler, ClosedPageHasNoConflicts) {
  const DramSpec of = spec("refresh: false, page: closed, preset: DDR4");
  const DramMeasure measure = drive(of, DramPattern::random, 2000, 1);
  EXPECT_EQ(measure.counts.conflicts, 0U);
  EXPECT_EQ(measure.counts.misses, 2000U);
  const DramMeasure open =
      drive(spec("refresh: false, preset: DDR4"), DramPattern::random, 2000, 1);
  EXPECT_GT(open.counts.conflicts, 1000U);
  EXPECT_LT(measure.latency_sum, open.latency_sum);
}

// Every access opens its row and closes it: of one row one every tRC, as DRAMsim3's CLOSE_PAGE.
TEST_P(Scheduler, StrictPagesHaveNoHits) {
  const DramSpec of = spec("refresh: false, channels: 1, page: strict, preset: DDR4");
  for (const DramPattern pattern :
       {DramPattern::hit, DramPattern::random, DramPattern::stream, DramPattern::conflict}) {
    const DramMeasure measure = drive(of, pattern, 2000);
    EXPECT_EQ(measure.counts.hits, 0U);
    EXPECT_EQ(measure.counts.conflicts, 0U);
    EXPECT_EQ(measure.counts.reads, 2000U);
  }
  const double each = static_cast<double>(drive(of, DramPattern::hit, 2000).cycles) / 2000;
  expect_near(each, static_cast<double>(of.timing.rc), 0.05, "tRC");
  const DramMeasure mixed = drive(of, DramPattern::random, 5000, 0, Fraction::millionths(400'000));
  EXPECT_GE(mixed.counts.reads + mixed.counts.writes, 4900U);
  EXPECT_EQ(mixed.counts.hits, 0U);
}

TEST(DramSpec, RefreshIsTurnedOffByName) {
  EXPECT_THROW(spec_of("{preset: DDR4, timing: {tREFI: 0}}"), ConfigError);
  EXPECT_EQ(spec_of("{preset: DDR4, refresh: false, timing: {tREFI: 0}}").timing.refi, 0);
}

TEST_P(Scheduler, ReadsOfWaitingWritesAreDoneAtOnce) {
  const auto channel = make_dram_channel(spec("preset: DDR4"));
  std::vector<DramDone> done;
  channel->submit(10, {1, 77, 3, 5, true}, done);
  done.clear();
  channel->submit(10, {2, 77, 3, 5, false}, done);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].id, 2U);
  EXPECT_LE(done[0].finish, 11);
}

// Four reads and writes of one burst while a write of it waits, and two reads of another one.
TEST_P(Scheduler, CountsWhatItAnswers) {
  const bool bank_queues = GetParam() == "bank-queues";
  const auto channel = make_dram_channel(spec("preset: DDR4"));
  std::vector<DramDone> done;
  for (const bool write : {true, false, true, false}) {
    channel->submit(10, {1, 77, 3, 5, write}, done);
  }
  channel->submit(10, {2, 78, 3, 5, false}, done);
  channel->submit(10, {2, 78, 3, 5, false}, done);
  EXPECT_EQ(channel->counts().answered_reads, 2U);
  EXPECT_EQ(channel->counts().answered_writes, bank_queues ? 1U : 0U);
  EXPECT_EQ(channel->waiting(), (Kinds<std::size_t>{2, bank_queues ? 1U : 2U}));
  while (channel->next() != no_cycle) {
    channel->tick(channel->next(), done);
  }
  EXPECT_EQ(channel->waiting(), (Kinds<std::size_t>{0, 0}));
  EXPECT_EQ(channel->counts().answered_reads, bank_queues ? 3U : 2U);
  EXPECT_EQ(channel->counts().answered_writes, bank_queues ? 1U : 0U);
  EXPECT_EQ(channel->counts().reads, bank_queues ? 1U : 2U);
  EXPECT_EQ(channel->counts().writes, bank_queues ? 1U : 2U);
}

// In every cycle, with few bursts so that many are answered.
TEST_P(Scheduler, EveryRequestIsServedAnsweredOrWaits) {
  const DramSpec of = spec("preset: HBM2, channels: 1, read_queue: 40, write_queue: 20");
  const DramAddressMap map(of);
  const auto channel = make_dram_channel(of);
  std::vector<DramDone> done;
  RandomStream random(8, EntityId(0), 0);
  Kinds<std::uint64_t> submitted{};
  for (Cycle now = 0; now < 5000; ++now) {
    const std::uint64_t burst = random.next_below(60);
    const bool write = random.next_below(3) == 0;
    if (channel->accepts(write)) {
      const DramPlace place = map.place(burst);
      channel->submit(now, {burst, burst, place.bank, place.row, write}, done);
      ++submitted[write ? 1 : 0];
    }
    channel->tick(now, done);
    const DramCounts& counts = channel->counts();
    const Kinds<std::size_t> waiting = channel->waiting();
    ASSERT_EQ(counts.reads + counts.answered_reads + waiting[0], submitted[0]) << now;
    ASSERT_EQ(counts.writes + counts.answered_writes + waiting[1], submitted[1]) << now;
  }
  EXPECT_GT(channel->counts().answered_reads, 50U);
  EXPECT_EQ(channel->counts().answered_writes > 100, GetParam() == "bank-queues");
}

TEST_P(Scheduler, ServesEveryRequestOnce) {
  for (const std::string& preset : dram_presets().names()) {
    const DramSpec of = spec("preset: " + preset);
    const DramMeasure measure =
        drive(of, DramPattern::random, 5000, 0, Fraction::millionths(400'000));
    EXPECT_EQ(measure.requests, 5000U) << preset;
    EXPECT_LE(measure.counts.reads + measure.counts.writes, 5000U) << preset;
    EXPECT_EQ(measure.counts.hits + measure.counts.misses + measure.counts.conflicts,
              measure.counts.reads + measure.counts.writes)
        << preset;
    EXPECT_LE(measure.utilization(of), 1.0) << preset;
  }
}

// What oldest-ready did to the cycle when it kept one list a bank and looked at every bank in every
// cycle: reads and writes in few rows, so that hits, conflicts and both directions compete.
TEST(OldestReady, ChoosesAsALookAtEveryBankDoes) {
  struct Case {
    std::string preset;
    Cycle cycles;
    std::uint64_t latencies;
    std::uint64_t hits;
    std::uint64_t conflicts;
  };
  for (const Case& known :
       {Case{"DDR4", 22421, 2327641, 475, 4444}, Case{"DDR5", 45781, 4618784, 95, 4749},
        Case{"LPDDR5", 16247, 1608710, 2003, 2907}, Case{"HBM2-PC", 12509, 1236095, 1844, 2996}}) {
    const DramMeasure measure = drive(
        spec_of("{scheduler: oldest-ready, rows: 4, channels: 1, preset: " + known.preset + "}"),
        DramPattern::random, 5000, 0, Fraction::millionths(400'000));
    EXPECT_EQ(measure.cycles, known.cycles) << known.preset;
    EXPECT_EQ(measure.latency_sum, known.latencies) << known.preset;
    EXPECT_EQ(measure.counts.hits, known.hits) << known.preset;
    EXPECT_EQ(measure.counts.conflicts, known.conflicts) << known.preset;
  }
}

// Writes that nobody waits for are written in the end, and the channel goes to rest.
// The command that serves the only request leaves a channel idle, though others wait for it.
TEST_P(Scheduler, AQueueOfOneGoesOn) {
  const DramSpec of =
      spec("preset: HBM2, channels: 2, read_queue: 1, write_queue: 1, bank_queue: 1");
  for (const DramPattern pattern : {DramPattern::hit, DramPattern::stream, DramPattern::random}) {
    const DramMeasure measure = drive(of, pattern, 500, 0, Fraction::millionths(300'000));
    EXPECT_EQ(measure.requests, 500U);
    EXPECT_LT(measure.cycles, 500 * (of.timing.rc + of.timing.wr));
  }
}

// A row that was opened for a request stays open for it, whoever hits it before.
TEST_P(Scheduler, ClosedPageWithFewRowsGoesOn) {
  const DramSpec of = spec("preset: DDR4, channels: 1, rows: 4, page: closed");
  const DramMeasure measure =
      drive(of, DramPattern::random, 5000, 0, Fraction::millionths(400'000));
  // But for reads of what waits to be written.
  EXPECT_GE(measure.counts.reads + measure.counts.writes, 4900U);
}

TEST_P(Scheduler, FewWritesAreWritten) {
  const auto channel = make_dram_channel(spec("preset: DDR4"));
  std::vector<DramDone> done;
  channel->submit(5, {1, 1, 0, 9, true}, done);
  Cycle last = 0;
  while (channel->next() != no_cycle) {
    last = channel->next();
    channel->tick(last, done);
  }
  EXPECT_EQ(channel->counts().writes, 1U);
  EXPECT_LT(last, 2000);
}

// After a long rest a request finds its rank refreshed and its rows closed, and nobody has asked
// for the cycles between.
TEST_P(Scheduler, RestCostsNothing) {
  const DramSpec of = spec("preset: DDR4");
  const auto channel = make_dram_channel(of);
  std::vector<DramDone> done;
  const auto serve = [&](Cycle at, std::uint64_t id) {
    channel->submit(at, {id, id, 0, 9, false}, done);
    while (channel->next() != no_cycle) {
      channel->tick(channel->next(), done);
    }
  };
  EXPECT_EQ(channel->next(), no_cycle);
  serve(0, 1);
  const Cycle far = of.timing.refi * 1'000'000'000 + of.timing.refi / 4;
  serve(far, 2);
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[1].finish - far, done[0].finish);
  EXPECT_EQ(channel->counts().misses, 2U);
  EXPECT_NEAR(static_cast<double>(channel->counts().refreshes), 2e9, 2);
}

// Saved in the middle and restored into another channel, it goes on the same.
TEST_P(Scheduler, GoesOnFromACheckpoint) {
  const DramSpec of = spec("preset: HBM2-PC, channels: 1, read_queue: 40, write_queue: 20");
  const DramAddressMap map(of);
  const auto first = make_dram_channel(of);
  const auto second = make_dram_channel(of);
  std::vector<DramDone> done;
  std::vector<DramDone> again;
  RandomStream random(3, EntityId(0), 0);
  const auto submit = [&](DramChannel& channel, Cycle now, std::uint64_t id, RandomStream& from,
                          std::vector<DramDone>& to) {
    const std::uint64_t burst = from.next_below(id < 4000 ? 300 : 100'000);
    const bool write = from.next_below(3) == 0;
    const DramPlace place = map.place(burst);
    if (channel.accepts(write)) {
      channel.submit(now, {id, burst, place.bank, place.row, write}, to);
    }
  };
  Cycle now = 0;
  for (; now < 5000; ++now) {
    submit(*first, now, static_cast<std::uint64_t>(now), random, done);
    first->tick(now, done);
  }
  pdes::StateWriter writer;
  first->save(writer);
  pdes::StateReader reader(writer.bytes());
  second->restore(reader);
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(second->waiting(), first->waiting());
  EXPECT_EQ(second->counts().answered_reads, first->counts().answered_reads);
  EXPECT_EQ(second->counts().answered_writes, first->counts().answered_writes);
  done.clear();
  RandomStream same = random;
  for (; now < 10'000; ++now) {
    submit(*first, now, static_cast<std::uint64_t>(now), random, done);
    submit(*second, now, static_cast<std::uint64_t>(now), same, again);
    first->tick(now, done);
    second->tick(now, again);
  }
  ASSERT_EQ(done.size(), again.size());
  ASSERT_GT(done.size(), 1000U);
  for (std::size_t i = 0; i < done.size(); ++i) {
    EXPECT_EQ(done[i].id, again[i].id);
    EXPECT_EQ(done[i].finish, again[i].finish);
  }
}

// Asked in every cycle, or only when it says so: the same.
TEST_P(Scheduler, NeedsNoOtherCyclesThanItAsksFor) {
  for (const std::string preset : {"DDR4", "HBM3"}) {
    const DramSpec of =
        spec("preset: " + preset + ", channels: 1, read_queue: 40, write_queue: 20");
    const DramAddressMap map(of);
    const auto every = make_dram_channel(of);
    const auto asked = make_dram_channel(of);
    std::vector<DramDone> done;
    std::vector<DramDone> again;
    RandomStream random(5, EntityId(0), 0);
    for (Cycle now = 0; now < 30'000; ++now) {
      if (random.next_below(preset == "DDR4" ? 40 : 8) == 0) {
        const std::uint64_t burst = random.next_below(100'000);
        const bool write = random.next_below(3) == 0;
        const DramPlace place = map.place(burst);
        const DramRequest request{static_cast<std::uint64_t>(now), burst, place.bank, place.row,
                                  write};
        ASSERT_EQ(every->accepts(write), asked->accepts(write));
        if (every->accepts(write)) {
          every->submit(now, request, done);
          asked->submit(now, request, again);
        }
      }
      every->tick(now, done);
      if (asked->next() <= now) {
        asked->tick(now, again);
      }
    }
    ASSERT_EQ(done.size(), again.size());
    ASSERT_GT(done.size(), 600U);
    for (std::size_t i = 0; i < done.size(); ++i) {
      EXPECT_EQ(done[i].id, again[i].id);
      EXPECT_EQ(done[i].finish, again[i].finish);
    }
  }
}

// Cycles of DRAMsim3 and of Ramulator 2 in ONNXim's fork, to the cycle where nothing is random.
TEST(DramReference, MeetsDramsim3ToTheCycle) {
  const auto cycles = [](const char* preset, DramPattern pattern, std::uint64_t requests,
                         std::uint64_t outstanding, std::uint64_t writes) {
    DramDrive drive;
    drive.pattern = pattern;
    drive.requests = requests;
    drive.outstanding = outstanding;
    drive.writes = Fraction::millionths(writes);
    drive.per_cycle = 16;
    drive.first = 1;
    return drive_dram(spec_of(dramsim3 + "preset: " + preset + "}"), drive).cycles;
  };
  EXPECT_EQ(cycles("DDR4", DramPattern::conflict, 100'000, 0, 0), 5'873'349);
  EXPECT_EQ(cycles("DDR4", DramPattern::conflict, 20'000, 1, 0), 1'195'940);
  EXPECT_EQ(cycles("DDR4", DramPattern::hit, 20'000, 1, 0), 483'091);
  EXPECT_EQ(cycles("DDR4", DramPattern::stream, 20'000, 1, 0), 485'963);
  EXPECT_EQ(cycles("DDR4", DramPattern::stream, 100'000, 0, 1'000'000), 512'552);
  EXPECT_EQ(cycles("HBM2", DramPattern::stream, 100'000, 0, 0), 26'935);
  EXPECT_EQ(cycles("HBM2", DramPattern::stream, 100'000, 0, 1'000'000), 27'859);
  EXPECT_EQ(cycles("HBM2", DramPattern::conflict_each, 100'000, 0, 0), 645'573);
}

// Cycles before the first request counted as time of the buses.
TEST(DramDriving, MeasuresFromTheFirstRequest) {
  const DramSpec spec = spec_of("{preset: HBM2, refresh: false}");
  DramDrive one;
  one.requests = 1000;
  const DramMeasure usual = drive_dram(spec, one);
  one.first = 100'000;
  const DramMeasure late = drive_dram(spec, one);
  EXPECT_EQ(late.cycles, usual.cycles + 100'000);
  EXPECT_EQ(late.duration(), usual.cycles);
  EXPECT_EQ(late.utilization(spec), usual.utilization(spec));
}

TEST(DramReference, MeetsRamulatorToTheCycle) {
  const DramSpec hbm2 = spec_of(
      "{preset: HBM2-PC, channels: 1, refresh: false, read_queue: 513, timing: {tCL: 9, tCWL: 3, "
      "tRCDRD: 9, tRCDWR: 9, tRP: 9, tRAS: 21, tRC: 23, tWR: 10, tRTP: 4, tRRD_S: 3, tRRD_L: 4, "
      "tWTR_S: 4, tWTR_L: 5, tFAW: 19}}");
  EXPECT_EQ(drive(hbm2, DramPattern::hit, 20'000, 1).cycles, 240'009);
  EXPECT_EQ(drive(hbm2, DramPattern::stream, 20'000, 1).cycles, 262'212);
  EXPECT_EQ(drive(hbm2, DramPattern::conflict, 20'000, 1).cycles, 599'991);
  DramDrive stream;
  stream.per_cycle = 1;
  EXPECT_EQ(drive_dram(hbm2, stream).cycles, 115'050);
}

TEST(DramSpec, RefusesWhatCannotBe) {
  EXPECT_THROW(spec_of("{preset: DDR4, ranks: 3}"), ConfigError);
  EXPECT_THROW(spec_of("{preset: DDR4, ranks: 8}"), ConfigError);  // 128 banks
  EXPECT_THROW(spec_of("{preset: DDR6}"), ConfigError);
  EXPECT_THROW(spec_of("{rows: 2147483648, row_bursts: 1048576, access: 4 KiB}"), ConfigError);
  EXPECT_THROW(spec_of("{mapping: [row, bank]}"), ConfigError);
  EXPECT_THROW(spec_of("{mapping: [row, row, bank, group, rank, pseudo, channel]}"), ConfigError);
  EXPECT_THROW(spec_of("{timing: {tREFI: 10}}"), ConfigError);
  EXPECT_THROW(spec_of("{timing: {tXYZ: 10}}"), ConfigError);
}

TEST(DramSpec, PeakIsThatOfTheDataBuses) {
  EXPECT_EQ(spec_of("{preset: DDR4}").peak(), Bandwidth::bytes_per_second(19'200'000'000));
  EXPECT_EQ(spec_of("{preset: DDR5}").peak(), Bandwidth::bytes_per_second(25'600'000'000));
  EXPECT_EQ(spec_of("{preset: LPDDR5}").peak(), Bandwidth::bytes_per_second(51'200'000'000));
  EXPECT_EQ(spec_of("{preset: GDDR6}").peak(), Bandwidth::bytes_per_second(56'000'000'000));
  EXPECT_EQ(spec_of("{preset: HBM2}").peak(), Bandwidth::bytes_per_second(256'000'000'000));
  EXPECT_EQ(spec_of("{preset: HBM2-PC}").peak(), Bandwidth::bytes_per_second(256'000'000'000));
  EXPECT_EQ(spec_of("{preset: HBM3}").peak(), Bandwidth::bytes_per_second(819'200'000'000));
}

}  // namespace
}  // namespace tessera::memory::dram_channel_test
