// Activations that wait in the host's memory: times against the closed form, memory, ranks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../plan/planning.hpp"
#include "harness.hpp"
#include "tessera/core/error.hpp"

namespace tessera::executor::offload_test {
namespace {

using plan::MemoryPart;
using plan::testing::machine_text;
using plan::testing::planned;
using plan::testing::Planned;
using testing::execute;
using ::testing::HasSubstr;
using testing::Outcome;

constexpr std::int64_t layers = 8;

std::string layers_alike(int batch) {
  return "kind: layers\ninput: [32, 64]\nbatch: " + std::to_string(batch) +
         "\ndata_type: fp16\nlayers:\n"
         "  - {name: l, repeat: 8, operators: [{kind: linear, outputs: 64, then: [relu]}]}\n";
}

Planned on_host(const std::string& strategy, const std::string& host, int batch = 1) {
  return planned(strategy, machine_text("sram: 0 B") + "host: {" + host + "}\n",
                 layers_alike(batch));
}

// Where arithmetic of a phase ends, from where it begins.
SimTime span_of(const Outcome& outcome, plan::Phase phase) {
  SimTime begin = SimTime::never();
  SimTime end;
  for (const OperatorRecord& record : outcome.noted.operators) {
    if (record.phase == phase && record.activity == Activity::compute) {
      begin = std::min(begin, record.start);
      end = std::max(end, record.end);
    }
  }
  return end - begin;
}

std::int64_t end_of(const Outcome& outcome, plan::Phase phase) {
  SimTime end;
  for (const OperatorRecord& record : outcome.noted.operators) {
    if (record.phase == phase && record.activity == Activity::compute) {
      end = std::max(end, record.end);
    }
  }
  return end.ps();
}

TEST(Offload, TakesWhatTheClosedFormSays) {
  const Planned plain = on_host("", "bandwidth: 1 GB/s");
  const Outcome before = execute(plain.machine, plain.plan);
  const std::int64_t forward = span_of(before, plan::Phase::forward).ps() / layers;
  const std::int64_t backward = span_of(before, plan::Phase::backward).ps() / layers;
  const Bytes kept(plain.plan.stages[0].memory.activations_per_micro_batch.count() / layers);
  // Copies that are hidden, those of the forward pass exposed, and all.
  for (const char* const bandwidth : {"4 TB/s", "300 GB/s", "20 GB/s", "1 GB/s"}) {
    const Planned work =
        on_host("offload: {layers: 8}\n", std::string("latency: 3 ns, bandwidth: ") + bandwidth);
    const std::int64_t copy = work.machine.host.copy_time(kept).ps();
    const Outcome outcome = execute(work.machine, work.plan);
    // Seven of eight are copied; two lie on the device at a time.
    const std::int64_t last_copy = forward + (layers - 2) * std::max(forward, copy);
    const std::int64_t forward_end = last_copy + forward;
    EXPECT_EQ(end_of(outcome, plan::Phase::forward), forward_end) << bandwidth;
    const std::int64_t first_in = std::max(forward_end, last_copy + copy) + copy;
    const std::int64_t second = std::max(forward_end + backward, first_in);
    EXPECT_EQ(end_of(outcome, plan::Phase::backward),
              second + (layers - 2) * std::max(backward, copy) + backward)
        << bandwidth;
    EXPECT_EQ(outcome.unfinished, 0U);
  }
}

// Two stages of four layers, all micro-batches forward and then backward in the same order; copies
// out take longer than two layers, copies in longer than one backward, and those of one way are
// without a gap.
TEST(Offload, WaysOfOtherMicroBatchesDoNotHinderEachOther) {
  constexpr int count = 3;
  const std::string order = "F0 F1 F2 B0 B1 B2";
  const std::string strategy = "pipeline: 2\norder: [" + order + ", " + order + "]\n";
  const Planned plain = on_host(strategy, "bandwidth: 1 GB/s", count);
  const Outcome before = execute(plain.machine, plain.plan);
  const Planned one = on_host("", "bandwidth: 1 GB/s");
  const Outcome alone = execute(one.machine, one.plan);
  const std::int64_t forward = span_of(alone, plan::Phase::forward).ps() / layers;
  const std::int64_t backward = span_of(alone, plan::Phase::backward).ps() / layers;
  const std::int64_t message = end_of(before, plan::Phase::forward) - (count + 1) * 4 * forward;
  const Planned work = on_host(strategy + "offload: {layers: 4}\n", "bandwidth: 1 GB/s", count);
  const Bytes kept(one.plan.stages[0].memory.activations_per_micro_batch.count() / layers);
  const std::int64_t copy = work.machine.host.copy_time(kept).ps();
  ASSERT_GT(copy, 2 * forward);
  ASSERT_GT(copy, backward);
  const Outcome outcome = execute(work.machine, work.plan);
  // The last micro-batch comes to the second stage when it has two copies left to begin.
  const std::int64_t comes = 2 * forward + (3 * (count - 1) + 2) * copy + message;
  const std::int64_t forward_end = comes + 2 * forward + 2 * copy;
  EXPECT_EQ(end_of(outcome, plan::Phase::forward), forward_end);
  // The first copy in begins at once, beside the last one out.
  const std::int64_t goes_back = forward_end + count * (3 * copy + backward) + message;
  EXPECT_EQ(end_of(outcome, plan::Phase::backward), goes_back + 2 * copy + 2 * backward);
  EXPECT_EQ(outcome.unfinished, 0U);
}

TEST(Offload, LeavesTwoLayersAndTheLastOnTheDevice) {
  const Planned plain = on_host("", "bandwidth: 1 GB/s", 4);
  const Planned work = on_host("offload: {layers: 8}\n", "bandwidth: 1 GB/s", 4);
  const Bytes kept(plain.plan.stages[0].memory.activations_per_micro_batch.count() / layers);
  const plan::StageMemory& memory = work.plan.stages[0].memory;
  EXPECT_EQ(memory.activations_per_micro_batch, kept);
  EXPECT_EQ(memory.offloaded(), kept * 7);
  EXPECT_EQ(memory.peak[MemoryPart::activations], kept * 2);
  // Half of each: as much stays.
  const Planned half = on_host("offload: {layers: 8, fraction: 50 %}\n", "bandwidth: 1 GB/s", 4);
  EXPECT_EQ(half.plan.stages[0].memory.offloaded() * 2, kept * 7);
}

TEST(Offload, PeakInClosedFormIsTheWalk) {
  for (const char* const schedule : {"1f1b", "gpipe", "zb-h1"}) {
    for (const char* const more : {"layers: 1", "layers: 2, fraction: 30 %", "layers: 9"}) {
      const Planned work = planned(std::string("pipeline: 2\nrecompute: full\nschedule: ") +
                                       schedule + "\noffload: {" + more + "}\n",
                                   machine_text() + "host: {bandwidth: 1 GB/s}\n");
      for (std::uint32_t stage = 0; stage < 2; ++stage) {
        const auto passes = work.plan.strategy.passes(stage, true);
        EXPECT_EQ(work.plan.stages[stage].memory.peak.total(),
                  plan::peak_over(work.machine, work.plan, stage, passes).use.total())
            << schedule << ", " << more << ", stage " << stage;
      }
    }
  }
}

TEST(Offload, IsTheSameOnSeveralRanks) {
  const Planned work = planned("pipeline: 4\ntensor: 2\ndata: 2\noffload: {layers: 2}\n",
                               machine_text("sram: 0 B") + "host: {bandwidth: 2 GB/s}\n");
  const Outcome alone = execute(work.machine, work.plan, "", 2);
  for (const int ranks : {2, 3, 4}) {
    EXPECT_EQ(execute(work.machine, work.plan, "", 2, ranks).end, alone.end) << ranks;
  }
}

TEST(Offload, IsBoundedByTheHostsMemory) {
  const std::string strategy = "data: 4\noffload: {layers: 8}\n";
  const Planned one = on_host(strategy, "bandwidth: 1 GB/s", 4);
  const std::string each = std::to_string(one.plan.stages[0].memory.offloaded().count() * 4);
  EXPECT_NO_THROW(on_host(strategy, "bandwidth: 1 GB/s, devices: 4, memory: " + each + " B", 4));
  try {
    on_host(strategy, "bandwidth: 1 GB/s, devices: 5, memory: 100 B", 4);
    ADD_FAILURE() << "more than the host has";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a host would hold"));
  }
}

TEST(Offload, DevicesShareTheHostsMemory) {
  machine::Host host;
  host.bandwidth = Bandwidth::bytes_per_second(64'000'000'000);
  host.latency = SimTime::from_ps(5);
  EXPECT_EQ(host.copy_time(Bytes(64'000)), SimTime::from_ps(1'000'005));
  EXPECT_EQ(host.copy_time(Bytes(0)), SimTime::zero());
  host.devices = 8;
  host.memory_bandwidth = Bandwidth::bytes_per_second(512'000'000'000);  // 32 a device and way
  EXPECT_EQ(host.copy_time(Bytes(64'000)), SimTime::from_ps(2'000'005));
}

}  // namespace
}  // namespace tessera::executor::offload_test
