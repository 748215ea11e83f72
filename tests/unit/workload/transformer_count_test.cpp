// Parameters, FLOPs, activations and collectives of a transformer, against published counts and
// closed forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "read_text.hpp"

namespace tessera::workload::transformer_count_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Size {
  std::uint64_t layers;
  std::uint64_t hidden;
  std::uint64_t heads;
  std::uint64_t sequence;
  std::uint64_t vocabulary;
};

Workload transformer(const Size& size, const std::string& more = "") {
  const auto line = [](const char* key, std::uint64_t value) {
    return std::string(key) + ": " + std::to_string(value) + "\n";
  };
  const ReadResult result =
      read_text("kind: transformer\n" + line("layers", size.layers) + line("hidden", size.hidden) +
                line("heads", size.heads) + line("sequence", size.sequence) +
                line("vocabulary", size.vocabulary) + "batch: 1\n" + more);
  EXPECT_THAT(result.complaints, IsEmpty());
  return result.workload.value();
}

const Size gpt2_small{12, 768, 12, 1024, 50257};
const Size odd{3, 96, 6, 40, 1000};

// Radford et al., 2019: what the published weights hold.
TEST(Parameters, EqualThoseOfGpt2) {
  EXPECT_EQ(transformer(gpt2_small).parameters(), 124'439'808U);
  EXPECT_EQ(transformer({24, 1024, 16, 1024, 50257}).parameters(), 354'823'168U);
  EXPECT_EQ(transformer({36, 1280, 20, 1024, 50257}).parameters(), 774'030'080U);
  EXPECT_EQ(transformer({48, 1600, 25, 1024, 50257}).parameters(), 1'557'611'200U);
}

// 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)), equation (2) of arXiv:2104.04473, which leaves the
// final layer norm, 2 h, out.
TEST(Parameters, FollowTheFormulaOfMegatron) {
  for (const Size& size : {odd, gpt2_small, Size{24, 2304, 24, 2048, 51200}}) {
    const std::uint64_t l = size.layers;
    const std::uint64_t h = size.hidden;
    EXPECT_EQ(transformer(size).parameters(),
              12 * l * h * h + 13 * l * h + (size.vocabulary + size.sequence) * h + 2 * h);
  }
}

TEST(Parameters, OptionsAddAndRemoveWhatTheySay) {
  const std::uint64_t h = odd.hidden;
  const std::uint64_t full = transformer(odd).parameters();
  EXPECT_EQ(transformer(odd, "positions: none\n").parameters(), full - odd.sequence * h);
  EXPECT_EQ(transformer(odd, "tie_embeddings: false\n").parameters(), full + odd.vocabulary * h);
  EXPECT_EQ(transformer(odd, "biases: false\n").parameters(), full - odd.layers * 9 * h);
  EXPECT_EQ(
      transformer(odd, "query_key_norms: true\nnormalisation: rms_norm\n").parameters(),
      transformer(odd, "normalisation: rms_norm\n").parameters() + odd.layers * 2 * h / odd.heads);
  EXPECT_EQ(transformer(odd, "ffn: 100\n").parameters(),
            full - odd.layers * (2 * h + 1) * (4 * h - 100));
}

TEST(Parameters, ATiedHeadSharesTheEmbedding) {
  const Workload tied = transformer(odd);
  const Operator& head = find_operator(tied.layers.back(), "lm_head");
  EXPECT_EQ(head.parameters, 0U);
  EXPECT_EQ(head.shared_parameters, odd.vocabulary * odd.hidden);
  EXPECT_EQ(tied.layers.back().shared_parameters(),
            find_operator(tied.layers.front(), "word_embedding").parameters);
  const Workload untied = transformer(odd, "tie_embeddings: false\n");
  EXPECT_EQ(find_operator(untied.layers.back(), "lm_head").parameters, odd.vocabulary * odd.hidden);
  EXPECT_EQ(untied.layers.back().shared_parameters(), 0U);
}

TEST(Parameters, OnlyBiasesOfRowsStayWholeWhenCut) {
  const Workload workload = transformer(odd);
  for (const Layer& layer : workload.layers) {
    for (const Operator& op : layer.operators) {
      const bool row_bias = op.name == "attention_output" || op.name == "mlp_down";
      EXPECT_EQ(op.replicated_parameters, row_bias ? odd.hidden : 0) << op.name;
    }
  }
}

TEST(Structure, LayersAndOperatorsInOrder) {
  const Workload workload = transformer({2, 96, 6, 40, 1000});
  ASSERT_EQ(workload.layers.size(), 4U);
  EXPECT_EQ(workload.layers[0].name, "embedding");
  EXPECT_EQ(workload.layers[1].name, "layer 0");
  EXPECT_EQ(workload.layers[2].name, "layer 1");
  EXPECT_EQ(workload.layers[3].name, "head");
  EXPECT_THAT(names_of(workload.layers[0]),
              ElementsAre("word_embedding", "position_embedding", "embedding_dropout"));
  EXPECT_EQ(workload.layers[0].operators[0].kernel, Kernel::lookup);
  EXPECT_EQ(workload.layers[0].operators[1].kernel, Kernel::lookup);
  EXPECT_THAT(names_of(workload.layers[1]),
              ElementsAre("ln1", "qkv", "attention_scores", "softmax", "attention_dropout",
                          "attention_values", "attention_output", "skip1", "ln2", "mlp_up", "gelu",
                          "mlp_down", "skip2"));
  EXPECT_THAT(names_of(workload.layers[3]), ElementsAre("final_layer_norm", "lm_head", "loss"));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(workload.layers[i].boundary_elements, 40U * 96U);
  }
  EXPECT_EQ(workload.layers[3].boundary_elements, 0U);
}

