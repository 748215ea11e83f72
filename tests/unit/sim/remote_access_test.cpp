// Loads from and stores to memory nodes that answer at once: times by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "files.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::remote_access_test {
namespace {

// XPUs and memories in pairs around a switch: every link has 64 B in a ns and 100 ns, a way 200 ns;
// 64 B take 1 ns, and the 6400 B that a vertex accesses 100 ns. It computes for a microsecond.
testing::Files experiment(const std::string& vertex, const std::string& more = "") {
  return {{"lab/experiment.yaml",
           "machine:\n"
           "  topology:\n"
           "    kind: graph\n"
           "    nodes: {xpu: {count: 4}, memory: {count: 4, kind: memory, of: xpu}, "
           "hub: {kind: switch}}\n"
           "    links:\n"
           "      - {from: xpu, to: hub, bandwidth: 64 GB/s, latency: 100 ns}\n"
           "      - {from: memory, to: hub, bandwidth: 64 GB/s, latency: 100 ns}\n"
           "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
           "  network: {model: analytical}\n" +
               more +
               "workload:\n"
               "  kind: graph\n"
               "  vertices:\n"
               "    - {name: first, start: true, flops: 1 MFLOP, " +
               vertex +
               "}\n"
               "    - {name: last, flops: 1 MFLOP}\n"
               "  edges: [{from: first, to: last}]\n"
               "run: {trace: none}\n"}};
}

const char* const loads = "bytes: 6400 B, remote: 6400 B";
const char* const stores = "bytes: 6400 B, remote: 6400 B, remote_written: 6400 B";
const char* const both = "bytes: 12800 B, remote: 12800 B, remote_written: 6400 B";
constexpr std::int64_t computing = 2000;

// On 1 to 4 ranks [ns].
std::int64_t time_of(const std::string& vertex, const std::vector<std::string>& settings = {},
                     std::uint64_t messages_a_xpu = 2) {
  const Experiment experiment_read = testing::read(experiment(vertex), settings);
  const auto communicator = comm::make_in_process();
  const trace::Summary expected = run(experiment_read, *communicator, {});
  EXPECT_EQ(expected.status, "finished");
  EXPECT_EQ(expected.messages, 4 * messages_a_xpu);
  for (int ranks = 2; ranks <= 4; ++ranks) {
    comm::run_ranks_as_threads(ranks, [&](comm::Communicator& own) {
      const trace::Summary summary = run(experiment_read, own, {});
      EXPECT_EQ(summary.result_digest, expected.result_digest) << ranks;
      EXPECT_EQ(summary.simulated_time_ps, expected.simulated_time_ps) << ranks;
    });
  }
  EXPECT_EQ(expected.simulated_time_ps % 1000, 0);
  return expected.simulated_time_ps / 1000;
}

const std::string free_request = "execution.remote.request=free";
const std::string posted = "execution.remote.stores=posted";
const std::string coherent = "workload.access=coherent";

// The way twice, or once as in HCSim's equation (2).
TEST(RemoteAccess, LoadsAskOrDoNot) {
  EXPECT_EQ(time_of(loads), 201 + 200 + 100 + computing);
  EXPECT_EQ(time_of(loads, {free_request}, 0), 200 + 100 + computing);
  EXPECT_EQ(time_of(loads, {posted}), 201 + 200 + 100 + computing);
}

TEST(RemoteAccess, StoresSendTheirDataAtOnce) {
  EXPECT_EQ(time_of(stores), 200 + 100 + 201 + computing);
  EXPECT_EQ(time_of(stores, {free_request}), 200 + 100 + 201 + computing);
  EXPECT_EQ(time_of(stores, {posted}, 1), 100 + computing);
}

// Loads are over before computing begins, stores begin when it is over.
TEST(RemoteAccess, BothAroundComputing) {
  EXPECT_EQ(time_of(both, {}, 4), 501 + 501 + computing);
  EXPECT_EQ(time_of(both, {free_request, posted}, 1), 300 + 100 + computing);
}

// One after the other, or beside each other, while the first microsecond passes.
TEST(RemoteAccess, BothWhileComputing) {
  EXPECT_EQ(time_of(both, {coherent}, 4), 501 + 501 + 1000);
  EXPECT_EQ(time_of(both, {coherent, "execution.lanes.memory=2"}, 4), computing);
  EXPECT_EQ(time_of(both, {coherent, free_request, posted}, 1), computing);
}

// Data goes in both directions at once. A request shares a link with what is written for 2 ns, and
// an acknowledgement with the last of what is read. Computing takes 1 ns a vertex.
TEST(RemoteAccess, LoadsAndStoresUseBothDirections) {
  EXPECT_EQ(time_of(both,
                    {"machine.network.model=flow", "machine.tile.peak.fp16=1 PFLOP/s", coherent,
                     "execution.lanes.memory=2"},
                    4),
            202 + 200 + 99 + 2 + 1);
}

// A pool of other NPUs than the machine's was taken without a word.
TEST(RemoteAccess, SaysWhoseAPoolIs) {
  const auto is_noted = [](const std::string& pool, const std::string& note) {
    const std::string key = "machine.remote_memory={bandwidth: 1 GB/s, " + pool + "}";
    const std::vector<std::string> notes = testing::read(experiment(loads), {key}).notes;
    return std::ranges::find(notes, "machine.remote_memory is for " + note +
                                        ", whose loads share its links, but the machine has 4") !=
           notes.end();
  };
  EXPECT_TRUE(is_noted("kind: ring, npus: 16", "16 NPUs"));
  EXPECT_FALSE(is_noted("kind: ring, npus: 4", "4 NPUs"));
  EXPECT_TRUE(is_noted("kind: mesh, rows: 1, columns: 2", "2 NPUs"));
  EXPECT_FALSE(is_noted("kind: per-node, npus: 2", "2 NPUs per memory"));
  EXPECT_TRUE(is_noted("kind: per-node, npus: 3", "3 NPUs per memory"));
}

TEST(RemoteAccess, Complaints) {
  const std::string choice = "execution.remote.request=free";
  EXPECT_EQ(testing::complaint_of(experiment(loads), {choice}), "");
  EXPECT_NE(testing::complaint_of(experiment(loads, "  coherence: {line: 64 B}\n"), {choice})
                .find("execution.remote.request: machine.coherence says"),
            std::string::npos);
  EXPECT_NE(testing::complaint_of(
                experiment(stores, "  dram: {at: memories, bandwidth: 1 GB/s, latency: 10 ns}\n"),
                {posted})
                .find("execution.remote.stores: is of nodes of kind memory, which"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::sim::remote_access_test
