#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "files.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/explore/strategy_search.hpp"

namespace tessera::explore::search_bounds_test {
namespace {

// All that fit are simulated.
SearchOutcome brute_force(const std::string& machine, const std::string& workload,
                          std::vector<std::string> kept) {
  testing::Files files = testing::small_sweep();
  files["lab/experiment.yaml"] =
      "name: lab\nmachine: " + machine + "\nworkload: " + workload + "\nstrategy: {pipeline: 1}\n";
  SearchRequest request;
  request.experiment = "lab/experiment.yaml";
  request.kept = std::move(kept);
  request.all = true;
  const auto alone = comm::make_in_process();
  return search_strategies(request, *alone, testing::loader_of(files));
}

void expect_estimates(const SearchOutcome& outcome, double least, double most) {
  for (const Proposal& proposal : outcome.proposals) {
    if (proposal.candidate) {
      const double estimate = static_cast<double>(proposal.estimate.ps()) /
                              static_cast<double>(proposal.iteration.ps());
      EXPECT_GE(estimate, least) << proposal.title();
      EXPECT_LE(estimate, most) << proposal.title();
    }
  }
}

// Links of the machine were counted, which the crossbar does not look at: bounds were above what
// simulations took, and estimates up to twice as long.
TEST(SearchBounds, HoldWhereMessagesHavePortsAlone) {
  const SearchOutcome outcome = brute_force(
      "{name: m, topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 16 GB/s, latency: 1 us},\n"
      "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 64 MB}, network: {model: crossbar}}",
      "{kind: transformer, layers: 4, hidden: 64, heads: 4, sequence: 32, vocabulary: 64,\n"
      "  batch: 16}",
      {"context=1", "schedule=1f1b", "recompute=none", "placement=linear,s-shape",
       "micro_batch=1,2", "chunks=1", "zero=0,3"});
  EXPECT_GT(outcome.proposals.size(), 300U);
  EXPECT_EQ(outcome.violated, 0U);
  expect_estimates(outcome, 0.5, 1.2);
}

// The state of the optimizer is written beside the gathers of weights behind the update, and was
// counted before them.
TEST(SearchBounds, HoldWhereStateIsWrittenBesideGathers) {
  const SearchOutcome outcome = brute_force(
      "{name: m, topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 60 GB/s,\n"
      "  latency: 50 us}, tile: {peak: {fp16: 1 TFLOP/s}, sram: 900 kB},\n"
      "  dram: {at: each, bandwidth: 60 GB/s, latency: 50 ns, capacity: 80 MB},\n"
      "  network: {model: crossbar}}",
      "{kind: transformer, layers: 4, hidden: 128, heads: 8, sequence: 32, vocabulary: 64,\n"
      "  batch: 16}",
      {"context=1", "tensor=1,2", "schedule=1f1b", "recompute=full", "placement=linear",
       "micro_batch=1", "chunks=1", "zero=1,2", "overlap_gradients=false"});
  EXPECT_GT(outcome.proposals.size(), 20U);
  EXPECT_EQ(outcome.violated, 0U);
}

// Weights that are read are there when the first micro-batch comes to a later stage, and gradients
// are written while others work: estimates that had stages wait for both were up to 1.85 times as
// long.
TEST(SearchBounds, EstimatesHaveStagesReadAhead) {
  for (const std::string memory : {"channel", "bandwidth"}) {
    const SearchOutcome outcome = brute_force(
        "{name: m, topology: {kind: mesh, rows: 1, columns: 4, bandwidth: 20 GB/s,\n"
        "  latency: 100 ns}, tile: {peak: {fp16: 20 TFLOP/s}, sram: 100 kB},\n"
        "  dram: {at: each, bandwidth: 10 GB/s, latency: 100 ns, capacity: 80 MB},\n"
        "  memory: {model: " +
            memory + "}}",
        "{kind: transformer, layers: 4, hidden: 128, heads: 4, sequence: 32, vocabulary: 64,\n"
        "  batch: 4}",
        {"context=1", "pipeline=4", "tensor=1", "schedule=1f1b,gpipe,zb-h1", "recompute=none",
         "placement=linear", "chunks=1", "zero=0"});
    EXPECT_GT(outcome.proposals.size(), 5U);
    EXPECT_EQ(outcome.violated, 0U);
    expect_estimates(outcome, 0.85, 1.15);
  }
}

}  // namespace
}  // namespace tessera::explore::search_bounds_test