TEST(Structure, ProductsOfOneLayer) {
  const Workload workload = transformer(odd);
  const Layer& layer = workload.layers[1];
  const auto shape_of = [&layer](const char* name) {
    const MatrixProduct& p = find_operator(layer, name).product;
    return std::vector<std::uint64_t>{p.rows, p.columns, p.depth, p.count};
  };
  EXPECT_THAT(shape_of("qkv"), ElementsAre(40, 288, 96, 1));
  EXPECT_THAT(shape_of("attention_scores"), ElementsAre(40, 40, 16, 6));
  EXPECT_THAT(shape_of("attention_values"), ElementsAre(40, 16, 40, 6));
  EXPECT_THAT(shape_of("attention_output"), ElementsAre(40, 96, 96, 1));
  EXPECT_THAT(shape_of("mlp_up"), ElementsAre(40, 384, 96, 1));
  EXPECT_THAT(shape_of("mlp_down"), ElementsAre(40, 96, 384, 1));
  EXPECT_FALSE(find_operator(layer, "gelu").is_matrix_product());
}

TEST(Structure, WhatAProductReadsAndWrites) {
  const Workload workload = transformer(odd);
  const Layer& layer = workload.layers[1];
  const std::uint64_t sh = odd.sequence * odd.hidden;
  const std::uint64_t weights = odd.heads * odd.sequence * odd.sequence;
  EXPECT_EQ(find_operator(layer, "qkv").input_elements, sh);
  EXPECT_EQ(find_operator(layer, "qkv").output_elements, 3 * sh);
  EXPECT_EQ(find_operator(layer, "attention_scores").input_elements, 2 * sh);
  EXPECT_EQ(find_operator(layer, "attention_scores").output_elements, weights);
  EXPECT_EQ(find_operator(layer, "attention_values").input_elements, weights + sh);
  EXPECT_EQ(find_operator(layer, "attention_values").output_elements, sh);
  EXPECT_EQ(find_operator(layer, "mlp_up").output_elements, 4 * sh);
  EXPECT_EQ(find_operator(workload.layers.back(), "lm_head").output_elements,
            odd.sequence * odd.vocabulary);
}

