#include "tessera/sim/onnx/layers.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "../onnx/model.hpp"
#include "tessera/config/document.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/model_cache.hpp"

namespace tessera::sim::onnx_layers_test {
namespace {

using onnx::Level;
using onnx::ModelMaker;
using onnx::Numbers;
using onnx::set;
using workload::Layer;
using workload::Operator;
using workload::Sharding;
using workload::Workload;

constexpr std::int64_t tokens = 16;
constexpr std::int64_t width = 64;
constexpr std::int64_t heads = 4;

// One transformer layer or more, written as exporters write them.
class Transformer : public ModelMaker {
 public:
  Transformer() {
    input("x", {1, tokens, width});
    real("half", 0.5F);
    numbers("last", {-1});
  }

  std::string linear(const std::string& from, const std::string& name, std::int64_t inputs,
                     std::int64_t outputs) {
    weight(name + ".weight", {inputs, outputs});
    weight(name + ".bias", {outputs});
    node("MatMul", {from, name + ".weight"}, {name + ".product"}, name);
    node("Add", {name + ".product", name + ".bias"}, {name}, name + ".sum");
    return name;
  }

  std::string norm(const std::string& from, const std::string& name) {
    weight(name + ".weight", {width});
    weight(name + ".bias", {width});
    node("LayerNormalization", {from, name + ".weight", name + ".bias"}, {name}, name);
    return name;
  }

  std::string split_heads(const std::string& from, std::int64_t count) {
    numbers(from + ".sides", {1, tokens, count, width / heads});
    node("Reshape", {from, from + ".sides"}, {from + ".wide"}, from + ".reshape");
    set(node("Transpose", {from + ".wide"}, {from + ".heads"}, from + ".turn"), "perm",
        Numbers{0, 2, 1, 3});
    return from + ".heads";
  }

  std::string attend(const std::string& q, const std::string& k, const std::string& v,
                     const std::string& name) {
    set(node("Transpose", {k}, {name + ".keys"}, name + ".keys"), "perm", Numbers{0, 1, 3, 2});
    node("MatMul", {q, name + ".keys"}, {name + ".scores"}, name + ".scores");
    node("Mul", {name + ".scores", "half"}, {name + ".scaled"}, name + ".scaled");
    set(node("Softmax", {name + ".scaled"}, {name + ".weights"}, name + ".softmax"), "axis", -1);
    node("MatMul", {name + ".weights", v}, {name + ".values"}, name + ".values");
    set(node("Transpose", {name + ".values"}, {name + ".turned"}, name + ".turned"), "perm",
        Numbers{0, 2, 1, 3});
    numbers(name + ".sides", {1, tokens, width});
    node("Reshape", {name + ".turned", name + ".sides"}, {name}, name + ".reshape");
    return name;
  }

  // Each key's head for as many of queries as there are more.
  std::string repeat(const std::string& from, std::int64_t count) {
    numbers(from + ".axis", {2});
    numbers(from + ".times", {1, count, heads / count, tokens, width / heads});
    numbers(from + ".flat", {1, heads, tokens, width / heads});
    node("Unsqueeze", {from, from + ".axis"}, {from + ".thin"}, from + ".thin");
    node("Expand", {from + ".thin", from + ".times"}, {from + ".many"}, from + ".many");
    node("Reshape", {from + ".many", from + ".flat"}, {from + ".all"}, from + ".all");
    return from + ".all";
  }

  std::string attention(const std::string& from, const std::string& name,
                        std::int64_t kv_heads = heads) {
    const std::int64_t kv = kv_heads * width / heads;
    const std::string q = split_heads(linear(from, name + ".q", width, width), heads);
    std::string k = split_heads(linear(from, name + ".k", width, kv), kv_heads);
    std::string v = split_heads(linear(from, name + ".v", width, kv), kv_heads);
    if (kv_heads < heads) {
      k = repeat(k, kv_heads);
      v = repeat(v, kv_heads);
    }
    return linear(attend(q, k, v, name + ".attention"), name + ".output", width, width);
  }

