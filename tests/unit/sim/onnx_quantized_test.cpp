// Quantised models over tiles, and attention with a causal mask.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../onnx/model.hpp"
#include "tessera/config/document.hpp"
#include "tessera/plan/sharder.hpp"
#include "tessera/sim/onnx/layers.hpp"

namespace tessera::sim::onnx_quantized_test {
namespace {

using onnx::Level;
using onnx::ModelMaker;
using onnx::Numbers;
using onnx::set;
using workload::Layer;
using workload::Operator;
using workload::Sharding;
using workload::Workload;

constexpr int int8 = 3;
constexpr int float8 = 17;
constexpr int int4 = 22;

Workload lower(const ModelMaker& model, Level level, DataType data_type = DataType::fp16) {
  onnx::Graph graph = model.read().graph;
  onnx::optimize(graph, level);
  return layers_of(graph, data_type);
}

// Of a workload that lives longer.
const Operator& operator_of(const Workload& workload, std::string_view name) {
  for (const Layer& layer : workload.layers) {
    for (const Operator& op : layer.operators) {
      if (op.name == name) {
        return op;
      }
    }
  }
  throw InternalError("there is no operator " + std::string(name));
}

plan::Strategy strategy_of(std::uint32_t tensor) {
  plan::Strategy strategy;
  strategy.degrees.tensor = tensor;
  return strategy;
}

// An MLP of one layer whose operands are all quantised, with a scale for each column of weights.
class Mlp : public ModelMaker {
 public:
  explicit Mlp(int type) : ModelMaker(21), type_(type) {
    input("x", {1, 8, 16});
    real("scale", 0.5F);
    product("up", both("x"), 16, 64);
    node("Relu", {"up"}, {"active"}, "relu");
    product("down", both("active"), 64, 16);
    output(both("down"));
  }

