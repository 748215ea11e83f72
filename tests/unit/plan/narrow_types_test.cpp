// Types of the inputs of products with their scales, of master weights and of moments.

#include <gtest/gtest.h>

#include <string>

#include "planning.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::plan::narrow_types_test {
namespace {

using testing::machine_text;
using testing::planned;
using testing::Planned;
using testing::workload_text;

std::string eight_bits() {
  std::string machine = machine_text();
  const std::string peak = "fp16: 1 TFLOP/s";
  machine.replace(machine.find(peak), peak.size(), peak + ", fp8: 2 TFLOP/s");
  return machine;
}

Planned with_products(const std::string& keys, const std::string& strategy = "") {
  return planned(strategy, eight_bits(), workload_text() + keys);
}

const workload::Operator& product_of(const Planned& work) {
  for (const workload::Operator& op : work.workload.layers[2].operators) {
    if (op.narrow) {
      return op;
    }
  }
  throw std::out_of_range("a narrow product");
}

Bytes cast_for(const Planned& work) {
  const Sharder sharder(work.workload, work.plan.strategy);
  return sharder.forward(product_of(work)).added;
}

// Read wide, and written twice with a scale for each block.
TEST(NarrowTypes, CastsWriteScales) {
  constexpr std::uint64_t inputs = 32 * 64;
  EXPECT_EQ(cast_for(with_products("product_type: fp8\n")), Bytes(inputs * (2 + 2)));
  EXPECT_EQ(cast_for(with_products("product_type: mxfp8\n")),
            Bytes(inputs * (2 + 2) + 2 * inputs / 32));
  EXPECT_EQ(cast_for(with_products("product_type: fp8\nproduct_group_size: 64\n")),
            Bytes(inputs * (2 + 2) + 2 * 4 * inputs / 64));
}

TEST(NarrowTypes, InputsAreKeptWithScales) {
  const auto kept = [](const std::string& type) {
    const Planned work = with_products(type, "software: {narrow_inputs: narrow}\n");
    return memory_of_layer(work.workload, work.plan.strategy, work.workload.layers[2]).stored;
  };
  constexpr std::uint64_t inputs = 32 * 64 * (3 + 4);  // of the four products of a layer
  EXPECT_EQ(kept("product_type: mxfp8\n") - kept("product_type: fp8\n"), Bytes(inputs / 32));
}

TEST(NarrowTypes, BlocksAreMultipliedAsTheirElementsUnlessStated) {
  const Planned plain = with_products("product_type: fp8\n");
  const Planned blocks = with_products("product_type: mxfp8\n");
  EXPECT_EQ(blocks.machine.tile.rate(DataType::mxfp8), blocks.machine.tile.rate(DataType::fp8));
  EXPECT_EQ(blocks.ideal_time(), plain.ideal_time());
  std::string machine = eight_bits();
  machine.replace(machine.find("fp8: 2"), 6, "mxfp8: 1 TFLOP/s, fp8: 2");
  const Planned slower = planned("", machine, workload_text() + "product_type: mxfp8\n");
  EXPECT_GT(slower.ideal_time(), plain.ideal_time());
}

TEST(NarrowTypes, StateOfTheOptimizerIsInItsTypes) {
  const auto optimizer = [](const std::string& keys) {
    return planned("", machine_text(), workload_text() + keys).plan.stages[0].memory.optimizer;
  };
  const Bytes whole = optimizer("");  // 12 bytes a parameter
  EXPECT_EQ(optimizer("moment_type: bf16\n") * 12, whole * 8);
  EXPECT_EQ(optimizer("moment_type: fp8\n") * 12, whole * 6);
  EXPECT_EQ(optimizer("master_type: bf16\n") * 12, whole * 8) << "weights are their own master";
  EXPECT_EQ(optimizer("master_type: bf16\nmoment_type: bf16\n") * 12, whole * 4);
}

// State and weights twice, gradients once: 12 + 2 a parameter read and written, 2 read.
TEST(NarrowTypes, UpdatesMoveWhatIsKept) {
  const auto moved = [](const std::string& keys) {
    const Planned work = planned("", machine_text(), workload_text() + keys);
    LayerBytes all;
    const Sharder sharder(work.workload, work.plan.strategy);
    for (const workload::Layer& layer : work.workload.layers) {
      all += sharder.bytes_of(layer);
    }
    return update_of(work.workload, all.optimizer, all.updated_weights, all.updated_gradients)
               .operation.bytes.count() /
           work.workload.parameters();
  };
  EXPECT_EQ(moved(""), 2U * 14 + 2);
  EXPECT_EQ(moved("moment_type: bf16\n"), 2U * 10 + 2);
  EXPECT_EQ(moved("update: eager\n"), 92U);
  EXPECT_EQ(moved("update: eager\nmoment_type: bf16\n"), 92U - 10 * 2);
  EXPECT_EQ(moved("update: eager\nmaster_type: bf16\n"), 92U - 2 * 2);
}

// Where the optimizer has no weights of its own, fully_shard gathers from those that are held.
TEST(NarrowTypes, FullyShardHoldsWeightsThatAreTheirOwnMaster) {
  const auto weights = [](const std::string& keys) {
    return planned("data: 2\nzero: 3\nsoftware: {sharding: fsdp2}\n", machine_text(),
                   workload_text() + keys)
        .plan.stages[0]
        .memory.weights;
  };
  EXPECT_EQ(weights(""), Bytes(0));
  EXPECT_GT(weights("master_type: fp16\n"), Bytes(0));
}

}  // namespace
}  // namespace tessera::plan::narrow_types_test