TEST(Flops, ForwardProductsOfALayer) {
  for (const Size& size : {odd, gpt2_small}) {
    const std::uint64_t s = size.sequence;
    const std::uint64_t h = size.hidden;
    const Workload workload = transformer(size);
    EXPECT_EQ(workload.layers[1].matrix_flops(), Flops(24 * s * h * h + 4 * s * s * h));
    EXPECT_EQ(workload.layers.back().matrix_flops(), Flops(2 * s * h * size.vocabulary));
    EXPECT_EQ(workload.layers.front().matrix_flops(), Flops(0));
  }
}

// 96 B s l h^2 (1 + s/(6 h) + V/(16 l h)), equation (3) of arXiv:2104.04473: every layer's forward
// twice and its backward, which costs two forwards, and the head without recomputation.
TEST(Flops, ProductsFollowTheFormulaOfMegatron) {
  for (const Size& size : {odd, gpt2_small, Size{128, 25600, 160, 2048, 51200}}) {
    const std::uint64_t l = size.layers;
    const std::uint64_t s = size.sequence;
    const std::uint64_t h = size.hidden;
    const Workload workload = transformer(size);
    std::uint64_t sum = 0;
    for (const Layer& layer : workload.layers) {
      const bool recomputed = layer.name != "head";
      sum += (recomputed ? 4 : 3) * layer.matrix_flops().count();
    }
    EXPECT_EQ(sum, 96 * s * l * h * h + 16 * s * s * l * h + 6 * s * h * size.vocabulary);
  }
}

TEST(Flops, BackwardOfAProductIsTwiceItsForward) {
  const Workload workload = transformer(odd);
  for (const Layer& layer : workload.layers) {
    for (const Operator& op : layer.operators) {
      if (op.is_matrix_product()) {
        EXPECT_EQ(op.forward_flops, op.product.flops()) << op.name;
        EXPECT_EQ(op.backward_flops.count(), 2 * op.forward_flops.count()) << op.name;
      }
    }
  }
}

// Half of a product's backward makes the gradient of its weight, when it has one.
TEST(Flops, OfTheGradientsOfWeights) {
  const Workload workload = transformer(odd);
  for (const Layer& layer : workload.layers) {
    for (const Operator& op : layer.operators) {
      const bool weights = op.parameters + op.shared_parameters > 0;
      EXPECT_EQ(op.weight_gradient_flops > Flops(0), weights) << op.name;
      if (weights && op.is_matrix_product()) {
        EXPECT_EQ(op.weight_gradient_flops, op.forward_flops) << op.name;
      }
    }
  }
  // An element's product with the normalised input, and its addition to gain and shift.
  EXPECT_EQ(find_operator(workload.layers[1], "ln1").weight_gradient_flops,
            Flops(3 * odd.sequence * odd.hidden));
}

TEST(Flops, VectorOperatorsAreThereAndSmall) {
  const Workload workload = transformer({1, 12288, 96, 2048, 51200});
  for (const Layer& layer : workload.layers) {
    for (const Operator& op : layer.operators) {
      EXPECT_GT(op.backward_flops.count(), 0U) << op.name;
      if (op.name != "word_embedding") {
        EXPECT_GT(op.forward_flops.count(), 0U) << op.name;
      }
    }
  }
  const Layer& layer = workload.layers[1];
  const auto forward = static_cast<double>(layer.forward_flops().count());
  const auto products = static_cast<double>(layer.matrix_flops().count());
  EXPECT_GT(forward, products);
  EXPECT_LT(forward, 1.01 * products);
}

