// The same work in several forms: what their summaries must have in common.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "conforming.hpp"
#include "files.hpp"
#include "run_on.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::conformance_test {
namespace {

using testing::expect_alike;
using testing::flat;
using testing::machine_of;
using testing::model;
using testing::no_trace;
using testing::summary_of;

// Times of products follow from their shapes.
TEST(Conformance, PlansAsGraphsWhereShapesCount) {
  for (const std::string compute :
       {"{model: gemm, array: [8, 8], launch_overhead: 1 us, memory_efficiency: 0.8}",
        "{model: systolic, array: [8, 8]}"}) {
    const std::string text = machine_of("model: analytical") + "  compute: " + compute + "\n" +
                             model + "strategy: {pipeline: 2, tensor: 2}\n" + no_trace;
    expect_alike(summary_of(text), summary_of(text + flat), compute);
  }
}

// What hosts issue, units that collectives in the background take, classes of kernels and types of
// numbers.
TEST(Conformance, PlansAsGraphsOnGpusWithHosts) {
  const std::string gpu =
      "  compute: {model: gemm, units: 4, tiles: [16x16], launch_overhead: 200 ns, kernel_gap: 100 "
      "ns, norm_launch_overhead: 500 ns, attention_efficiency: 0.5, vector_memory_efficiency: 0.7, "
      "issue: 3 us, issue_pass: 20 us, collective_units: 2, persistent_products: true}\n";
  const std::vector<std::string> mixed{"machine.tile.peak.fp8=2 TFLOP/s",
                                       "workload.product_type=fp8", "workload.attention=flash"};
  for (const std::string strategy :
       {"pipeline: 2, tensor: 2", "data: 4, zero: 3, prefetch: forward, gather: layer",
        "pipeline: 2, data: 2, overlap_gradients: true",
        "pipeline: 2, tensor: 2, software: {host_waits: layers}",
        "pipeline: 2, tensor: 2, software: {host_waits: profiles}",
        "pipeline: 2, chunks: 2, tensor: 2, schedule: dualpipe-v"}) {
    const std::string text = machine_of("model: analytical") + gpu + model + "strategy: {" +
                             strategy + "}\nrun: {trace: none, iterations: 2}\n";
    const trace::Summary plan = summary_of(text, mixed);
    const trace::Summary graphs = summary_of(text + flat, mixed);
    expect_alike(plan, graphs, strategy);
    const Experiment again = testing::read({{"lab/experiment.yaml", text + flat}}, mixed);
    EXPECT_EQ(testing::run_on(3, again).result_digest, graphs.result_digest) << strategy;
    std::vector<std::string> without = mixed;
    without.emplace_back("machine.compute.issue=0 us");
    EXPECT_GT(plan.iteration_time_ps, summary_of(text, without).iteration_time_ps) << strategy;
  }
}

// Also where tiles of the machine are idle, and where rings follow the grid in an order that is not
// that of its numbers.
// A collective whose data has come before it begins is over in the instant at which it begins: a
// product that begins then has nothing beside it.
TEST(Conformance, ProductsAfterCollectivesThatAreOverAtOnce) {
  const std::string text =
      "machine:\n  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 10 GB/s, latency: 20 "
      "ns}\n  tile: {peak: {fp16: 1 TFLOP/s}, sram: 64 MiB}\n  dram: {at: each, bandwidth: 50 "
      "GB/s, "
      "latency: 100 ns}\n  network: {model: packet}\n"
      "  compute: {model: gemm, units: 8, tiles: [16x16], collective_units: 2}\n"
      "workload:\n  kind: layers\n  input: [16, 32]\n  batch: 16\n  layers:\n"
      "    - name: block\n      repeat: 6\n      operators:\n"
      "        - {kind: linear, outputs: 128, sharding: column, then: [relu]}\n"
      "        - {kind: linear, outputs: 32, sharding: row}\n"
      "strategy: {pipeline: 4, data: 2, schedule: 1f1b, zero: 1, overlap_gradients: true}\n"
      "run: {trace: none, iterations: 2}\n";
  expect_alike(summary_of(text), summary_of(text + flat), "reduce-scatters over at once");
}

// Channels: groups with several members in each server, or on each tile of a wafer, whose rings
// leave it by different ways.
TEST(Conformance, PlansAsGraphsWithSeveralMembersInAServer) {
  const std::string servers =
      "machine:\n  topology: {kind: cluster, nodes: 2, accelerators: 4, nics: 4, switch: "
      "{bandwidth: 100 GB/s, latency: 100 ns}, nic: {bandwidth: 20 GB/s, latency: 1 us}, port: "
      "{bandwidth: 10 GB/s, latency: 1 us}, fabric: {kind: switch}}\n";
  const std::string wafer =
      "machine:\n  topology: {kind: wafer, tiles: [1, 2], cores: [2, 2], intra_tile: {bandwidth: "
      "50 "
      "GB/s, latency: 10 ns}, inter_tile: {bandwidth: 10 GB/s, latency: 100 ns}}\n";
  const std::string tiles =
      "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 64 MiB}\n  dram: {at: each, bandwidth: 50 GB/s, "
      "latency: 100 ns}\n  network: {collective_overhead: 2 us, model: ";
  const std::vector<std::string> experts{"workload.experts={count: 8, top_k: 2}"};
  for (const std::string& topology : {servers, wafer}) {
    for (const std::string network : {"analytical", "packet"}) {
      for (const std::string strategy :
           {"data: 8", "data: 8, zero: 3, overlap_gradients: true", "tensor: 8",
            "tensor: 2, data: 4, zero: 1", "data: 8, expert: 8", "pipeline: 2, data: 4",
            "tensor: 8, sequence_parallel: true"}) {
        const std::string about = topology + network + ", " + strategy;
        std::string text = topology + tiles;
        text += network + "}\n" + model + "strategy: {" + strategy + "}\n" + no_trace;
        const std::vector<std::string> more{"workload.heads=8", "workload.hidden=64"};
        std::vector<std::string> sets = more;
        if (strategy.find("expert") != std::string::npos) {
          sets.insert(sets.end(), experts.begin(), experts.end());
        }
        const trace::Summary plan = summary_of(text, sets);
        ASSERT_EQ(plan.status, "finished") << about;
        const trace::Summary graphs = summary_of(text + flat, sets);
        expect_alike(plan, graphs, about);
        EXPECT_EQ(plan.messages, graphs.messages) << about;
        const Experiment again = testing::read({{"lab/experiment.yaml", text + flat}}, sets);
        EXPECT_EQ(testing::run_on(3, again).result_digest, graphs.result_digest) << about;
      }
    }
  }
}

// Weights of several layers on their way at a time.
TEST(Conformance, PlansAsGraphsWithLayersGatheredAhead) {
  for (const std::string strategy :
       {"data: 8, zero: 3, prefetch_layers: 2", "data: 4, zero: 3, prefetch_layers: 3",
        "pipeline: 2, data: 4, zero: 3, prefetch: forward, prefetch_layers: 16"}) {
    const std::string text =
        machine_of("model: packet") + model + "strategy: {" + strategy + "}\n" + no_trace;
    const trace::Summary plan = summary_of(text);
    ASSERT_EQ(plan.status, "finished");
    expect_alike(plan, summary_of(text + flat), strategy);
  }
}

// What is sent in a type of its own is as many bytes either way, and takes less time than as kept.
TEST(Conformance, PlansAsGraphsWithTypesOfWires) {
  const std::string narrow =
      "wires: {dispatch: mxfp8, weights: fp8, gradients: fp8, tensor_gathers: fp8, tensor_sums: "
      "fp8}";
  const std::vector<std::string> experts{"workload.experts={count: 4, top_k: 2}"};
  for (const std::string strategy :
       {"data: 4, expert: 2, zero: 3", "data: 4, expert: 4, zero: 1",
        "tensor: 2, data: 2, sequence_parallel: true, zero: 2", "tensor: 4, data: 2"}) {
    const auto text = [&](const std::string& wires) {
      return machine_of("model: analytical") + model + "strategy: {" + strategy + wires + "}\n" +
             no_trace;
    };
    const trace::Summary plan = summary_of(text(", " + narrow), experts);
    ASSERT_EQ(plan.status, "finished");
    expect_alike(plan, summary_of(text(", " + narrow) + flat, experts), strategy);
    EXPECT_LT(plan.iteration_time_ps, summary_of(text(""), experts).iteration_time_ps) << strategy;
  }
}

TEST(Conformance, PlansAsGraphs) {
  for (const std::string network : {"model: analytical", "model: packet"}) {
    for (const std::string strategy :
         {"tensor: 4", "pipeline: 2, tensor: 2, recompute: full", "pipeline: 2, tensor: 4",
          "tensor: 2, data: 2, context: 2, zero: 1", "data: 8, zero: 3"}) {
      const std::string text =
          machine_of(network) + model + "strategy: {" + strategy + "}\n" + no_trace;
      const trace::Summary plan = summary_of(text);
      ASSERT_EQ(plan.status, "finished");
      EXPECT_EQ(plan.samples_per_iteration, 8U);
      EXPECT_EQ(plan.tokens_per_iteration, 8U * 16U);
      // Without tensor, context or recomputation nothing is done twice.
      EXPECT_EQ(plan.executed_flops_per_iteration > plan.flops_per_iteration,
                strategy != "data: 8, zero: 3")
          << strategy;
      expect_alike(plan, summary_of(text + flat), network + ", " + strategy);
    }
  }
}

// Chunks in a V, two copies of the model, and products in pieces.
TEST(Conformance, PlansInAVAndInPiecesAsGraphs) {
  for (const std::string network : {"model: analytical", "model: packet"}) {
    for (const std::string strategy :
         {"pipeline: 2, chunks: 2, tensor: 2, schedule: zb-v",
          "pipeline: 2, chunks: 2, tensor: 2, schedule: dualpipe-v",
          "pipeline: 4, chunks: 2, tensor: 2, schedule: dualpipe",
          "pipeline: 2, chunks: 2, data: 2, schedule: dualpipe, zero: 1",
          "pipeline: 2, tensor: 4, sequence_parallel: true, async_tensor: true",
          "pipeline: 2, tensor: 4, sequence_parallel: true, overlap_tensor: true"}) {
      const std::string text =
          machine_of(network) + model + "strategy: {" + strategy + "}\n" + no_trace;
      const trace::Summary plan = summary_of(text);
      ASSERT_EQ(plan.status, "finished");
      EXPECT_EQ(plan.samples_per_iteration, 8U);
      expect_alike(plan, summary_of(text + flat), network + ", " + strategy);
    }
  }
}

TEST(Conformance, BreakdownsLeaveOutWhoHasNothingToDo) {
  const std::string text = machine_of("model: analytical") + model + "strategy: {tensor: 2}\n";
  const trace::Summary plan = summary_of(text + no_trace);
  const trace::Summary graphs = summary_of(text + no_trace + flat);
  ASSERT_FALSE(graphs.breakdown.empty());
  EXPECT_EQ(graphs.breakdown[0].tiles, 2U);
  EXPECT_EQ(graphs.breakdown[0].mean_ps.front(), plan.breakdown[0].mean_ps.front());
  EXPECT_EQ(graphs.breakdown[0].mean_ps.front().first, "compute");
}

// Bytes of rings whose steps are not simulated one by one.
TEST(Conformance, LumpedRingsSendTheirBytes) {
  const std::string text =
      "machine:\n"
      "  topology: {kind: stack, shape: Ring(8), dimensions: [{bandwidth: 10 GB/s, latency: 1 "
      "us}]}\n"
      "  network: {model: flow, uncontended_steps: each}\n"
      "workload: {kind: collective, collective: all-reduce, size: 80003 B, samples: 5}\n" +
      no_trace;
  const trace::Summary each = summary_of(text);
  EXPECT_EQ(each.samples_per_iteration, 5U);
  EXPECT_EQ(each.collective_bytes, 14U * 80003U);
  const trace::Summary lumped = summary_of(text, {"machine.network.uncontended_steps=lumped"});
  EXPECT_EQ(lumped.collective_bytes, each.collective_bytes);
  EXPECT_LT(lumped.events, each.events);
}

TEST(Conformance, TheOnlyTenant) {
  const std::string machine = machine_of("model: packet");
  const std::string alone = machine + model + "strategy: {pipeline: 2, tensor: 2}\n";
  const std::string tenant =
      machine +
      "workload:\n  kind: tenants\n  tenants:\n    - name: only\n      tiles: all\n      " + model +
      "      strategy: {pipeline: 2, tensor: 2}\n";
  const std::string twice = "run: {trace: none, iterations: 2}\n";
  const trace::Summary expected = summary_of(alone + twice);
  const trace::Summary summary = summary_of(tenant + twice);
  ASSERT_EQ(summary.tenants.size(), 1U);
  const trace::TenantResult& only = summary.tenants[0];
  EXPECT_EQ(only.samples_per_iteration, expected.samples_per_iteration);
  EXPECT_DOUBLE_EQ(only.flops_per_iteration, expected.flops_per_iteration);
  EXPECT_DOUBLE_EQ(only.executed_flops_per_iteration, expected.executed_flops_per_iteration);
  EXPECT_EQ(summary.iteration_time_ps, expected.iteration_time_ps);
  EXPECT_EQ(summary.samples_per_iteration, expected.samples_per_iteration);
  EXPECT_EQ(summary.tokens_per_iteration, expected.tokens_per_iteration);
  EXPECT_DOUBLE_EQ(summary.throughput_samples_per_s, expected.throughput_samples_per_s);
  EXPECT_NEAR(summary.achieved_flops_per_s, expected.achieved_flops_per_s,
              1e-9 * expected.achieved_flops_per_s);
  EXPECT_EQ(summary.message_bytes, expected.message_bytes);
  EXPECT_EQ(summary.collective_bytes, expected.collective_bytes);
  EXPECT_EQ(summary.memory_read_bytes, expected.memory_read_bytes);
  EXPECT_EQ(summary.memory_written_bytes, expected.memory_written_bytes);
}

// Tenants of graphs keep their own numbers of NPUs where some have nothing to do.
TEST(Conformance, TenantsWhoseGraphsLeaveTilesIdle) {
  const std::string graph =
      "{kind: graph, vertices: [{name: work, start: true, at: 1, flops: 1 GFLOP}]}\n";
  const std::string text = machine_of("model: analytical") +
                           "workload:\n  kind: tenants\n  tenants:\n"
                           "    - {name: low, tiles: 0-3, workload: " +
                           graph + "      }\n    - {name: high, tiles: 4-7, workload: " + graph +
                           "      }\n" + no_trace;
  const trace::Summary summary = summary_of(text);
  ASSERT_EQ(summary.status, "finished");
  EXPECT_EQ(summary.tiles, 2U);
  ASSERT_EQ(summary.tenants.size(), 2U);
  for (const trace::TenantResult& tenant : summary.tenants) {
    EXPECT_EQ(tenant.tiles, 1U);
    EXPECT_EQ(tenant.end_ps, 1'000'000'000);
    EXPECT_DOUBLE_EQ(tenant.peak_flops_per_s, 1e12);
    EXPECT_DOUBLE_EQ(tenant.achieved_flops_per_s, 1e12);
  }
}

const std::string experts =
    "workload: {kind: transformer, layers: 4, hidden: 32, heads: 4, sequence: 16, vocabulary: 50, "
    "batch: 8, mode: inference, experts: {count: 4, top_k: 1}}\n";

// An all-to-all over n by m members through their dimensions sends (n - 1) / n and (m - 1) / m of
// the vector, in place of (n m - 1) / (n m) over one; all other collectives send as much.
TEST(Conformance, PlansThroughDimensions) {
  const std::string through = "execution: {}\n";
  const std::string network = machine_of("model: analytical");
  const auto compare = [&](const std::string& work, const std::string& strategy) {
    const std::string text = network + work + "strategy: {" + strategy + "}\n" + no_trace;
    const trace::Summary flat_one = summary_of(text + flat);
    const trace::Summary boxes = summary_of(text + through);
    EXPECT_EQ(boxes.message_bytes, flat_one.message_bytes);
    EXPECT_GT(*flat_one.collective_bytes, 0U);
    return std::pair(*boxes.collective_bytes, *flat_one.collective_bytes);
  };
  for (const std::string strategy : {"pipeline: 2, data: 4, zero: 3", "tensor: 4, data: 2"}) {
    const auto [boxes, flat_one] = compare(model, strategy);
    EXPECT_EQ(boxes, flat_one) << strategy;
  }
  // Experts of four replicas that lie two by two: 1 / 2 twice for 3 / 4.
  const auto [boxes, flat_one] = compare(experts, "pipeline: 2, data: 4, expert: 4");
  EXPECT_EQ(3 * boxes, 4 * flat_one);
}

// Groups of two have one way to do anything.
TEST(Conformance, PlansOfPairsAreTheSameThroughDimensions) {
  for (const std::string network : {"model: analytical", "model: packet"}) {
    const std::string text = machine_of(network) + model +
                             "strategy: {pipeline: 2, tensor: 2, data: 2, zero: 1}\n" + no_trace;
    expect_alike(summary_of(text), summary_of(text + "execution: {}\n"), network);
  }
}

TEST(Conformance, ReplayedMicroBatchesCount) {
  const std::string text = machine_of("model: analytical") + model +
                           "strategy: {pipeline: 2, tensor: 2, data: 2}\nrun: {trace: none}\n";
  const std::vector<std::string> many{"workload.batch=128"};
  const std::vector<std::string> replayed{"workload.batch=128", "run.replay=exact"};
  const trace::Summary whole = summary_of(text, many);
  const trace::Summary summary = summary_of(text, replayed);
  EXPECT_GT(summary.replayed_micro_batches, 0U);
  expect_alike(whole, summary, "replayed");
}

// A prompt that all is computed of, in one step and with the same tokens as a plan: of the head,
// with its norm of 7 FLOPs an element, served models compute the last token's alone.
TEST(Conformance, ServedFlopsAreThoseOfAPlan) {
  const std::string machine =
      "machine:\n"
      "  topology: {kind: mesh, rows: 1, columns: 1, bandwidth: 10 GB/s, latency: 20 ns}\n"
      "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
      "  dram: {at: each, bandwidth: 20 GB/s, latency: 50 ns, capacity: 1 GB}\n"
      "  compute: {model: roofline}\n" +
      no_trace;
  const std::string keys = "layers: 4, hidden: 32, heads: 4, vocabulary: 50, sequence: ";
  for (const std::uint64_t tokens : {1U, 16U}) {
    const trace::Summary plan =
        summary_of(machine + "workload: {kind: transformer, " + keys + std::to_string(tokens) +
                   ", batch: 1, mode: inference, attention: flash}\nstrategy: {pipeline: 1}\n");
    const trace::Summary served = summary_of(
        machine + "workload:\n  kind: serving\n  tenants:\n    - language_model: {" + keys +
        "17}\n      batching: {block: 1}\n      requests: {arrivals: closed, count: 1, prompt: " +
        std::to_string(tokens) + ", generate: 1}\n");
    const auto head = static_cast<double>((tokens - 1) * (2 * 32 * 50 + 7 * 32));
    EXPECT_EQ(served.flops_per_iteration + head, plan.flops_per_iteration) << tokens;
    EXPECT_EQ(served.executed_flops_per_iteration + head, plan.executed_flops_per_iteration);
  }
}

// Energy of plans and of their graphs, whose links draw so much.
std::pair<double, double> energies(const std::string& strategy, const std::string& sram, int link) {
  const std::vector<std::string> keys{
      "machine.tile.sram=" + sram,
      "machine.power={idle: 100, compute: 400, memory: 50, link: " + std::to_string(link) + "}"};
  const std::string text =
      machine_of("model: packet") + model + "strategy: {" + strategy + "}\n" + no_trace;
  return {summary_of(text, keys).energy_j_per_iteration,
          summary_of(text + flat, keys).energy_j_per_iteration};
}

// What waits for collectives alone is the same in both. Graphs count what waits for memory and a
// collective as memory, and know of no message whether it has been sent.
TEST(Conformance, EnergyOfPlansAsGraphs) {
  for (const std::string strategy :
       {"tensor: 4", "data: 8, zero: 3", "data: 4, overlap_gradients: true",
        "tensor: 2, data: 2, zero: 1"}) {
    const auto [plan, graphs] = energies(strategy, "64 MB", 30);
    EXPECT_DOUBLE_EQ(plan, graphs) << strategy;
    const auto [plan_in_dram, graphs_in_dram] = energies(strategy, "10 kB", 30);
    EXPECT_GT(plan_in_dram, graphs_in_dram) << strategy;
    const auto [without_links, graphs_without] = energies(strategy, "10 kB", 0);
    EXPECT_DOUBLE_EQ(without_links, graphs_without) << strategy;
  }
  for (const std::string strategy : {"pipeline: 4", "pipeline: 2, tensor: 2"}) {
    const auto [plan, graphs] = energies(strategy, "64 MB", 30);
    EXPECT_LT(plan, graphs) << strategy;
    const auto [without_links, graphs_without] = energies(strategy, "10 kB", 0);
    EXPECT_DOUBLE_EQ(without_links, graphs_without) << strategy;
  }
}

TEST(Conformance, GraphsSayWhatTheirLinksCount) {
  const std::string text =
      machine_of("model: packet") + model + "strategy: {tensor: 4}\n" + no_trace;
  const std::string note =
      "machine.power.link: an NPU that waits for memory and a collective at once counts as waiting "
      "for memory";
  const auto has_note = [&](const std::string& of, const std::string& link) {
    const trace::Summary summary =
        summary_of(of, {"machine.power={idle: 100, link: " + link + "}"});
    return std::ranges::any_of(summary.notes,
                               [&](const std::string& one) { return one.starts_with(note); });
  };
  EXPECT_TRUE(has_note(text + flat, "30"));
  EXPECT_FALSE(has_note(text + flat, "0"));
  EXPECT_FALSE(has_note(text, "30"));
}

// The closed form counts tiles that are not whole too.
TEST(Conformance, SystolicArraysInClosedFormAndSteppedHaveOneDigest) {
  for (const std::string dataflow : {"tpu", "non-stationary", "ws", "is", "os"}) {
    const auto digest = [&](const std::string& array) {
      return summary_of(machine_of("model: analytical") + "  compute: {" + array + ", dataflow: " +
                        dataflow + "}\n" + model + "strategy: {tensor: 2}\n" + no_trace)
          .result_digest;
    };
    EXPECT_EQ(digest("model: systolic, array: [7, 5]"),
              digest("model: systolic-cycle, array: [7, 5]"))
        << dataflow;
  }
}

}  // namespace
}  // namespace tessera::sim::conformance_test
