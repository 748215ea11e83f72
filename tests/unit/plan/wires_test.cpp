// Types in which tensors are sent.

#include "tessera/plan/wires.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planning.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::plan::wires_test {
namespace {

using collective::Kind;
using ::testing::ElementsAre;
using testing::machine_text;
using testing::planned;
using testing::Planned;
using testing::workload_text;
using Sent = std::vector<std::uint64_t>;

// Bytes of the collectives of a kind in a pass of the first stage, in their order.
Sent sent_in(const Planned& work, Phase phase, Group group, Kind kind) {
  const Program& program = work.plan.stages[0].program;
  for (const ScheduleEntry& entry : program.schedule) {
    if (entry.pass.phase == phase) {
      Sent bytes;
      for (const Instruction& each : program.instructions(entry)) {
        const bool is_sent =
            each.action == Action::collective || each.action == Action::start_collective;
        if (is_sent && each.group == group && each.collective == kind) {
          bytes.push_back(each.bytes);
        }
      }
      return bytes;
    }
  }
  return {};
}

Sent scaled(Sent bytes, std::uint64_t by, std::uint64_t of) {
  for (std::uint64_t& each : bytes) {
    each = each * by / of;
  }
  return bytes;
}

std::string with_experts(const std::string& more = "") {
  return workload_text() + "experts: {count: 4, top_k: 2}\n" + more;
}

std::string eight_bits() {
  std::string machine = machine_text();
  const std::string peak = "fp16: 1 TFLOP/s";
  machine.replace(machine.find(peak), peak.size(), peak + ", fp8: 2 TFLOP/s");
  return machine;
}

// Forward tokens go to the experts first; backward, gradients of what experts gave do.
TEST(Wires, TokensGoAndComeBackInTheirOwnTypes) {
  const std::string strategy = "pipeline: 8\ndata: 2\nexpert: 2\n";
  const auto exchanged = [&](const std::string& wires, Phase phase) {
    Planned work = planned(strategy + wires, machine_text(), with_experts());
    work.plan.stages[0] = std::move(work.plan.stages[3]);  // one layer with experts
    return sent_in(work, phase, Group::expert, Kind::all_to_all);
  };
  constexpr std::uint64_t elements = 32 * 2 * 64;  // copies of tokens
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    EXPECT_THAT(exchanged("", phase), ElementsAre(2 * elements, 2 * elements));
    EXPECT_THAT(exchanged("wires: {dispatch: fp8}\n", phase), ElementsAre(elements, 2 * elements));
    EXPECT_THAT(exchanged("wires: {dispatch: mxfp8, combine: fp32}\n", phase),
                ElementsAre(elements + elements / 32, 4 * elements));
  }
}

// As they are multiplied: of activations in rows, of weights in squares.
TEST(Wires, WhatIsSentInTheTypeOfProductsHasTheirScales) {
  const std::string strategy =
      "data: 2\nexpert: 2\nzero: 3\nwires: {dispatch: fp8, weights: fp8}\n";
  const auto work = [&](const std::string& scales) {
    return planned(strategy, eight_bits(), with_experts("product_type: fp8\n" + scales));
  };
  const Planned plain = work("");
  const Planned blocks = work("product_group_size: 16\nproduct_scale: 4 B\n");
  const Sent tokens = sent_in(plain, Phase::forward, Group::expert, Kind::all_to_all);
  const Sent scaled_tokens = sent_in(blocks, Phase::forward, Group::expert, Kind::all_to_all);
  const Sent weights = sent_in(plain, Phase::forward, Group::data, Kind::all_gather);
  const Sent scaled_weights = sent_in(blocks, Phase::forward, Group::data, Kind::all_gather);
  ASSERT_GE(tokens.size(), 2U);
  EXPECT_EQ(scaled_tokens[0], tokens[0] + tokens[0] / 16 * 4);
  EXPECT_EQ(scaled_tokens[1], tokens[1]) << "what comes back is as kept";
  ASSERT_GE(weights.size(), 2U);
  EXPECT_GT(scaled_weights[1], weights[1] + weights[1] / 256 * 4 - 1);
  EXPECT_LT(scaled_weights[1], weights[1] + weights[1] / 256 * 4 + 4 * 20) << "whole scales";
}