TEST(Flops, OfASampleAreForwardAndBackwardOfAllLayers) {
  const Workload workload = transformer(odd);
  const Flops layer = workload.layers[1].forward_flops() + workload.layers[1].backward_flops();
  std::uint64_t expected = odd.layers * layer.count();
  for (const Layer& end : {workload.layers.front(), workload.layers.back()}) {
    expected += end.forward_flops().count() + end.backward_flops().count();
  }
  EXPECT_EQ(workload.flops_per_sample(), Flops(expected));
}

// s b h (10 + 24/t + 5 a s/(h t)) bytes, equation (2) of arXiv:2205.05198; in one piece, equation
// (1), s b h (34 + 5 a s/h); and under selective recomputation 34 s b h (table 2).
TEST(StoredActivations, OfALayerFollowKorthikanti) {
  for (const Size& size : {odd, gpt2_small, Size{1, 12288, 96, 2048, 51200}}) {
    const std::uint64_t s = size.sequence;
    const std::uint64_t h = size.hidden;
    const Stored stored = stored_of(transformer(size).layers[1]);
    EXPECT_EQ(stored.whole, 10 * s * h);
    EXPECT_EQ(stored.cut, 24 * s * h + 5 * size.heads * s * s);
    EXPECT_EQ(stored.whole + stored.cut, 34 * s * h + 5 * size.heads * s * s);
    Layer selective = transformer(size).layers[1];
    std::erase_if(selective.operators,
                  [](const Operator& op) { return op.recomputed_selectively; });
    const Stored left = stored_of(selective);
    EXPECT_EQ(left.whole, 10 * s * h);
    EXPECT_EQ(left.cut, 24 * s * h);
  }
}

TEST(StoredActivations, WhatIsRecomputedSelectively) {
  const Workload workload = transformer(odd);
  for (const Operator& op : workload.layers[1].operators) {
    const bool inner = op.name == "attention_scores" || op.name == "softmax" ||
                       op.name == "attention_dropout" || op.name == "attention_values";
    EXPECT_EQ(op.recomputed_selectively, inner) << op.name;
  }
}

// Megatron-LM's full recomputation is of the transformer layers.
TEST(StoredActivations, WhatIsRecomputedFully) {
  const Workload workload = transformer(odd);
  for (std::size_t i = 0; i < workload.layers.size(); ++i) {
    const bool repeated = i != 0 && i + 1 != workload.layers.size();
    for (const Operator& op : workload.layers[i].operators) {
      EXPECT_EQ(op.recomputed_fully, repeated) << op.name;
    }
  }
}

// Megatron-LM, mpu/cross_entropy.py: nine reads or writes of the logits in fp32 forward, three
// backward.
TEST(Operators, TheLossPassesOverItsLogitsInFp32) {
  const Workload workload = transformer(odd);
  const Operator& loss = workload.layers.back().operators.back();
  const std::uint64_t logits = odd.sequence * odd.vocabulary;
  EXPECT_EQ(loss.more_moved_forward, Bytes(9 * 4 * logits));
  EXPECT_EQ(loss.more_moved_backward, Bytes(3 * 4 * logits));
}

// In one kernel: the logits and their gradient are read and written once, in the data type.
TEST(Operators, AFusedLossMovesItsLogitsOnce) {
  const Workload workload = transformer(odd, "loss: fused\n");
  const Operator& loss = workload.layers.back().operators.back();
  EXPECT_EQ(loss.more_moved_forward, Bytes(0));
  EXPECT_EQ(loss.more_moved_backward, Bytes(0));
  EXPECT_EQ(loss.stored_cut, Bytes(2 * odd.sequence * odd.vocabulary));
}

