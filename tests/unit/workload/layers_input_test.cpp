// What the `layers` workload accepts, and what it says about the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "read_text.hpp"

namespace tessera::workload::layers_input_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ReadResult read(const std::string& layers, const std::string& input = "[8, 8, 4]") {
  return read_text("kind: layers\ninput: " + input + "\nbatch: 2\nlayers:\n" + layers);
}

// The one complaint about an operator in line 6.
std::string complaint(const std::string& op) {
  const ReadResult result = read("  - operators:\n      - {" + op + "}\n");
  EXPECT_FALSE(result.workload);
  EXPECT_THAT(result.complaints, SizeIs(1));
  return result.complaints.empty() ? "" : result.complaints[0];
}

TEST(LayersInput, Defaults) {
  const ReadResult result = read("  - {kind: relu}\n");
  EXPECT_THAT(result.complaints, IsEmpty());
  ASSERT_TRUE(result.workload);
  EXPECT_TRUE(result.workload->training);
  EXPECT_EQ(result.workload->samples, 2U);
  EXPECT_EQ(result.workload->data_type, DataType::fp16);
  EXPECT_EQ(result.workload->optimizer_bytes_per_parameter, Bytes(12));
}

TEST(LayersInput, InputAndLayersMustBeGiven) {
  const ReadResult result = read_text("kind: layers\nbatch: 2\n");
  EXPECT_FALSE(result.workload);
  EXPECT_THAT(result.complaints,
              ElementsAre(HasSubstr("input: missing"), HasSubstr("layers: expected a list")));
  EXPECT_THAT(read_text("kind: layers\nbatch: 2\ninput: [4]\nlayers: 3\n").complaints, SizeIs(1));
  EXPECT_THAT(read_text("kind: layers\nbatch: 2\ninput: [4]\nlayers: []\n").complaints, SizeIs(1));
  EXPECT_THAT(read("  - {kind: relu}\n", "[0, 4]").complaints, ElementsAre(HasSubstr("input")));
  EXPECT_THAT(read("  - {kind: relu}\n", "[1, 2, 3, 4]").complaints,
              ElementsAre(HasSubstr("one to three sides")));
  EXPECT_THAT(read("  - operators: []\n").complaints, ElementsAre(HasSubstr("operators")));
}

TEST(LayersInput, KindsAndKeysAreChecked) {
  EXPECT_THAT(complaint("kind: convolutoin"),
              AllOf(HasSubstr("w.yaml:6:"), HasSubstr("did you mean 'convolution'?")));
  EXPECT_THAT(complaint("kind: linear"), HasSubstr("outputs: missing"));
  EXPECT_THAT(complaint("kind: convolution, channels: 4, kernel: 0"),
              AllOf(HasSubstr("w.yaml:6:"), HasSubstr("kernel"), HasSubstr("between 1 and 4096")));
  EXPECT_THAT(complaint("kind: convolution, channels: 4, kernel: [3, 3, 3]"),
              HasSubstr("expected one number or [rows, columns]"));
  EXPECT_THAT(complaint("kind: convolution, channels: 4, kernel: 1, stride: [0, 1]"),
              HasSubstr("stride"));
  EXPECT_THAT(complaint("kind: pool, type: maximum, kernel: 2"), HasSubstr("type"));
  EXPECT_THAT(complaint("kind: relu, then: [pool]"),
              AllOf(HasSubstr("then"), HasSubstr("operator without keys 'pool'")));
  EXPECT_THAT(complaint("kind: attention, heads: 4, kv_heads: 3"), HasSubstr("kv_heads"));
}

TEST(LayersInput, ShapesMustFit) {
  EXPECT_THAT(complaint("kind: convolution, channels: 4, kernel: 9"),
              AllOf(HasSubstr("w.yaml:6:"), HasSubstr("larger than its input [8, 8, 4]")));
  EXPECT_THAT(complaint("kind: convolution, channels: 6, kernel: 1, groups: 4"),
              HasSubstr("must divide the channels of input (4) and output (6)"));
  EXPECT_THAT(complaint("kind: attention, heads: 1"), HasSubstr("needs [tokens, features]"));
  EXPECT_THAT(read("  - {kind: pool, type: max, kernel: 2}\n", "[8, 4]").complaints,
              ElementsAre(HasSubstr("needs [height, width, channels]; its input is [8, 4]")));
  EXPECT_THAT(read("  - operators:\n      - {kind: linear, outputs: 8}\n"
                   "      - {kind: attention, heads: 3}\n",
                   "[8, 4]")
                  .complaints,
              ElementsAre(HasSubstr("8 features are not a multiple of the 9 heads")));
  EXPECT_THAT(read("  - {kind: attention, heads: 1}\n", "[8, 6]").complaints,
              ElementsAre(HasSubstr("needs an operator of its layer")));
}

