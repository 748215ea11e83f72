// The same work in several forms: a machine, a model, and what summaries must have in common.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "run_on.hpp"
#include "tessera/sim/programs/replay.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::testing {

inline trace::Summary summary_of(const std::string& text,
                                 const std::vector<std::string>& overrides = {}) {
  Experiment experiment = read({{"lab/experiment.yaml", text}}, overrides);
  const auto communicator = comm::make_in_process();
  return run_with_replay(experiment, *communicator, {});
}

inline std::string machine_of(const std::string& network) {
  return "machine:\n"
         "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 10 GB/s, latency: 20 ns}\n"
         "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 10 kB}\n"
         "  dram: {at: each, bandwidth: 20 GB/s, latency: 50 ns}\n"
         "  network: {" +
         network +
         ", collective_overhead: 2 us, collective_member_overhead: 100 ns, collective_fill: 50 "
         "GB/s}\n";
}

inline const std::string model =
    "workload: {kind: transformer, layers: 4, hidden: 32, heads: 4, sequence: 16, vocabulary: 50, "
    "batch: 8}\n";
inline const std::string no_trace = "run: {trace: none}\n";
inline const std::string flat = "execution: {collectives: {communicators: flat}}\n";

// Of all but how it was simulated.
inline void expect_alike(const trace::Summary& one, const trace::Summary& other,
                         const std::string& about) {
  EXPECT_EQ(one.iteration_time_ps, other.iteration_time_ps) << about;
  EXPECT_EQ(one.tiles, other.tiles) << about;
  EXPECT_EQ(one.samples_per_iteration, other.samples_per_iteration) << about;
  EXPECT_EQ(one.tokens_per_iteration, other.tokens_per_iteration) << about;
  EXPECT_DOUBLE_EQ(one.flops_per_iteration, other.flops_per_iteration) << about;
  EXPECT_DOUBLE_EQ(one.executed_flops_per_iteration, other.executed_flops_per_iteration) << about;
  EXPECT_DOUBLE_EQ(one.achieved_flops_per_s, other.achieved_flops_per_s) << about;
  EXPECT_DOUBLE_EQ(one.peak_flops_per_s, other.peak_flops_per_s) << about;
  EXPECT_FALSE(one.peak_memory.empty()) << about;
  EXPECT_EQ(one.peak_memory, other.peak_memory) << about;
  EXPECT_TRUE(one.message_bytes.has_value()) << about;
  EXPECT_EQ(one.message_bytes, other.message_bytes) << about;
  EXPECT_EQ(one.collective_bytes, other.collective_bytes) << about;
  EXPECT_TRUE(one.memory_read_bytes.has_value()) << about;
  EXPECT_EQ(one.memory_read_bytes, other.memory_read_bytes) << about;
  EXPECT_EQ(one.memory_written_bytes, other.memory_written_bytes) << about;
}

}  // namespace tessera::sim::testing