TEST(Wires, WeightsAreGatheredInTheirOwnType) {
  for (const char* const gather : {"layer", "operator"}) {
    const std::string strategy = std::string("data: 2\nzero: 3\ngather: ") + gather + "\n";
    const Planned kept = planned(strategy);
    const Planned narrow = planned(strategy + "wires: {weights: fp8}\n");
    for (const Phase phase : {Phase::forward, Phase::backward}) {
      const Sent whole = sent_in(kept, phase, Group::data, Kind::all_gather);
      EXPECT_FALSE(whole.empty());
      EXPECT_EQ(sent_in(narrow, phase, Group::data, Kind::all_gather), scaled(whole, 1, 2));
    }
    // Buffers are for what is computed with.
    EXPECT_EQ(narrow.plan.stages[0].memory.peak.total(), kept.plan.stages[0].memory.peak.total());
  }
  const Planned kept = planned("data: 2\nzero: 1\n");
  const Planned narrow = planned("data: 2\nzero: 1\nwires: {weights: fp8}\n");
  const Sent whole = sent_in(kept, Phase::update, Group::data, Kind::all_gather);
  EXPECT_EQ(whole.size(), 1U);
  EXPECT_EQ(sent_in(narrow, Phase::update, Group::data, Kind::all_gather), scaled(whole, 1, 2));
}

TEST(Wires, GradientsAreAddedUpInTheirOwnType) {
  const std::string wide = workload_text() + "gradient_type: fp32\n";
  for (const std::string zero : {"0", "1", "2", "3"}) {
    for (const char* const gather : {"layer", "operator"}) {
      const std::string strategy = "data: 2\nzero: " + zero + "\ngather: " + gather + "\n";
      const Planned kept = planned(strategy, machine_text(), wide);
      const Planned narrow = planned(strategy + "wires: {gradients: fp16}\n", machine_text(), wide);
      const Phase phase = zero < "2" ? Phase::update : Phase::backward;
      const Kind kind = zero == "0" ? Kind::all_reduce : Kind::reduce_scatter;
      const Sent whole = sent_in(kept, phase, Group::data, kind);
      EXPECT_FALSE(whole.empty());
      EXPECT_EQ(sent_in(narrow, phase, Group::data, kind), scaled(whole, 1, 2)) << strategy;
      EXPECT_EQ(narrow.plan.stages[0].memory.gradients, kept.plan.stages[0].memory.gradients);
    }
  }
}

TEST(Wires, TensorGroupsGatherAndAddUpInTheirOwnTypes) {
  for (const char* const beside : {"false", "true"}) {
    const std::string strategy =
        std::string("tensor: 2\nsequence_parallel: true\nasync_tensor: ") + beside + "\n";
    const Planned kept = planned(strategy);
    const Planned narrow = planned(strategy + "wires: {tensor_gathers: fp8, tensor_sums: fp32}\n");
    for (const Phase phase : {Phase::forward, Phase::backward}) {
      const Sent gathered = sent_in(kept, phase, Group::tensor, Kind::all_gather);
      const Sent summed = sent_in(kept, phase, Group::tensor, Kind::reduce_scatter);
      EXPECT_FALSE(gathered.empty());
      EXPECT_FALSE(summed.empty());
      EXPECT_EQ(sent_in(narrow, phase, Group::tensor, Kind::all_gather), scaled(gathered, 1, 2));
      EXPECT_EQ(sent_in(narrow, phase, Group::tensor, Kind::reduce_scatter), scaled(summed, 2, 1));
    }
  }
}

// Where stages end in partial sums, these are added up behind them in the same type.
TEST(Wires, PartialSumsOfABoundaryAreAddedUpInTheTypeOfSums) {
  const std::string strategy = "pipeline: 8\ntensor: 2\nboundary: reduced\n";
  const auto summed = [&](const std::string& wires) {
    Planned work = planned(strategy + wires);
    work.plan.stages[0] = std::move(work.plan.stages[3]);
    return sent_in(work, Phase::forward, Group::tensor, Kind::all_reduce);
  };
  EXPECT_FALSE(summed("").empty());
  EXPECT_EQ(summed("wires: {tensor_sums: fp32}\n"), scaled(summed(""), 2, 1));
}

}  // namespace
}  // namespace tessera::plan::wires_test