  std::string fused_attention(const std::string& from, const std::string& name) {
    const std::string qkv = linear(from, name + ".qkv", width, 3 * width);
    set(node("Split", {qkv}, {name + ".q", name + ".k", name + ".v"}, name + ".split"), "axis", 2);
    std::map<std::string, std::string> parts;
    for (const char* part : {".q", ".k", ".v"}) {
      parts[part] = split_heads(name + part, heads);
    }
    return linear(attend(parts[".q"], parts[".k"], parts[".v"], name + ".attention"),
                  name + ".output", width, width);
  }

  std::string mlp(const std::string& from, const std::string& name) {
    const std::string up = linear(from, name + ".up", width, 4 * width);
    node("Relu", {up}, {name + ".active"}, name + ".relu");
    return linear(name + ".active", name + ".down", 4 * width, width);
  }

  std::string gated_mlp(const std::string& from, const std::string& name) {
    const std::string gate = linear(from, name + ".gate", width, 4 * width);
    const std::string up = linear(from, name + ".up", width, 4 * width);
    node("Sigmoid", {gate}, {name + ".sigmoid"}, name + ".sigmoid");
    node("Mul", {gate, name + ".sigmoid"}, {name + ".silu"}, name + ".silu");
    node("Mul", {name + ".silu", up}, {name + ".gated"}, name + ".gated");
    return linear(name + ".gated", name + ".down", 4 * width, width);
  }

