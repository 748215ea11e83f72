// What the transformer accepts, and what it says about the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "read_text.hpp"
#include "tessera/workload/transformer/transformer.hpp"

namespace tessera::workload::transformer_input_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The keys without a default, one a line after `kind`.
const std::string required =
    "layers: 2\nhidden: 64\nheads: 4\nsequence: 32\nvocabulary: 100\nbatch: 6\n";

ReadResult read(const std::string& keys) {
  return read_text("kind: transformer\n" + keys);
}

std::string without(const std::string& key) {
  std::string text = required;
  const std::size_t start = text.find(key + ":");
  text.erase(start, text.find('\n', start) + 1 - start);
  return text;
}

TEST(TransformerInput, Defaults) {
  const ReadResult result = read(required);
  EXPECT_THAT(result.complaints, IsEmpty());
  ASSERT_TRUE(result.workload);
  EXPECT_EQ(result.workload->samples, 6U);
  EXPECT_EQ(result.workload->sequence_length, 32U);
  EXPECT_EQ(result.workload->data_type, DataType::fp16);
  EXPECT_EQ(result.workload->gradient_bytes_per_parameter, Bytes(2));
  EXPECT_EQ(result.workload->optimizer_bytes_per_parameter, Bytes(12));
  EXPECT_EQ(result.workload->layers.size(), 4U);
}

TEST(TransformerInput, BytesOfGradientAndOptimizer) {
  struct Case {
    const char* data_type;
    const char* optimizer;
    Bytes gradient;
    Bytes state;
  };
  for (const Case& c :
       {Case{"fp16", "adam", Bytes(2), Bytes(12)}, Case{"bf16", "sgd", Bytes(2), Bytes(4)},
        Case{"fp32", "adam", Bytes(4), Bytes(8)}, Case{"fp32", "sgd", Bytes(4), Bytes(0)},
        Case{"fp64", "adam", Bytes(8), Bytes(16)}, Case{"fp8", "adam", Bytes(1), Bytes(12)}}) {
    const ReadResult result =
        read(required + "data_type: " + c.data_type + "\noptimizer: " + c.optimizer + "\n");
    EXPECT_THAT(result.complaints, IsEmpty());
    ASSERT_TRUE(result.workload);
    EXPECT_EQ(result.workload->gradient_bytes_per_parameter, c.gradient) << c.data_type;
    EXPECT_EQ(result.workload->optimizer_bytes_per_parameter, c.state) << c.data_type;
  }
}

// Megatron-LM adds up the gradients of 16-bit training in fp32.
TEST(TransformerInput, GradientsMayBeWiderThanWeights) {
  const ReadResult result = read(required + "gradient_type: fp32\n");
  EXPECT_THAT(result.complaints, IsEmpty());
  ASSERT_TRUE(result.workload);
  EXPECT_EQ(result.workload->gradient_bytes_per_parameter, Bytes(4));
  EXPECT_EQ(result.workload->optimizer_bytes_per_parameter, Bytes(12));
}

// Adam's moments and the weights that it updates may be narrower (DeepSeek-V3: moments in bf16).
TEST(TransformerInput, StateOfTheOptimizerHasTypes) {
  struct Case {
    const char* keys;
    Bytes state;
    bool has_master;
  };
  for (const Case& c : {Case{"data_type: bf16\nmoment_type: bf16\n", Bytes(4 + 2 * 2), true},
                        Case{"data_type: bf16\nmoment_type: fp8\n", Bytes(4 + 2), true},
                        Case{"data_type: bf16\nmaster_type: bf16\n", Bytes(2 * 4), false},
                        Case{"data_type: fp8\nmaster_type: bf16\n", Bytes(2 + 2 * 4), true},
                        Case{"data_type: fp32\nmoment_type: bf16\n", Bytes(2 * 2), false},
                        Case{"data_type: fp32\nmaster_type: fp64\n", Bytes(8 + 2 * 4), true},
                        Case{"optimizer: sgd\nmaster_type: fp16\n", Bytes(0), false}}) {
    const ReadResult result = read(required + c.keys);
    EXPECT_THAT(result.complaints, IsEmpty());
    ASSERT_TRUE(result.workload);
    EXPECT_EQ(result.workload->optimizer_bytes_per_parameter, c.state) << c.keys;
    EXPECT_EQ(result.workload->has_master, c.has_master) << c.keys;
  }
}