// What is logged: for each metric the logits read, copied to fp32, read again and their logarithmic
// softmax written, without a gradient.
TEST(Operators, MetricsPassOverTheLogitsAgain) {
  const Workload workload = transformer(odd, "loss: fused\nloss_metrics: 2\n");
  const Operator& metrics = workload.layers.back().operators.back();
  const std::uint64_t logits = odd.sequence * odd.vocabulary;
  EXPECT_EQ(metrics.name, "loss_metrics");
  EXPECT_EQ(metrics.more_moved_forward, Bytes(2 * (2 + 3 * 4) * logits));
  EXPECT_EQ(metrics.more_moved_backward, Bytes(0));
  EXPECT_EQ(metrics.passing_forward + metrics.stored_cut + metrics.stored_whole, Bytes(0));
  EXPECT_EQ(workload.flops_per_sample(), transformer(odd, "loss: fused\n").flops_per_sample());
}

// Forward nothing; backward the gradients of queries, keys and values are read and written.
TEST(Operators, GradientsMadeOneByOneAreJoined) {
  const Workload workload = transformer(odd, "join_gradients: true\n");
  const auto& operators = workload.layers[1].operators;
  const auto join = std::ranges::find(operators, "qkv_join", &Operator::name);
  ASSERT_NE(join, operators.end());
  EXPECT_EQ((join - 1)->name, "qkv");
  EXPECT_EQ(join->more_moved_backward, Bytes(2 * 2 * (join - 1)->output_elements));
  EXPECT_EQ(join->more_moved_forward + join->stored_cut + join->stored_whole, Bytes(0));
  EXPECT_EQ(workload.flops_per_sample(), transformer(odd).flops_per_sample());
}

// Forward nothing; backward the gradients of the outputs are read.
TEST(Operators, GradientsOfBiasesAreSumsOfTheirOwn) {
  const Workload workload = transformer(odd, "bias_gradients: apart\n");
  std::size_t sums = 0;
  for (const Layer& layer : workload.layers) {
    for (auto op = layer.operators.begin(); op != layer.operators.end(); ++op) {
      if (!op->name.ends_with("_bias")) {
        continue;
      }
      ++sums;
      const Operator& product = *(op - 1);
      EXPECT_EQ(op->name, product.name + "_bias");
      EXPECT_EQ(op->more_moved_backward, Bytes(2 * product.output_elements));
      EXPECT_EQ(op->more_moved_forward + op->stored_cut + op->stored_whole, Bytes(0));
      // A member has all outputs of a product whose depth is cut.
      EXPECT_EQ(op->sharding == Sharding::replicated, product.sharding == Sharding::row);
    }
  }
  EXPECT_EQ(sums, 4 * odd.layers);
  EXPECT_EQ(workload.flops_per_sample(), transformer(odd).flops_per_sample());
  const Workload none = transformer(odd, "bias_gradients: apart\nbiases: false\n");
  EXPECT_EQ(none.layers[1].operators.size(), transformer(odd).layers[1].operators.size());
}

TEST(Operators, TensorsAreCopiedIntoAnotherLayout) {
  const auto copies = [](const std::string& more) {
    const Workload workload = transformer(odd, more);
    std::vector<std::pair<std::string, Bytes>> found;
    for (const Operator& op : workload.layers[1].operators) {
      if (op.name.ends_with("_copy")) {
        found.emplace_back(op.name, op.more_moved_forward + op.more_moved_backward);
      }
    }
    return found;
  };
  const std::uint64_t moved = 2 * 2 * odd.sequence * odd.hidden;  // read and written
  using Copies = std::vector<std::pair<std::string, Bytes>>;
  EXPECT_EQ(copies(""), Copies{});
  EXPECT_EQ(copies("layout_copies: context\n"), (Copies{{"context_copy", Bytes(moved)}}));
  EXPECT_EQ(copies("layout_copies: context\nattention: flash\n"), Copies{});
  EXPECT_EQ(copies("layout_copies: layers\n"), (Copies{{"input_copy", Bytes(moved)},
                                                       {"context_copy", Bytes(moved)},
                                                       {"output_copy", Bytes(2 * moved)}}));
}

