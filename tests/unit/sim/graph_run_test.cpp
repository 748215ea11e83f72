// Runs of graphs of vertices: times by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "files.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/records.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::sim::graph_run_test {
namespace {

// Two XPUs of 1 TFLOP/s; vertices and what else the workload says.
testing::Files experiment(const std::string& workload) {
  return {{"lab/experiment.yaml",
           "machine:\n"
           "  topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 1 GB/s, latency: 1 ns}\n"
           "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
           "  network: {model: analytical}\n"
           "workload:\n"
           "  kind: graph\n" +
               workload + "run: {trace: none}\n"}};
}

trace::Summary summary_of(const testing::Files& files,
                          const std::vector<std::string>& overrides = {}) {
  const Experiment experiment = testing::read(files, overrides);
  const auto communicator = comm::make_in_process();
  return run(experiment, *communicator, {});
}

// 1 ms an iteration.
const char* const repeated =
    "  iterations: 3\n"
    "  vertices: [{name: work, start: true, flops: 1 GFLOP}]\n";

TEST(GraphRun, IterationsInsideOfGraphsCount) {
  const trace::Summary three = summary_of(experiment(repeated));
  EXPECT_EQ(three.iterations, 3U);
  EXPECT_EQ(three.simulated_time_ps, 3'000'000'000);
  EXPECT_EQ(three.iteration_time_ps, 1'000'000'000);
  EXPECT_DOUBLE_EQ(three.throughput_samples_per_s, 1000);
  EXPECT_DOUBLE_EQ(three.achieved_flops_per_s, 2e12);

  const trace::Summary six = summary_of(experiment(repeated), {"run.iterations=2"});
  EXPECT_EQ(six.iterations, 6U);
  EXPECT_EQ(six.iteration_time_ps, 1'000'000'000);
  EXPECT_DOUBLE_EQ(six.achieved_flops_per_s, 2e12);
}

TEST(GraphRun, TooManyIterationsInAll) {
  EXPECT_EQ(testing::complaint_of(experiment(repeated), {"run.iterations=1000000"}), "");
  EXPECT_NE(testing::complaint_of(experiment(repeated),
                                  {"run.iterations=1000000", "workload.iterations=1001"})
                .find("run.iterations: with 1001 iterations in each graph more than 1000000000"),
            std::string::npos);
}

// A plan whose programs run as graphs takes the time of the plan: several accesses to memory at
// once, and what every collective takes before its first message.
TEST(GraphRun, ProgramsTakeTheirTimeAsGraphs) {
  for (const std::string strategy :
       {"pipeline: 2, tensor: 2, data: 2", "pipeline: 4, data: 2, zero: 1",
        "tensor: 4, data: 2, overlap_gradients: true", "pipeline: 2, data: 4, zero: 3",
        "pipeline: 2, tensor: 4, recompute: full, schedule: gpipe"}) {
    const std::string text =
        "machine:\n"
        "  topology: {kind: stack, shape: Switch(8), dimensions: [{bandwidth: 10 GB/s, "
        "latency: 1 us}]}\n"
        "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 10 kB}\n"
        "  dram: {at: each, bandwidth: 20 GB/s, latency: 50 ns}\n"
        "  network: {model: packet, collective_overhead: 7 us, message_overhead: 100 ns}\n"
        "workload: {kind: transformer, layers: 4, hidden: 32, heads: 4, sequence: 16, "
        "vocabulary: 50, batch: 8}\n"
        "strategy: {" +
        strategy + "}\nrun: {trace: none}\n";
    const trace::Summary plan = summary_of({{"lab/experiment.yaml", text}});
    const trace::Summary graphs = summary_of(
        {{"lab/experiment.yaml", text + "execution: {collectives: {algorithms: [ring]}}\n"}});
    EXPECT_EQ(plan.simulated_time_ps, graphs.simulated_time_ps) << strategy;
    EXPECT_EQ(plan.messages, graphs.messages) << strategy;
  }
}

using MessageRows = std::vector<std::array<std::uint64_t, 7>>;

// Of all ranks, sorted.
MessageRows messages_in(const std::string& folder, int ranks) {
  MessageRows rows;
  for (const trace::TracePart& part : trace::trace_parts(ranks)) {
    const trace::TraceReader reader(folder + "/" + part.name);
    const trace::ReadTable table = reader.read("messages");
    for (std::uint64_t row = 0; row < table.rows; ++row) {
      const auto message = table.record<trace::MessageRow>(row);
      rows.push_back({static_cast<std::uint64_t>(message.sent_ps),
                      static_cast<std::uint64_t>(message.arrived_ps),
                      static_cast<std::uint64_t>(message.taken_ps), message.bytes, message.source,
                      message.target, message.traffic});
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

// Every message of the network is in the trace, which changes no result.
TEST(GraphRun, FullTracesHoldMessages) {
  for (const std::string network :
       {"packet", "analytical", "flow", "flow, uncontended_steps: lumped"}) {
    const std::string text =
        "machine:\n"
        "  topology: {kind: stack, shape: Switch(8), dimensions: [{bandwidth: 10 GB/s, "
        "latency: 1 us}]}\n"
        "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 10 kB}\n"
        "  dram: {at: each, bandwidth: 20 GB/s, latency: 50 ns}\n"
        "  memory: {model: bandwidth}\n"
        "  network: {model: " +
        network +
        "}\n"
        "workload: {kind: transformer, layers: 4, hidden: 32, heads: 4, sequence: 16, "
        "vocabulary: 50, batch: 8}\n"
        "strategy: {pipeline: 2, data: 4, zero: 1}\nexecution: {collectives: {algorithms: [ring], "
        "chunks: 1}}\nrun: {trace: none}\n";
    const trace::Summary expected = summary_of({{"lab/experiment.yaml", text}});
    const Experiment experiment =
        testing::read({{"lab/experiment.yaml", text}}, {"run.trace=full"});
    const std::string folder =
        (std::filesystem::path(::testing::TempDir()) / "tessera_graph_messages").string();
    const bool is_lumped = network.find("lumped") != std::string::npos;
    constexpr std::size_t sends = 16;  // of 8 samples, forwards and backwards
    MessageRows first;
    for (const int ranks : {1, 2, 4}) {
      std::filesystem::remove_all(folder);
      comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
        const trace::Summary summary = run(experiment, communicator, {folder, {}});
        EXPECT_EQ(summary.result_digest, expected.result_digest) << network << ranks;
        EXPECT_EQ(summary.simulated_time_ps, expected.simulated_time_ps);
        EXPECT_EQ(summary.packet_hops, expected.packet_hops);
        EXPECT_EQ(summary.events, expected.events);
        EXPECT_EQ(summary.notes.size(), expected.notes.size() + (is_lumped ? 1 : 0));
      });
      const MessageRows rows = messages_in(folder, ranks);
      if (is_lumped) {
        EXPECT_EQ(rows.size(), sends) << "those of rings are in none";
      } else {
        EXPECT_EQ(rows.size(), expected.messages) << network;
      }
      first = ranks == 1 ? rows : first;
      EXPECT_EQ(rows, first) << network << ranks;
    }
    std::filesystem::remove_all(folder);
  }
}

// All that may begin at once is read at once, however small the window.
TEST(GraphRun, PredictedMemoryCountsWhatIsReadAhead) {
  const auto predicted = [](bool chained) {
    constexpr int count = 5000;
    std::string vertices;
    std::string edges;
    for (int i = 0; i < count; ++i) {
      const std::string name = "v" + std::to_string(i);
      vertices += std::string(i > 0 ? ", " : "") + "{name: " + name + ", at: 0, flops: 1 kFLOP" +
                  (!chained || i == 0 ? ", start: true}" : "}");
      if (i > 0 && chained) {
        edges += std::string(i > 1 ? ", " : "") + "{from: v" + std::to_string(i - 1) +
                 ", to: " + name + "}";
      }
    }
    return forecast(testing::read(experiment("  vertices: [" + vertices + "]\n" +
                                             (chained ? "  edges: [" + edges + "]\n" : ""))),
                    1)
        .largest_bytes;
  };
  // A node takes 192 B; the graph of the other XPU is empty, and tiles count alike.
  EXPECT_GT(predicted(false), predicted(true) + std::size_t{2} * 1500 * 192);
}

// Buffers below the product of bandwidth and delay of a link.
TEST(GraphRun, NotesSayWhatBuffersTake) {
  const auto notes = [](const std::string& buffer) {
    return summary_of({{"lab/experiment.yaml",
                        "machine:\n"
                        "  topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 32 GB/s, "
                        "latency: 100 ns}\n"
                        "  network: {model: flit, flit_size: 32 B, virtual_channels: 2, buffer: " +
                            buffer +
                            "}\n"
                            "workload: {kind: collective, collective: all-to-all, size: 8 kB}\n"
                            "run: {trace: none}\n"}})
        .notes;
  };
  ASSERT_EQ(notes("8").size(), 1U);
  EXPECT_NE(notes("8")[0].find("one stream gets at most 4 % of the bandwidth, all virtual channels "
                               "together 8 %"),
            std::string::npos)
      << notes("8")[0];
  EXPECT_TRUE(notes("255").empty());
}

// Steps of an all-to-all by rings wait for the ones before: where messages of several steps meet,
// even shares make the first of them later than packets in turn would, which is said.
TEST(GraphRun, SaysWhereEvenSharesMakeStepsLater) {
  const auto summary = [](const std::string& network, const std::string& collective,
                          const std::string& algorithm, const std::string& size = "64 KiB") {
    return summary_of(
        {{"lab/experiment.yaml",
          "machine:\n"
          "  topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 10 GB/s, latency: 100 ns}\n"
          "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
          "  network: {model: " +
              network +
              "}\n"
              "workload: {kind: collective, size: " +
              size + ", collective: " + collective +
              "}\nexecution: {collectives: {communicators: flat, other_algorithm: " + algorithm +
              "}}\nrun: {trace: none}\n"}});
  };
  const auto says = [](const trace::Summary& found) {
    return std::any_of(found.notes.begin(), found.notes.end(), [](const std::string& note) {
      return note.find("ring all-to-alls") != std::string::npos;
    });
  };
  const std::vector<std::pair<std::string, double>> sizes{{"64 KiB", 1.372}, {"8 MiB", 1.120}};
  for (const auto& [size, factor] : sizes) {
    const trace::Summary even = summary("flow", "all-to-all", "ring", size);
    const trace::Summary in_turn = summary("packet", "all-to-all", "ring", size);
    EXPECT_TRUE(says(even));
    EXPECT_FALSE(says(in_turn));
    EXPECT_NEAR(static_cast<double>(even.simulated_time_ps) /
                    static_cast<double>(in_turn.simulated_time_ps),
                factor, 0.001);
  }
  EXPECT_FALSE(says(summary("flow", "all-to-all", "direct")));
  EXPECT_FALSE(says(summary("flow", "all-reduce", "ring")));
}

}  // namespace
}  // namespace tessera::sim::graph_run_test
