// A way of rings through hosts is said to have no effect where nothing goes round a ring.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "files.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::through_host_note_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> notes_of_work(const std::string& work, const std::string& nic) {
  const testing::Files files{
      {"lab/experiment.yaml",
       "machine:\n"
       "  topology: {kind: cluster, nodes: 2, accelerators: 4, nics: 2, "
       "switch: {bandwidth: 200 GB/s, latency: 1 ns}, nic: {bandwidth: 30 GB/s, latency: 1 ns" +
           nic +
           "}, port: {bandwidth: 20 GB/s, latency: 1 ns}, fabric: {kind: switch}}\n"
           "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 0 B}\n"
           "  dram: {at: none}\n"
           "workload: " +
           work + "\nrun: {trace: none}\n"}};
  const Experiment experiment = testing::read(files);
  const auto communicator = comm::make_in_process();
  return run(experiment, *communicator, {}).notes;
}

std::vector<std::string> notes_of(const std::string& strategy, const std::string& nic) {
  return notes_of_work(
      "{kind: transformer, layers: 2, hidden: 32, heads: 4, sequence: 16, vocabulary: 50, "
      "batch: 4}\nstrategy: {tensor: 2, data: 4, " +
          strategy + "}",
      nic);
}

TEST(ThroughHostNote, SaysWhereNothingGoesThatWay) {
  const std::string nic = ", through_host: 4 GB/s";
  const auto way = Contains(HasSubstr("nic.through_host has no effect"));
  EXPECT_THAT(notes_of("aggregation: none", nic), way);
  EXPECT_THAT(notes_of("aggregation: stage, collectives: {data: halving-doubling}", nic), way);
  EXPECT_THAT(notes_of("aggregation: stage", nic), Not(way));
  EXPECT_THAT(notes_of("aggregation: none", ""), Not(way));
}

TEST(ThroughHostNote, SaysOfWorkThatIsNoPlan) {
  const std::string serving =
      "{kind: serving, tenants: [{language_model: {layers: 2, hidden: 64, heads: 4, sequence: 128, "
      "vocabulary: 64}, tensor: 2, requests: {arrivals: closed, count: 1, prompt: 4, generate: "
      "2}}]}";
  for (const auto& [work, name] :
       {std::pair<std::string, std::string>(
            "{kind: collective, collective: all-reduce, size: 1 kB}", "graphs"),
        std::pair<std::string, std::string>(serving, "served models"),
        std::pair<std::string, std::string>(
            "{kind: traffic, pattern: uniform, rate: 0.1, cycles: 100, flit_size: 32 B, cycle: 1 "
            "ns}",
            "synthetic traffic")}) {
    EXPECT_THAT(notes_of_work(work, ", through_host: 4 GB/s"),
                Contains("machine.topology.nic.through_host has no effect on " + name +
                         ": it applies only to rings of plans with strategy.aggregation"));
    EXPECT_THAT(notes_of_work(work, ""), Not(Contains(HasSubstr("through_host"))));
  }
}

}  // namespace
}  // namespace tessera::sim::through_host_note_test