  std::string sum(const std::string& a, const std::string& b) {
    node("Add", {a, b}, {b + ".skip"}, b + ".skip");
    return b + ".skip";
  }
};

Workload lower(const ModelMaker& model, Level level = Level::none) {
  onnx::Graph graph = model.read().graph;
  onnx::optimize(graph, level);
  return layers_of(graph, DataType::fp16);
}

// Operators of a workload that lives longer.
std::vector<const Operator*> operators_of(const Workload& workload) {
  std::vector<const Operator*> all;
  for (const Layer& layer : workload.layers) {
    for (const Operator& op : layer.operators) {
      all.push_back(&op);
    }
  }
  return all;
}
std::vector<const Operator*> operators_of(Workload&&) = delete;

// "column linear" and so on, each so many times; vector work by its sharding alone.
std::map<std::string, int> counts_of(const Workload& workload) {
  std::map<std::string, int> counts;
  for (const Operator* op : operators_of(workload)) {
    ++counts[to_string(op->sharding) + (op->is_matrix_product() ? " " + op->kind : "")];
  }
  return counts;
}

std::uint64_t all_reduced(const Workload& workload) {
  std::uint64_t sum = 0;
  for (const Operator* op : operators_of(workload)) {
    sum += op->forward_all_reduce_elements;
  }
  return sum;
}

void expect_totals(const onnx::Graph& graph) {
  const Workload workload = layers_of(graph, DataType::fp16);
  const onnx::Cost cost = onnx::total_cost(graph);
  EXPECT_EQ(workload.flops_per_sample(), cost.flops());
  EXPECT_EQ(workload.parameters(), cost.parameters);
  Flops matrix;
  for (const Layer& layer : workload.layers) {
    matrix += layer.matrix_flops();
  }
  EXPECT_EQ(matrix, cost.matrix);
}

struct RealModel {
  const char* file;
  onnx::ImportOptions options;
};

std::vector<RealModel> real_models() {
  onnx::ImportOptions text;
  text.dimensions = {{"batch", 1}, {"sequence", 32}};
  onnx::ImportOptions cached = text;
  cached.dimensions["past"] = 16;
  cached.dimensions["total"] = 48;
  onnx::ImportOptions image;
  image.dimensions = {{"batch", 1}};
  onnx::ImportOptions line;
  line.shapes = {{"x", {1, 3, 48, 192}}};
  onnx::ImportOptions page;
  page.shapes = {{"x", {1, 3, 320, 320}}};
  onnx::ImportOptions sound;
  sound.dimensions = {{"input.0", 1}, {"input.1", 512}, {"state.1", 1}};
  sound.values = {{"sr", {16000}}};
  return {{"bert_base", text},     {"gpt3_small", cached},  {"resnet50", image},
          {"pp_ocr_v2_cls", line}, {"pp_ocr_v4_det", page}, {"silero_vad_v5", sound}};
}

TEST(LayersOfModels, HaveTheFlopsAndParametersThatImportPrints) {
  for (const RealModel& real : real_models()) {
    for (const std::string& level : onnx::level_names()) {
      SCOPED_TRACE(std::string(real.file) + " " + level);
      onnx::Graph graph =
          onnx::import_model(std::string(TESSERA_ONNX_MODELS "/") + real.file + ".onnx",
                             real.options)
              .graph;
      onnx::optimize(graph, onnx::level_from(level));
      expect_totals(graph);
    }
  }
}

// Every tensor that crosses the end of a layer is counted; one alone does between residual blocks.
TEST(LayersOfModels, EndWhereLittleCrosses) {
  onnx::ImportOptions options;
  options.dimensions = {{"batch", 1}};
  const Workload workload = layers_of(
      onnx::import_model(TESSERA_ONNX_MODELS "/resnet50.onnx", options).graph, DataType::fp16);
  // Stem, 16 blocks, the last product.
  ASSERT_EQ(workload.layers.size(), 18U);
  EXPECT_EQ(workload.layers[0].boundary_elements, 64U * 56 * 56);
  EXPECT_EQ(workload.layers[1].boundary_elements, 256U * 56 * 56);
  EXPECT_EQ(workload.layers[15].boundary_elements, 2048U * 7 * 7);
  EXPECT_EQ(workload.layers[16].boundary_elements, 2048U);
  EXPECT_EQ(workload.layers[17].boundary_elements, 0U);
}

// The mask goes through all stages that need it, beside the activation.
TEST(LayersOfModels, PassOnWhatLaterLayersRead) {
  onnx::ImportOptions options;
  options.dimensions = {{"batch", 1}, {"sequence", 32}};
  const Workload workload = layers_of(
      onnx::import_model(TESSERA_ONNX_MODELS "/bert_base.onnx", options).graph, DataType::fp16);
  // Words, 12 layers of attention and MLP, the pooler.
  ASSERT_EQ(workload.layers.size(), 14U);
  EXPECT_EQ(workload.layers[0].boundary_elements, 32U * 768);
  EXPECT_EQ(workload.layers[1].boundary_elements, 32U * 768 + 32);
  EXPECT_EQ(workload.layers[11].boundary_elements, 32U * 768 + 32);
  EXPECT_EQ(workload.layers[12].boundary_elements, 768U);  // the first token
}

TEST(TensorCuts, PairColumnsAndRowsOfAnMlp) {
  Transformer model;
  model.output(model.sum("x", model.mlp(model.norm("x", "norm"), "mlp")));
  for (const std::string& level : onnx::level_names()) {
    SCOPED_TRACE(level);
    const Workload workload = lower(model, onnx::level_from(level));
    const auto counts = counts_of(workload);
    EXPECT_EQ(counts.at("column linear"), 1);
    EXPECT_EQ(counts.at("row linear"), 1);
    EXPECT_EQ(all_reduced(workload), static_cast<std::uint64_t>(tokens * width));
  }
}

TEST(TensorCuts, PairTheTwoColumnsOfAGate) {
  Transformer model;
  model.output(model.sum("x", model.gated_mlp(model.norm("x", "norm"), "mlp")));
  for (const std::string& level : onnx::level_names()) {
    SCOPED_TRACE(level);
    const auto counts = counts_of(lower(model, onnx::level_from(level)));
    EXPECT_EQ(counts.at("column linear"), 2);
    EXPECT_EQ(counts.at("row linear"), 1);
  }
}

TEST(TensorCuts, TakeAttentionByHeads) {
  Transformer model;
  model.output(model.sum("x", model.attention(model.norm("x", "norm"), "a")));
  for (const std::string& level : onnx::level_names()) {
    SCOPED_TRACE(level);
    const Workload workload = lower(model, onnx::level_from(level));
    const auto counts = counts_of(workload);
    EXPECT_EQ(counts.at("column linear"), 3);
    EXPECT_EQ(counts.at("row linear"), 1);
    EXPECT_EQ(counts.count("replicated linear"), 0U);
    for (const Operator* op : operators_of(workload)) {
      if (op->sharding == Sharding::heads && op->is_matrix_product()) {
        EXPECT_EQ(op->product.count, 4U) << op->name;
      }
    }
  }
}

TEST(TensorCuts, TakeFusedQueriesKeysAndValues) {
  Transformer model;
  model.output(model.sum("x", model.fused_attention(model.norm("x", "norm"), "a")));
  for (const std::string& level : onnx::level_names()) {
    SCOPED_TRACE(level);
    const auto counts = counts_of(lower(model, onnx::level_from(level)));
    EXPECT_EQ(counts.at("column linear"), 1);
    EXPECT_EQ(counts.at("row linear"), 1);
  }
}

// Two heads of keys and values cannot be shared out among four members, though four of queries can.
TEST(TensorCuts, KnowHeadsOfKeysAndValues) {
  Transformer model;
  model.output(model.sum("x", model.attention(model.norm("x", "norm"), "a", 2)));
  for (const std::string& level : onnx::level_names()) {
    SCOPED_TRACE(level);
    int products = 0;
    const Workload lowered = lower(model, onnx::level_from(level));
    for (const Operator* op : operators_of(lowered)) {
      if (op->sharding == Sharding::heads && op->is_matrix_product()) {
        EXPECT_EQ(op->kv_heads, 2U) << op->name;
        ++products;
      }
    }
    EXPECT_GT(products, 0);
  }
}

// A norm over the cut columns needs them all: nothing is cut.
TEST(TensorCuts, StopAtNormsOfColumns) {
  Transformer model;
  const std::string up = model.linear("x", "up", width, width);
  model.output(model.linear(model.norm(up, "norm"), "down", width, width));
  const auto counts = counts_of(lower(model));
  EXPECT_EQ(counts.at("replicated linear"), 2);
  EXPECT_EQ(counts.count("column linear"), 0U);
}

// Vector work on cut columns is cut as they are, its bias with it; a bias behind rows is not.
TEST(TensorCuts, CutBiasesWithTheirColumns) {
  Transformer model;
  model.output(model.mlp("x", "mlp"));
  const Workload lowered = lower(model, Level::basic);
  for (const Operator* op : operators_of(lowered)) {
    if (op->name == "mlp.up" || op->name == "mlp.up.sum") {
      EXPECT_EQ(op->replicated_parameters, 0U);
    } else if (op->sharding == Sharding::row) {
      EXPECT_EQ(op->replicated_parameters, static_cast<std::uint64_t>(width));
    }
  }
}

// A stage boundary would cut heads or hidden columns.
TEST(TensorCuts, StayInOneLayer) {
  Transformer model;
  std::string x = "x";
  for (const char* name : {"0", "1", "2"}) {
    x = model.sum(
        x, model.attention(model.norm(x, std::string("norm") + name), std::string("a") + name));
    x = model.sum(x,
                  model.mlp(model.norm(x, std::string("other") + name), std::string("m") + name));
  }
  model.output(x);
  const Workload workload = lower(model);
  for (const Layer& layer : workload.layers) {
    std::map<Sharding, int> found;
    for (const Operator& op : layer.operators) {
      ++found[op.sharding];
    }
    EXPECT_EQ(found[Sharding::row], 2) << layer.name;
    EXPECT_EQ(found[Sharding::column], 4) << layer.name;
  }
  EXPECT_EQ(workload.layers.size(), 3U);
}

TEST(SharedWeights, AreCountedOnce) {
  ModelMaker model;
  model.input("ids", {1, tokens}, 7);
  model.weight("words", {1000, width});
  model.weight("inner", {width, width});
  model.node("Gather", {"words", "ids"}, {"x"}, "lookup");
  model.weight("gain", {width});
  model.node("MatMul", {"x", "inner"}, {"turned_x"}, "product");
  model.node("LayerNormalization", {"turned_x", "gain"}, {"y"}, "norm");
  set(model.node("Transpose", {"words"}, {"turned"}, "turn"), "perm", Numbers{1, 0});
  model.node("MatMul", {"y", "turned"}, {"scores"}, "scores");
  model.output("scores");
  const Workload workload = lower(model);
  std::uint64_t shared = 0;
  for (const Operator* op : operators_of(workload)) {
    shared += op->shared_parameters;
    if (op->name == "lookup") {
      EXPECT_EQ(op->sharding, Sharding::row);
      EXPECT_EQ(op->forward_all_reduce_elements, static_cast<std::uint64_t>(tokens * width));
    }
    if (op->name == "scores") {  // more columns than depth: its output stays cut
      EXPECT_EQ(op->sharding, Sharding::column);
    }
  }
  EXPECT_EQ(shared, 1000U * width);
  EXPECT_EQ(workload.parameters(), 1000U * width + width * width + width);
}

// What `transformer` makes of GPT-3 Small: the same FLOPs, products and sums over the tensor group.
// The head has weights of its own in both (from `optimize: basic` on the folded transposition is a
// copy); the file has a table of 2048 positions, `transformer` one of the sequence's.
TEST(LayersOfModels, AreThoseOfTheTransformer) {
  onnx::ImportOptions options;
  options.dimensions = {{"batch", 1}, {"sequence", 128}, {"past", 0}, {"total", 128}};
  onnx::Graph graph = onnx::import_model(TESSERA_ONNX_MODELS "/gpt3_small.onnx", options).graph;
  onnx::optimize(graph, Level::extended);
  const Workload model = layers_of(graph, DataType::fp16);

  config::Diagnostics diagnostics;
  config::Section section(
      config::parse("gpt.yaml",
                    "{kind: transformer, layers: 12, hidden: 768, heads: 12, sequence: 128, "
                    "vocabulary: 50257, tie_embeddings: false, batch: 1, mode: inference}",
                    diagnostics),
      "", diagnostics);
  const auto transformer = workload::read_workload(section);
  diagnostics.throw_if_any();
  ASSERT_TRUE(transformer.has_value());

  const auto products = [](const Workload& workload) {
    std::uint64_t flops = 0;
    for (const Layer& layer : workload.layers) {
      flops += layer.matrix_flops().count();
    }
    return flops;
  };
  EXPECT_EQ(products(model), products(*transformer));
  EXPECT_EQ(model.parameters() - (2048 - 128) * 768, transformer->parameters());
  EXPECT_EQ(all_reduced(model), all_reduced(*transformer));
  EXPECT_EQ(model.flops_per_sample(), transformer->flops_per_sample());
}

// A model that was read is not read again for another strategy, but for other keys of its own.
TEST(LayersOfModels, AreReadOnceForManyStrategies) {
  Transformer maker;
  maker.output(maker.mlp("x", "mlp"));
  const std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) / "tessera_read_once.onnx";
  std::ofstream(file, std::ios::binary) << maker.bytes();
  const std::string text =
      "machine:\n"
      "  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 10 GB/s, latency: 1 ns}\n"
      "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 1 MB}\n"
      "workload: {kind: onnx, model: " +
      file.string() + ", data_type: fp16, samples: 4}\nstrategy: {}\n";
  ModelCache models;
  const auto read = [&](const std::vector<std::string>& overrides) {
    return read_experiment("e.yaml", overrides,
                           CachingLoader{[&](const std::string&) { return text; }, &models});
  };
  const Experiment first = read({});
  std::filesystem::remove(file);
  const Experiment second = read({"strategy.tensor=2"});
  EXPECT_EQ(second.plan().strategy.degrees.tensor, 2U);
  EXPECT_EQ(second.planned()->workload.parameters(), first.planned()->workload.parameters());
  EXPECT_EQ(second.planned()->workload.samples, 4U);
  EXPECT_THROW(read({"workload.optimize=all"}), ConfigError);
}

}  // namespace
}  // namespace tessera::sim::onnx_layers_test