TEST(Operators, ProductsWithWeightsOfALayerAreNarrow) {
  const Workload workload = transformer(odd, "data_type: bf16\nproduct_type: fp8\n");
  EXPECT_EQ(workload.data_type, DataType::bf16);
  EXPECT_EQ(workload.product_type, DataType::fp8);
  for (const Layer& layer : workload.layers) {
    const bool repeated = layer.name.starts_with("layer");
    for (const Operator& op : layer.operators) {
      EXPECT_EQ(op.narrow, repeated && op.is_matrix_product() && op.parameters > 0) << op.name;
    }
  }
  EXPECT_EQ(transformer(odd).product_type, transformer(odd).data_type);
}

TEST(StoredActivations, OfEmbeddingAndHead) {
  const Workload workload = transformer(odd);
  const std::uint64_t sh = odd.sequence * odd.hidden;
  EXPECT_EQ(stored_of(workload.layers.front()).whole, sh) << "the mask of the dropout";
  EXPECT_EQ(stored_of(workload.layers.front()).cut, 0U);
  EXPECT_EQ(stored_of(workload.layers.back()).whole, 4 * sh) << "inputs of norm and product";
  EXPECT_EQ(stored_of(workload.layers.back()).cut, 4 * odd.sequence * odd.vocabulary)
      << "logits in fp32";
}

TEST(StoredActivations, MasksKeepTheirSizeInOtherDataTypes) {
  const std::uint64_t sh = odd.sequence * odd.hidden;
  const std::uint64_t weights = odd.heads * odd.sequence * odd.sequence;
  const Stored wide = stored_of(transformer(odd, "data_type: fp32\n").layers[1]);
  EXPECT_EQ(wide.whole, 2 * 8 * sh + 2 * sh);
  EXPECT_EQ(wide.cut, 2 * (24 * sh + 4 * weights) + weights);
}

// PALM, table III, transformer: 2 B S H forward and backward over the tensor group, 12 H^2 over the
// data group.
TEST(Collectives, VolumesAreThoseOfPalm) {
  for (const Size& size : {odd, gpt2_small, Size{1, 12288, 96, 2048, 51200}}) {
    std::uint64_t forward = 0;
    std::uint64_t backward = 0;
    const Workload workload = transformer(size);
    for (const Operator& op : workload.layers[1].operators) {
      forward += op.forward_all_reduce_elements;
      backward += op.backward_all_reduce_elements;
    }
    EXPECT_EQ(forward, 2 * size.sequence * size.hidden);
    EXPECT_EQ(backward, 2 * size.sequence * size.hidden);
    const Layer bare = transformer(size, "biases: false\n").layers[1];
    const std::uint64_t norms = 4 * size.hidden;  // gain and shift, which the table leaves out
    EXPECT_EQ(bare.parameters() - norms, 12 * size.hidden * size.hidden);
  }
}

TEST(Collectives, TwoForwardAndTwoBackwardInALayer) {
  const Workload workload = transformer(odd);
  const std::uint64_t sh = odd.sequence * odd.hidden;
  for (const Operator& op : workload.layers[1].operators) {
    const bool row = op.name == "attention_output" || op.name == "mlp_down";
    const bool column = op.name == "qkv" || op.name == "mlp_up";
    EXPECT_EQ(op.forward_all_reduce_elements, row ? sh : 0) << op.name;
    EXPECT_EQ(op.backward_all_reduce_elements, column ? sh : 0) << op.name;
    EXPECT_EQ(op.sharding == Sharding::row, row) << op.name;
    EXPECT_EQ(op.sharding == Sharding::column, column) << op.name;
  }
  EXPECT_EQ(find_operator(workload.layers.front(), "word_embedding").forward_all_reduce_elements,
            sh);
  EXPECT_EQ(find_operator(workload.layers.back(), "lm_head").backward_all_reduce_elements, sh);
  EXPECT_EQ(find_operator(workload.layers.back(), "loss").forward_all_reduce_elements,
            3 * odd.sequence);
}

}  // namespace
}  // namespace tessera::workload::transformer_count_test