 private:
  std::string both(const std::string& from) {
    weight(from + ".zero", {}, type_);
    node("QuantizeLinear", {from, "scale", from + ".zero"}, {from + ".narrow"}, from + ".narrow");
    node("DequantizeLinear", {from + ".narrow", "scale", from + ".zero"}, {from + ".wide"},
         from + ".wide");
    return from + ".wide";
  }
  void product(const std::string& name, const std::string& from, std::int64_t depth,
               std::int64_t columns) {
    weight(name + ".w", {depth, columns}, type_);
    weight(name + ".scale", {columns});
    set(node("DequantizeLinear", {name + ".w", name + ".scale"}, {name + ".wide_w"},
             name + ".wide_w"),
        "axis", 1);
    node("MatMul", {from, name + ".wide_w"}, {name}, name);
  }
  int type_;
};

TEST(QuantisedLayers, MultiplyInTheTypeOfTheirOperands) {
  for (const auto& [type, multiplied] :
       {std::pair(int8, DataType::int8), {float8, DataType::fp8}}) {
    const Workload workload = lower(Mlp(type), Level::extended);
    const Operator& up = operator_of(workload, "up");
    EXPECT_EQ(up.own_type, multiplied);
    EXPECT_EQ(up.product, (workload::MatrixProduct{8, 64, 16, 1}));
    // 8 * 16 bytes as elements of two bytes, and an output likewise.
    EXPECT_EQ(up.input_elements, 8U * 16 / 2);
    EXPECT_EQ(up.output_elements, 8U * 64 / 2);
  }
}

// One byte each, a scale of the workload's type for each column, and the zero point of the output.
// The scale of all and the zero point of the input, 2 + 1 bytes, are those of the input's node.
TEST(QuantisedLayers, ReadWeightsAtTheirOwnSize) {
  const Workload workload = lower(Mlp(int8), Level::extended);
  const Operator& up = operator_of(workload, "up");
  EXPECT_EQ(up.weight_bytes,
            (workload::WeightBytes{Bytes(16 * 64 + 64 * 2 + 1), Bytes(1), Bytes(2 + 1)}));
  const plan::Strategy strategy = strategy_of(2);
  const plan::Sharder sharder(workload, strategy);
  EXPECT_EQ(sharder.held_weights(up), Bytes(16 * 32 + 32 * 2 + 1));
  const workload::Operation operation = sharder.forward(up);
  EXPECT_EQ(operation.data_type, DataType::int8);
  EXPECT_EQ(operation.product, (workload::MatrixProduct{8, 32, 16, 1}));
  const Bytes read = sharder.held_weights(up) + Bytes(2);  // half of what is shared, rounded up
  EXPECT_EQ(operation.stored_weights, read);
  EXPECT_EQ(operation.bytes, read + Bytes(8 * 16 + 8 * 32));
  EXPECT_EQ(operation.added, Bytes());  // nothing is cast
}

TEST(QuantisedLayers, AreCutInPairs) {
  const Workload workload = lower(Mlp(int8), Level::extended);
  EXPECT_EQ(operator_of(workload, "up").sharding, Sharding::column);
  const Operator& down = operator_of(workload, "down");
  EXPECT_EQ(down.sharding, Sharding::row);
  // Four bytes of a partial sum, as elements of two.
  EXPECT_EQ(down.forward_all_reduce_elements, 2U * 8 * 16);
  // A scale for each column of a product that is cut by its depth is with every member.
  EXPECT_EQ(down.weight_bytes->replicated, Bytes(16 * 2 + 1));
}

// [8, 32] by weights of `type` that a DequantizeLinear widens in blocks of 16 of the depth.
ModelMaker weight_only(int type) {
  ModelMaker model(21);
  model.input("x", {1, 8, 32});
  model.weight("w", {32, 64}, type);
  model.weight("scale", {2, 64});
  auto* const node = model.node("DequantizeLinear", {"w", "scale"}, {"wide"});
  set(node, "axis", 0);
  set(node, "block_size", 16);
  model.node("MatMul", {"x", "wide"}, {"y"}, "product");
  model.output("y");
  return model;
}

TEST(WeightsOfFewBits, AreMultipliedInTheTypeOfActivations) {
  for (const auto& [type, bits] : {std::pair(int8, 8U), {float8, 8U}, {int4, 4U}}) {
    const Workload workload = lower(weight_only(type), Level::extended);
    const Operator& op = operator_of(workload, "product");
    EXPECT_FALSE(op.own_type.has_value());
    EXPECT_EQ(op.parameters, 32U * 64 + 2 * 64);
    EXPECT_EQ(op.weight_bytes->parameters, Bytes(32 * 64 * bits / 8 + 2 * 64 * 2));
    EXPECT_EQ(op.input_elements, 8U * 32);
    const plan::Strategy strategy = strategy_of(1);
    const plan::Sharder sharder(workload, strategy);
    EXPECT_EQ(sharder.forward(op).data_type, DataType::fp16);
    EXPECT_EQ(sharder.forward(op).bytes,
              op.weight_bytes->parameters + Bytes(2 * (8 * 32 + 8 * 64)));
  }
}

// Without a level that has the product widen them they are read packed, and written wide.
TEST(WeightsOfFewBits, AreWidenedByAnOperatorOfItsOwn) {
  const Workload workload = lower(weight_only(int4), Level::none);
  const Operator& widening = operator_of(workload, "DequantizeLinear#0");
  EXPECT_EQ(widening.weight_bytes->parameters, Bytes(32 * 64 / 2 + 2 * 64 * 2));
  EXPECT_EQ(widening.output_elements, 32U * 64);
  EXPECT_FALSE(operator_of(workload, "product").weight_bytes.has_value());
}

TEST(WeightsOfFewBits, DoNotSayWhatIsComputedIn) {
  for (const int type : {int8, float8, int4}) {
    EXPECT_EQ(data_type_of(weight_only(type).read().graph), DataType::fp32);
  }
  ModelMaker whole(21);
  whole.input("x", {1, 8, 32}, float8);
  whole.weight("w", {32, 64}, float8);
  whole.node("QLinearMatMul", {"x", "", "", "w", "", "", "", ""}, {"y"});
  whole.output("y");
  EXPECT_EQ(data_type_of(whole.read().graph), DataType::fp8);
}

TEST(IntegerOperators, AreTakenAsTheyAre) {
  ModelMaker model(21);
  model.input("x", {2, 8}, int8);
  model.weight("w", {8, 4}, int8);
  model.node("MatMulInteger", {"x", "w"}, {"y"}, "product");
  model.input("image", {1, 4, 6, 6}, int8);
  model.weight("kernel", {8, 4, 3, 3}, int8);
  model.node("ConvInteger", {"image", "kernel"}, {"z"}, "convolution");
  model.output("y");
  model.output("z");
  const Workload workload = lower(model, Level::none);
  const Operator& product = operator_of(workload, "product");
  EXPECT_EQ(product.own_type, DataType::int8);
  EXPECT_EQ(product.weight_bytes->parameters, Bytes(8 * 4));
  EXPECT_EQ(product.output_elements, 2U * 2 * 4);  // int32
  const Operator& convolution = operator_of(workload, "convolution");
  EXPECT_EQ(convolution.own_type, DataType::int8);
  EXPECT_EQ(convolution.weight_bytes->parameters, Bytes(8 * 4 * 9));
}

ModelMaker attention(std::int64_t keys, bool causal, std::int64_t value_width = 8) {
  ModelMaker model(23);
  model.input("q", {1, 4, 12, 8});
  model.input("k", {1, 4, keys, 8});
  model.input("v", {1, 4, keys, value_width});
  set(model.node("Attention", {"q", "k", "v"}, {"y"}, "attention"), "is_causal", causal ? 1 : 0);
  model.output("y");
  return model;
}

std::uint64_t products_of(const Workload& workload) {
  std::uint64_t flops = 0;
  for (const Layer& layer : workload.layers) {
    for (const Operator& op : layer.operators) {
      flops += op.is_matrix_product() ? op.forward_flops.count() : 0;
    }
  }
  return flops;
}

// Half of the square of the queries; keys that do not come from a cache and that no query comes to
// are seen by none.
TEST(CausalAttention, LeavesOutWhatTheMaskHides) {
  const auto cost = [](const ModelMaker& model) { return onnx::total_cost(model.read().graph); };
  const onnx::Cost whole = cost(attention(12, false));
  const onnx::Cost half = cost(attention(12, true));
  EXPECT_EQ(half.matrix + half.matrix, whole.matrix);
  EXPECT_EQ(half.vector + half.vector, whole.vector);
  EXPECT_EQ(half.traffic(), whole.traffic());
  EXPECT_EQ(cost(attention(20, true)).matrix, half.matrix);
  ModelMaker one(23);
  one.input("q", {1, 4, 1, 8});
  one.input("k", {1, 4, 20, 8});
  set(one.node("Attention", {"q", "k", "k"}, {"y"}), "is_causal", 1);
  EXPECT_EQ(cost(one).matrix, Flops(4 * 1 * 2 * 2 * 8));
  for (const std::int64_t width : {8, 5}) {
    for (const std::int64_t keys : {12, 20}) {
      const ModelMaker model = attention(keys, true, width);
      EXPECT_EQ(products_of(lower(model, Level::none)), cost(model).matrix.count());
    }
  }
}

// As flash attention of transformers has it with `causal: true`.
TEST(CausalAttention, IsThatOfTheTransformer) {
  config::Diagnostics diagnostics;
  config::Section section(
      config::parse("gpt.yaml",
                    "{kind: transformer, layers: 1, hidden: 32, heads: 4, sequence: 12, "
                    "attention: flash, causal: true, vocabulary: 64, batch: 1, mode: inference}",
                    diagnostics),
      "", diagnostics);
  const auto transformer = workload::read_workload(section);
  diagnostics.throw_if_any();
  const Workload model = lower(attention(12, true), Level::none);
  EXPECT_EQ(operator_of(*transformer, "attention").forward_flops.count(), products_of(model));
}

// The tables of rotary positions are as long as the longest context and kept whole; a pass reads
// the rows of its tokens.
TEST(TablesOfPositions, AreReadByTheRow) {
  const auto read_with = [](std::int64_t rows) {
    ModelMaker model;
    model.add_opset("com.microsoft", 1);
    for (const char* const side : {"q", "k", "v"}) {
      model.input(side, {4, 3, std::string(side) == "q" ? 32 * 16 : 8 * 16});
    }
    model.input("past_k", {4, 8, 97, 16});
    model.input("past_v", {4, 8, 97, 16});
    model.input("lengths", {4}, 6);
    model.input("longest", {1}, 6);
    model.weight("cos", {rows, 8});
    model.weight("sin", {rows, 8});
    auto* const node =
        model.node("GroupQueryAttention",
                   {"q", "k", "v", "past_k", "past_v", "lengths", "longest", "cos", "sin"},
                   {"y", "present_k", "present_v"}, "attention");
    node->set_domain("com.microsoft");
    set(node, "num_heads", 32);
    set(node, "kv_num_heads", 8);
    model.output("y");
    const Workload workload = lower(model, Level::none);
    EXPECT_EQ(workload.parameters(), 2U * static_cast<std::uint64_t>(rows) * 8);
    const Operator& op = operator_of(workload, "attention/attention");
    const plan::Strategy strategy = strategy_of(1);
    const plan::Sharder sharder(workload, strategy);
    return sharder.forward(op).bytes;
  };
  const Bytes few = read_with(1024);
  EXPECT_EQ(read_with(131'072), few);
  // Four sequences of three tokens, whose rows are of eight elements.
  EXPECT_EQ(few - read_with(2), Bytes(2 * 2 * 8 * (4 * 3 - 2)));
}

}  // namespace
}  // namespace tessera::sim::onnx_quantized_test