TEST(TransformerInput, ProductsMayHaveScales) {
  const auto format = [](const std::string& keys) {
    return read(required + "data_type: bf16\n" + keys).workload->product_format;
  };
  EXPECT_EQ(format(""), (NumberFormat{DataType::bf16, 0, Bytes()}));
  EXPECT_EQ(format("product_type: fp8\n"), (NumberFormat{DataType::fp8, 0, Bytes()}));
  EXPECT_EQ(format("product_type: mxfp8\n"), (NumberFormat{DataType::mxfp8, 32, Bytes(1)}));
  EXPECT_EQ(format("product_type: fp8\nproduct_group_size: 128\n"),
            (NumberFormat{DataType::fp8, 128, Bytes(4)}));
}

TEST(TransformerInput, InferenceKeepsNoGradientsAndNoState) {
  const ReadResult result = read(required + "mode: inference\n");
  EXPECT_THAT(result.complaints, IsEmpty());
  ASSERT_TRUE(result.workload);
  EXPECT_FALSE(result.workload->training);
  EXPECT_EQ(result.workload->gradient_bytes_per_parameter, Bytes(0));
  EXPECT_EQ(result.workload->optimizer_bytes_per_parameter, Bytes(0));
}

TEST(TransformerInput, HeadsOfKeysAndValuesMustDivideHeads) {
  const ReadResult result = read(required + "kv_heads: 3\n");
  EXPECT_FALSE(result.workload);
  EXPECT_THAT(result.complaints, ElementsAre(AllOf(HasSubstr("w.yaml:8:"), HasSubstr("kv_heads"),
                                                   HasSubstr("not a multiple of 3"))));
}

TEST(TransformerInput, WithTheirWidthHeadsNeedNotDivideHidden) {
  const ReadResult result = read(without("heads") + "heads: 5\nhead_width: 16\n");
  EXPECT_THAT(result.complaints, IsEmpty());
  EXPECT_TRUE(result.workload);
}

TEST(TransformerInput, ExpertsAreChecked) {
  EXPECT_THAT(read(required + "experts: {count: 4, top_k: 5}\n").complaints,
              ElementsAre(AllOf(HasSubstr("experts.top_k"), HasSubstr("5 of 4 experts"))));
  EXPECT_THAT(read(required + "experts: {count: 4}\n").complaints,
              ElementsAre(HasSubstr("experts.top_k")));
  EXPECT_THAT(read(required + "experts: {count: 4, top_k: 2, capacity_factor: 0}\n").complaints,
              ElementsAre(HasSubstr("experts.capacity_factor")));
  EXPECT_THAT(read(required + "experts: {count: 4, top_k: 2, evry: 2}\n").complaints,
              ElementsAre(AllOf(HasSubstr("experts.evry"), HasSubstr("'every'"))));
}

TEST(TransformerInput, EncodersHaveNoMaskAndDecodersNoEncoder) {
  EXPECT_THAT(read(required + "architecture: encoder\ncausal: true\n").complaints,
              ElementsAre(AllOf(HasSubstr("w.yaml:9:"), HasSubstr("no causal mask"))));
  EXPECT_THAT(read(required + "encoder_layers: 2\n").complaints,
              ElementsAre(HasSubstr("encoder_layers: unknown key")));
}

TEST(TransformerInput, EachKeyWithoutADefaultIsMissed) {
  for (const char* key : {"layers", "hidden", "heads", "sequence", "vocabulary", "batch"}) {
    const ReadResult result = read(without(key));
    EXPECT_FALSE(result.workload) << key;
    EXPECT_THAT(result.complaints, ElementsAre(HasSubstr(key)));
  }
}