TEST(LayersInput, NamesAreKnownAndDifferent) {
  EXPECT_THAT(complaint("kind: relu, from: [inpt]"),
              AllOf(HasSubstr("w.yaml:6:"), HasSubstr("unknown operator 'inpt'"),
                    HasSubstr("did you mean 'input'?")));
  EXPECT_THAT(complaint("kind: relu, name: input"), HasSubstr("stands for something else"));
  EXPECT_THAT(complaint("kind: sum, from: [input]"), HasSubstr("two inputs or more"));
  EXPECT_THAT(complaint("kind: relu, from: [input, input]"), HasSubstr("takes one input"));
  EXPECT_THAT(
      read("  - operators:\n      - {kind: linear, outputs: 2, name: lost}\n"
           "      - {kind: relu, from: [input]}\n")
          .complaints,
      ElementsAre(AllOf(HasSubstr("w.yaml:6:"), HasSubstr("nobody takes"), HasSubstr("'lost'"))));
  EXPECT_THAT(read("  - operators:\n      - {kind: linear, outputs: 2, name: thin}\n"
                   "      - {kind: sum, from: [thin, input]}\n")
                  .complaints,
              ElementsAre(AllOf(HasSubstr("w.yaml:7:"),
                                HasSubstr("different shapes, [8, 8, 2] and [8, 8, 4]"))));
  EXPECT_THAT(read("  - operators:\n      - {kind: pool, type: max, kernel: 2, name: small}\n"
                   "      - {kind: concat, from: [small, input]}\n")
                  .complaints,
              ElementsAre(HasSubstr("more than their features")));
}

TEST(LayersInput, ALayerMustDoSomething) {
  EXPECT_THAT(complaint("kind: flatten"), HasSubstr("a layer without work"));
}

TEST(LayersInput, AMisspeltKindIsTheOnlyComplaintAboutItsOperator) {
  EXPECT_THAT(complaint("kind: convolutoin, channels: 4, kernel: 3, name: a, then: [relu]"),
              HasSubstr("kind"));
}

TEST(LayersInput, CutsMustBeJoined) {
  EXPECT_THAT(complaint("kind: linear, outputs: 4, sharding: column"),
              HasSubstr("the output of a layer must be whole"));
  EXPECT_THAT(complaint("kind: linear, outputs: 4, sharding: row"),
              HasSubstr("a row needs an input that a column has cut"));
  EXPECT_THAT(read("  - operators:\n      - {kind: linear, outputs: 4, sharding: column}\n"
                   "      - {kind: linear, outputs: 4}\n")
                  .complaints,
              ElementsAre(HasSubstr("expected row")));
  EXPECT_THAT(read("  - operators:\n      - {kind: linear, outputs: 4, sharding: column, name: a}\n"
                   "      - {kind: sum, from: [a, input]}\n")
                  .complaints,
              ElementsAre(HasSubstr("some inputs are cut")));
  EXPECT_THAT(complaint("kind: convolution, channels: 4, kernel: 1, groups: 2, sharding: column"),
              HasSubstr("cut by groups"));
}

TEST(LayersInput, WhatLeavesTheCountersIsRefused) {
  const ReadResult result =
      read("  - {kind: linear, outputs: 16777216}\n  - {kind: linear, outputs: 16777216}\n",
           "[65536, 16777216]");
  EXPECT_FALSE(result.workload);
  EXPECT_THAT(result.complaints, ElementsAre(HasSubstr("too large")));
  EXPECT_THAT(read("  - {kind: relu, repeat: 16384}\n  - {kind: relu}\n").complaints,
              ElementsAre(HasSubstr("more than 16384 layers")));
}

TEST(LayersInput, ComplaintsOfAllLayersAreCollected) {
  const ReadResult result = read(
      "  - {kind: linear}\n  - operators:\n      - {kind: relu, colour: red}\n"
      "      - {kind: pool, type: max}\n");
  EXPECT_FALSE(result.workload);
  EXPECT_THAT(result.complaints,
              ElementsAre(HasSubstr("layers[0].outputs: missing"),
                          HasSubstr("layers[1].operators[1].kernel: missing"),
                          HasSubstr("layers[1].operators[0].colour: unknown key")));
}

}  // namespace
}  // namespace tessera::workload::layers_input_test
