#include "search/forecast/forecast.hpp"

#include <gtest/gtest.h>

#include <array>

#include "files.hpp"
#include "search/simulator.hpp"
#include "sweep/columns.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/core/error.hpp"
#include "tessera/sim/programs/replay.hpp"
#include "tessera/sim/programs/use_strategy.hpp"

namespace tessera::explore::forecast_test {
namespace {

using testing::Files;

struct Laboratory {
  explicit Laboratory(const Files& files, std::vector<std::string> settings = {})
      : request(request_with(std::move(settings))),
        simulator(request, testing::loader_of(files)),
        workload(simulator.workload()),
        forecaster(simulator.experiment(), workload, simulator.base()),
        limits(limits_of(simulator.experiment().machine, workload, 0, false)) {}

  static SearchRequest request_with(std::vector<std::string> settings) {
    SearchRequest request;
    request.experiment = "lab/experiment.yaml";
    request.overrides = std::move(settings);
    return request;
  }

  SearchRequest request;
  Simulator simulator;
  workload::Workload workload;
  Forecaster forecaster;
  CandidateLimits limits;
};

Files with_machine(const std::string& machine) {
  Files files = testing::small_sweep();
  files.at("lab/machine.yaml") = machine;
  return files;
}

Files with_dram() {
  return with_machine(
      "topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 10 GB/s, latency: 1 ns}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}, sram: 20 kB}\n"
      "dram: {at: edge, edges: [west], bandwidth: 1 GB/s, latency: 10 ns, capacity: 700 kB}\n");
}

Files of_cluster() {
  return with_machine(
      "topology: {kind: cluster, nodes: 4, accelerators: 4, nics: 4,\n"
      "  switch: {bandwidth: 100 GB/s, latency: 100 ns}, nic: {bandwidth: 20 GB/s, latency: 1 "
      "us},\n"
      "  port: {bandwidth: 10 GB/s, latency: 1 us},\n"
      "  fabric: {kind: switch}}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}, sram: 1 MB, operands: dram}\n"
      "dram: {at: each, bandwidth: 100 GB/s, latency: 100 ns, capacity: 1 MB}\n");
}

// Every `step`-th candidate, of those that share out among some replicas and of all others.
template <class Visit>
void visit_some(const CandidateLimits& limits, std::size_t step, const Visit& visit) {
  std::array<std::size_t, 2> numbers{};
  for (const DegreesOfCandidates& degrees : degrees_of_candidates(limits)) {
    visit_candidates(limits, degrees, [&](const Candidate& candidate) {
      if (numbers[candidate.shard > 0 ? 1 : 0]++ % step == 0) {
        visit(candidate);
      }
    });
  }
}

// The bound is one, and what fits and what does not is as plans have it.
void expect_as_simulated(Laboratory& lab, std::size_t step) {
  std::size_t simulated = 0;
  std::size_t refused = 0;
  visit_some(lab.limits, step, [&](const Candidate& candidate) {
    const Forecast forecast = lab.forecaster.of(candidate);
    Proposal proposal;
    proposal.candidate = candidate;
    proposal = lab.simulator.simulate(proposal, {});
    const std::string title = candidate.title() + ", " + candidate.layout;
    EXPECT_EQ(forecast.fits(), proposal.status != "refused") << title << ": " << proposal.message;
    refused += proposal.status == "refused" ? 1 : 0;
    if (proposal.status == "finished") {
      ++simulated;
      // Of interleaved chunks, which are of unlike size, the closed form has the mean.
      const auto most = static_cast<double>(proposal.memory.count());
      const double off = candidate.schedule == "interleaved" ? 0.1 * most : 0;
      EXPECT_NEAR(static_cast<double>(forecast.memory.count()), most, off) << title;
      EXPECT_LE(forecast.iteration.least, static_cast<double>(proposal.iteration.ps())) << title;
      EXPECT_GE(forecast.iteration.likely, 0.4 * static_cast<double>(proposal.iteration.ps()))
          << title;
      EXPECT_LE(forecast.iteration.likely, 2.5 * static_cast<double>(proposal.iteration.ps()))
          << title;
    }
  });
  EXPECT_GT(simulated, 20U);
  EXPECT_GT(simulated + refused, 50U);
}

// No candidate is faster than its bound, and there are so many at least.
void expect_bounds(Laboratory& lab, std::size_t least) {
  std::size_t simulated = 0;
  visit_some(lab.limits, 1, [&](const Candidate& candidate) {
    Proposal proposal;
    proposal.candidate = candidate;
    proposal = lab.simulator.simulate(proposal, {});
    ASSERT_EQ(proposal.status, "finished") << proposal.message;
    ++simulated;
    EXPECT_LE(lab.forecaster.of(candidate).iteration.least,
              static_cast<double>(proposal.iteration.ps()))
        << candidate.title() << ", " << candidate.layout;
  });
  EXPECT_GE(simulated, least);
}

TEST(Forecast, BoundsWhatIsSimulatedOnAMesh) {
  Laboratory lab(testing::small_sweep());
  expect_as_simulated(lab, 41);
}

TEST(Forecast, BoundsWhatIsSimulatedWithDram) {
  Laboratory lab(with_dram());
  expect_as_simulated(lab, 29);
}

TEST(Forecast, BoundsWhatIsSimulatedWithBandwidthForEachAccess) {
  Laboratory lab(with_dram(), {"machine.memory.model=bandwidth"});
  expect_as_simulated(lab, 31);
}

// The machine says 1 GB/s, the device moves 51.2 GB/s.
TEST(Forecast, BoundsWhatIsSimulatedWithDevices) {
  Laboratory lab(with_dram(), {"machine.memory={model: dram, preset: LPDDR5}"});
  std::size_t simulated = 0;
  visit_some(lab.limits, 97, [&](const Candidate& candidate) {
    Proposal proposal;
    proposal.candidate = candidate;
    proposal = lab.simulator.simulate(proposal, {});
    if (proposal.status == "finished") {
      ++simulated;
      EXPECT_LE(lab.forecaster.of(candidate).iteration.least,
                static_cast<double>(proposal.iteration.ps()))
          << candidate.title();
    }
  });
  EXPECT_GT(simulated, 20U);
}

TEST(Forecast, BoundsWhatIsSimulatedOnACluster) {
  Laboratory lab(of_cluster());
  expect_as_simulated(lab, 13);
}

TEST(Forecast, BoundsWhatIsSimulatedWithExperts) {
  Files files = testing::small_sweep();
  files.at("lab/experiment.yaml") =
      "machine: machine.yaml\n"
      "workload: {kind: transformer, layers: 2, hidden: 32, heads: 4, sequence: 16,\n"
      "  vocabulary: 50, batch: 4, experts: {count: 4, top_k: 2}}\n"
      "strategy: {pipeline: 2, tensor: 2}\n";
  Laboratory lab(files);
  expect_as_simulated(lab, 61);
}

// Stages of unlike loads, whose weight gradients come after the last pass that others wait for.
TEST(Forecast, BoundsWeightGradientsThatArePutOff) {
  Files files = with_machine(
      "topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 16 GB/s, latency: 20 ns}\n"
      "tile: {peak: {fp16: 4 TFLOP/s}, sram: 128 MB}\n");
  files.at("lab/experiment.yaml") =
      "machine: machine.yaml\n"
      "workload: {kind: transformer, layers: 8, hidden: 256, heads: 8, sequence: 128,\n"
      "  vocabulary: 1024, batch: 32}\n"
      "strategy: {pipeline: 1}\n";
  Laboratory lab(files);
  lab.limits.given = {{"pipeline", {"4"}},          {"context", {"1"}},
                      {"schedule", {"zb-h1"}},      {"recompute", {"none"}},
                      {"zero", {"0", "1"}},         {"micro_batch", {"2", "8"}},
                      {"placement", {"linear"}},    {"sequence_parallel", {"false"}},
                      {"overlap_tensor", {"false"}}};
  expect_bounds(lab, 6);
}

// Gathers and scatters beside the products along whose tokens they go.
TEST(Forecast, BoundsProductsInPieces) {
  Files files = with_machine(
      "topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 16 GB/s, latency: 20 ns}\n"
      "tile: {peak: {fp16: 4 TFLOP/s}, sram: 128 MB}\n");
  files.at("lab/experiment.yaml") =
      "machine: machine.yaml\n"
      "workload: {kind: transformer, layers: 4, hidden: 256, heads: 8, sequence: 128,\n"
      "  vocabulary: 1024, batch: 16}\n"
      "strategy: {pipeline: 1}\n";
  Laboratory lab(files);
  lab.limits.given = {
      {"pipeline", {"1", "2"}},        {"context", {"1"}},         {"schedule", {"1f1b"}},
      {"recompute", {"none", "full"}}, {"zero", {"0", "3"}},       {"micro_batch", {"1", "4"}},
      {"placement", {"linear"}},       {"async_tensor", {"true"}}, {"overlap_tensor", {"false"}}};
  expect_bounds(lab, 12);
}

// Two chunks a stage in a V, some of whose backward passes are whole.
TEST(Forecast, BoundsSchedulesInAV) {
  Files files = with_machine(
      "topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 16 GB/s, latency: 20 ns}\n"
      "tile: {peak: {fp16: 4 TFLOP/s}, sram: 128 MB}\n");
  files.at("lab/experiment.yaml") =
      "machine: machine.yaml\n"
      "workload: {kind: transformer, layers: 8, hidden: 256, heads: 8, sequence: 128,\n"
      "  vocabulary: 1024, batch: 32}\n"
      "strategy: {pipeline: 1}\n";
  Laboratory lab(files);
  lab.limits.given = {{"pipeline", {"2", "4"}},
                      {"context", {"1"}},
                      {"chunks", {"2"}},
                      {"schedule", {"zb-v", "dualpipe-v"}},
                      {"recompute", {"none"}},
                      {"zero", {"0", "1"}},
                      {"micro_batch", {"2"}},
                      {"placement", {"linear"}},
                      {"sequence_parallel", {"false"}}};
  expect_bounds(lab, 8);
}

// Tokens travel to experts while the other pass computes: passes take less than they would alone.
TEST(Forecast, BoundsPassesThatTakeTurns) {
  Files files = with_machine(
      "topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 2 GB/s, latency: 1 ns}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}, sram: 64 MB}\n");
  files.at("lab/experiment.yaml") =
      "machine: machine.yaml\n"
      "workload: {kind: transformer, layers: 4, hidden: 64, heads: 4, sequence: 32,\n"
      "  vocabulary: 64, batch: 128, experts: {count: 4, top_k: 2}}\n"
      "strategy: {pipeline: 2, chunks: 2, schedule: dualpipe-v, overlap_passes: true}\n";
  Laboratory lab(files);
  lab.limits.given = {{"pipeline", {"2", "4"}},
                      {"tensor", {"1"}},
                      {"context", {"1"}},
                      {"chunks", {"1", "2"}},
                      {"schedule", {"1f1b", "dualpipe-v"}},
                      {"recompute", {"none", "full"}},
                      {"zero", {"0", "2"}},
                      {"micro_batch", {"1", "4"}},
                      {"placement", {"linear"}}};
  expect_bounds(lab, 40);
}

// Stages with the same layers have other numbers of pairs: a stage nearer to the end has more.
TEST(Forecast, BoundsPairsOfStagesThatAreAlike) {
  Files files = with_machine(
      "topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 2 GB/s, latency: 1 ns}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}, sram: 64 MB}\n");
  files.at("lab/experiment.yaml") =
      "machine: machine.yaml\n"
      "workload: {kind: transformer, layers: 30, hidden: 64, heads: 4, sequence: 32,\n"
      "  vocabulary: 16, batch: 64, experts: {count: 2, top_k: 2}}\n"
      "strategy: {pipeline: 8, chunks: 2, schedule: dualpipe-v, overlap_passes: true}\n";
  Laboratory lab(files);
  lab.limits.given = {{"pipeline", {"8"}},
                      {"tensor", {"1"}},
                      {"context", {"1"}},
                      {"chunks", {"2"}},
                      {"schedule", {"dualpipe-v"}},
                      {"recompute", {"none", "full"}},
                      {"zero", {"0"}},
                      {"micro_batch", {"1", "2"}},
                      {"placement", {"linear"}}};
  expect_bounds(lab, 4);
}

TEST(Forecast, KnowsLayersGatheredAhead) {
  Files files = with_machine(
      "topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 1 GB/s, latency: 1 ns}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}, sram: 64 MB}\n");
  files.at("lab/experiment.yaml") =
      "machine: machine.yaml\n"
      "workload: {kind: transformer, layers: 6, hidden: 64, heads: 4, sequence: 32,\n"
      "  vocabulary: 64, batch: 32}\n"
      "strategy: {pipeline: 1, prefetch_layers: 3}\n";
  Laboratory lab(files);
  lab.limits.given = {{"pipeline", {"1", "2"}},  {"tensor", {"1"}}, {"context", {"1"}},
                      {"schedule", {"1f1b"}},    {"chunks", {"1"}}, {"recompute", {"none"}},
                      {"placement", {"linear"}}, {"zero", {"3"}},   {"shard", {"0"}}};
  expect_bounds(lab, 8);
  visit_some(lab.limits, 1, [&](const Candidate& candidate) {
    Proposal proposal;
    proposal.candidate = candidate;
    proposal = lab.simulator.simulate(proposal, {});
    EXPECT_EQ(lab.forecaster.of(candidate).memory, proposal.memory) << candidate.title();
  });
}

// Narrower than what is kept: a forecast of what is kept would be no bound.
TEST(Forecast, BoundsTypesOfWires) {
  Files files = with_machine(
      "topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 200 MB/s, latency: 1 ns}\n"
      "tile: {peak: {fp16: 4 TFLOP/s}, sram: 64 MB}\n");
  files.at("lab/experiment.yaml") =
      "machine: machine.yaml\n"
      "workload: {kind: transformer, layers: 4, hidden: 64, heads: 4, sequence: 32,\n"
      "  vocabulary: 64, batch: 32, gradient_type: fp32, experts: {count: 4, top_k: 2}}\n"
      "strategy: {pipeline: 2, wires: {dispatch: fp8, combine: mxfp8, weights: mxfp8,\n"
      "  gradients: fp8, tensor_gathers: fp8, tensor_sums: fp8}}\n";
  Laboratory lab(files);
  lab.limits.given = {{"pipeline", {"1", "2"}}, {"context", {"1"}},      {"chunks", {"1"}},
                      {"schedule", {"1f1b"}},   {"recompute", {"none"}}, {"micro_batch", {"2"}},
                      {"placement", {"linear"}}};
  expect_bounds(lab, 40);
}

// What is reduced beside a backward pass takes longer than the pass, and goes on beside the forward
// pass behind it. Estimates that counted it with the backward pass alone were 9 % too long.
TEST(Forecast, EstimatesGradientsThatGoOnBesideTheNextPass) {
  Files files = with_machine(
      "topology: {kind: cluster, nodes: 2, accelerators: 4, nics: 4,\n"
      "  switch: {bandwidth: 200 GB/s, latency: 250 ns}, nic: {bandwidth: 25 GB/s, latency: 1 "
      "us},\n"
      "  port: {bandwidth: 12.5 GB/s, latency: 1 us}, fabric: {kind: switch}}\n"
      "tile: {peak: {fp16: 50 TFLOP/s}, sram: 1 MB, operands: dram}\n"
      "dram: {at: each, bandwidth: 1000 GB/s, latency: 400 ns, capacity: 1 GB}\n");
  files.at("lab/experiment.yaml") =
      "machine: machine.yaml\n"
      "workload: {kind: transformer, layers: 4, hidden: 128, heads: 8, sequence: 128,\n"
      "  vocabulary: 1024, batch: 128, experts: {count: 8, top_k: 2}}\n"
      "strategy: {pipeline: 1}\n";
  Laboratory lab(files);
  Proposal proposal;
  proposal.candidate.emplace();
  proposal.candidate->degrees = {1, 8, 1};
  proposal.candidate->micro_batch = 4;
  proposal.candidate->zero = 2;
  proposal.candidate->overlap_gradients = true;
  proposal.candidate->schedule = "1f1b";
  proposal.candidate->layout = "linear";
  const Forecast forecast = lab.forecaster.of(*proposal.candidate);
  proposal = lab.simulator.simulate(proposal, {});
  ASSERT_EQ(proposal.status, "finished") << proposal.message;
  EXPECT_NEAR(forecast.iteration.likely / static_cast<double>(proposal.iteration.ps()), 1, 0.05);
}

// All that tiles of a row read comes over one link, beside what tensor groups send to each other.
// Estimates without that were half of the time.
TEST(Forecast, CountsWhatLinksBesideChannelsCarry) {
  Files files = with_machine(
      "topology: {kind: mesh, rows: 6, columns: 6, bandwidth: 8 GB/s, latency: 50 ns}\n"
      "tile: {peak: {fp16: 2 TFLOP/s}, sram: 512 KiB}\n"
      "dram: {at: edge, edges: [west], bandwidth: 30 GB/s, latency: 80 ns, capacity: 256 MB}\n");
  files.at("lab/experiment.yaml") =
      "machine: machine.yaml\n"
      "workload: {kind: transformer, layers: 6, hidden: 192, heads: 6, sequence: 96,\n"
      "  vocabulary: 2000, batch: 24}\n"
      "strategy: {pipeline: 1}\n";
  Laboratory lab(files);
  for (const char* const layout : {"linear", "s-shape"}) {
    for (const std::uint32_t zero : {0, 1, 3}) {
      Proposal proposal;
      proposal.candidate.emplace();
      proposal.candidate->degrees = {1, 6, 6};
      proposal.candidate->micro_batch = 4;
      proposal.candidate->zero = zero;
      proposal.candidate->recompute = plan::Recompute::full;
      proposal.candidate->sequence_parallel = proposal.candidate->overlap_gradients = true;
      proposal.candidate->schedule = "1f1b";
      proposal.candidate->layout = layout;
      const Span forecast = lab.forecaster.of(*proposal.candidate).iteration;
      proposal = lab.simulator.simulate(proposal, {});
      ASSERT_EQ(proposal.status, "finished") << proposal.message;
      const auto simulated = static_cast<double>(proposal.iteration.ps());
      EXPECT_LE(forecast.least, simulated) << layout << zero;
      EXPECT_GE(forecast.least, 0.7 * simulated) << layout << zero;
      EXPECT_NEAR(forecast.likely, simulated, 0.2 * simulated) << layout << zero;
    }
  }
}

void expect_one_tile_to_be_exact(Laboratory& lab) {
  Candidate candidate;
  candidate.schedule = "1f1b";
  candidate.layout = "linear";
  Proposal proposal;
  proposal.candidate = candidate;
  proposal = lab.simulator.simulate(proposal, {});
  ASSERT_EQ(proposal.status, "finished") << proposal.message;
  const Forecast forecast = lab.forecaster.of(candidate);
  const auto simulated = static_cast<double>(proposal.iteration.ps());
  EXPECT_NEAR(forecast.iteration.likely, simulated, 1e-6 * simulated);
  EXPECT_NEAR(forecast.iteration.least, simulated, 1e-6 * simulated);
}

TEST(Forecast, OfOneTileIsExact) {
  Laboratory lab(testing::small_sweep());
  expect_one_tile_to_be_exact(lab);
}

// Kernels reach shares of the memory that differ, and an optimizer may go over its state more often
// than once: estimates that took the optimizer for any vector work were up to 7 % above a run.
TEST(Forecast, OfOneGpuIsExact) {
  const Files files = with_machine(
      "topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 10 GB/s, latency: 1 ns}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}, sram: 1 MB, operands: dram}\n"
      "dram: {at: each, bandwidth: 10 GB/s, latency: 10 ns, capacity: 1 GB}\n"
      "compute: {model: gemm, units: 4, tiles: [64x64], tile_depth: 32, cache_bandwidth: 100 "
      "GB/s,\n"
      "  vector_memory_efficiency: 0.4, sum_memory_efficiency: 0.8, norm_memory_efficiency: "
      "0.3}\n");
  for (const char* const update : {"fused", "eager"}) {
    Laboratory lab(files, {std::string("workload.update=") + update});
    expect_one_tile_to_be_exact(lab);
  }
}

// By which it is chosen whether every tile is simulated: a message of many packets raises many
// events at each switch that it goes through, and one between neighbours next to none.
TEST(Forecast, CountsEventsOfPackets) {
  Files files = of_cluster();
  files.at("lab/experiment.yaml") =
      "machine: machine.yaml\n"
      "workload: {kind: transformer, layers: 2, hidden: 512, heads: 8, sequence: 512,\n"
      "  vocabulary: 1024, batch: 4}\n"
      "strategy: {pipeline: 1, tensor: 4, micro_batch: 1}\n";
  for (const char* const most : {"1", "16", "64"}) {
    Laboratory lab(files,
                   {"machine.dram.capacity=1 GB",
                    std::string("machine.network={model: packet, max_packets: ") + most + "}"});
    Candidate candidate;
    candidate.degrees = {1, 1, 4};
    candidate.schedule = "1f1b";
    candidate.layout = "linear";
    sim::Experiment experiment = sim::read_single_job_experiment(
        lab.request.experiment, lab.request.overrides, {}, testing::loader_of(files));
    const std::unique_ptr<comm::Communicator> alone = comm::make_in_process();
    const auto events = static_cast<double>(sim::run_with_replay(experiment, *alone, {}).events);
    EXPECT_NEAR(lab.forecaster.of(candidate).events, events, 0.3 * events) << most;
  }
}

TEST(Forecast, SaysWhatIsMissingWhere) {
  Laboratory lab(with_dram(), {"machine.dram.capacity=1 kB"});
  Candidate candidate;
  candidate.schedule = "1f1b";
  candidate.layout = "linear";
  const Forecast forecast = lab.forecaster.of(candidate);
  EXPECT_FALSE(forecast.fits());
  EXPECT_EQ(forecast.need.capacity, Bytes(1000));
  EXPECT_EQ(forecast.need.missing(), forecast.need.asked - Bytes(1000));
  EXPECT_TRUE(forecast.need.channel);
  EXPECT_EQ(forecast.of_stage.peak.total(), forecast.memory);
}

}  // namespace
}  // namespace tessera::explore::forecast_test