TEST(TransformerInput, ZeroNegativeAndHugeNumbersAreOutOfRange) {
  for (const char* key : {"layers", "hidden", "heads", "sequence", "vocabulary", "batch"}) {
    for (const char* number : {"0", "-1", "9000000000000000000"}) {
      const ReadResult result = read(without(key) + key + ": " + number + "\n");
      EXPECT_FALSE(result.workload) << key << ' ' << number;
      EXPECT_THAT(result.complaints, ElementsAre(AllOf(HasSubstr("w.yaml:7:"), HasSubstr(key))));
    }
  }
}

TEST(TransformerInput, HeadsMustDivideHidden) {
  const ReadResult result = read(without("heads") + "heads: 5\n");
  EXPECT_FALSE(result.workload);
  EXPECT_THAT(result.complaints, ElementsAre(AllOf(HasSubstr("w.yaml:7:"), HasSubstr("heads"),
                                                   HasSubstr("hidden (64) is not a multiple"))));
}

TEST(TransformerInput, AModelThatLeavesTheCountersIsRefused) {
  const ReadResult result = read(
      "layers: 16384\nhidden: 1048576\nheads: 1048576\nsequence: 16777216\nvocabulary: 268435456\n"
      "batch: 1\n");
  EXPECT_FALSE(result.workload);
  EXPECT_THAT(result.complaints, ElementsAre(HasSubstr("too large")));
}

// Ten times the largest published model at a sequence sixteen times as long.
TEST(TransformerInput, AModelFarLargerThanAnyIsAccepted) {
  const ReadResult result = read(
      "layers: 320\nhidden: 51200\nheads: 320\nsequence: 32768\nvocabulary: 256000\nbatch: "
      "4096\n");
  EXPECT_THAT(result.complaints, IsEmpty());
  ASSERT_TRUE(result.workload);
  EXPECT_GT(result.workload->parameters(), 10'000'000'000'000U);
}

TEST(TransformerInput, MisspeltKeysAndNamesAreSuggested) {
  EXPECT_THAT(read(required + "fnn: 12\n").complaints,
              ElementsAre(AllOf(HasSubstr("w.yaml:8:1: error: fnn"), HasSubstr("'ffn'"))));
  EXPECT_THAT(read(required + "optimizer: adm\n").complaints,
              ElementsAre(AllOf(HasSubstr("optimizer"), HasSubstr("'adam'"))));
  EXPECT_THAT(read(required + "data_type: fp61\n").complaints, ElementsAre(HasSubstr("data_type")));
  EXPECT_THAT(read(required + "biases: yes\n").complaints, ElementsAre(HasSubstr("biases")));
}

TEST(TransformerInput, ServedLayoutCopiesAreNotedOnce) {
  config::Diagnostics diagnostics;
  config::Section section(
      config::parse("w.yaml", required + "attention: flash\nlayout_copies: context\n", diagnostics),
      "model", diagnostics);
  EXPECT_TRUE(read_transformer_shape(section, Products::of_own_type));
  EXPECT_THAT(diagnostics.notes(), Contains(HasSubstr("layout_copies")).Times(1));
  EXPECT_THAT(diagnostics.notes(), Contains("model.layout_copies has no effect with requests"));
}

TEST(TransformerInput, ScalesOfProductsOfCoresAreNoted) {
  config::Diagnostics diagnostics;
  config::Section section(
      config::parse("w.yaml",
                    required + "product_type: fp8\nproduct_group_size: 16\nproduct_scale: 2 B\n",
                    diagnostics),
      "model", diagnostics);
  EXPECT_TRUE(read_transformer_shape(section, Products::of_data_type));
  for (const std::string key : {"product_type", "product_group_size", "product_scale"}) {
    EXPECT_THAT(diagnostics.notes(),
                Contains("model." + key +
                         " has no effect with NPU cores, which multiply in the data type"));
  }
}

TEST(TransformerInput, AllComplaintsAreCollected) {
  const ReadResult result = read("layers: -1\nhidden: many\ncolour: red\n");
  EXPECT_FALSE(result.workload);
  EXPECT_THAT(result.complaints, SizeIs(7)) << "two wrong, four missing, one unknown";
  EXPECT_THAT(result.complaints, Contains(HasSubstr("colour")));
}

}  // namespace
}  // namespace tessera::workload::transformer_input_test
