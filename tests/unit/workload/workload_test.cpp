#include "tessera/workload/workload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "read_text.hpp"
#include "tessera/core/error.hpp"

namespace tessera::workload::workload_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Workloads, AreTheKnownOnes) {
  EXPECT_THAT(workloads().names(), ElementsAre("layers", "transformer"));
  EXPECT_EQ(workloads().kind(), "workload kind");
}

TEST(Sharding, Names) {
  EXPECT_EQ(to_string(Sharding::replicated), "replicated");
  EXPECT_EQ(to_string(Sharding::column), "column");
  EXPECT_EQ(to_string(Sharding::row), "row");
  EXPECT_EQ(to_string(Sharding::heads), "heads");
  EXPECT_THROW(to_string(static_cast<Sharding>(200)), InternalError);
}

TEST(MatrixProduct, CountsMultiplyAndAdd) {
  EXPECT_EQ((MatrixProduct{2, 3, 5, 7}).flops(), Flops(2 * 2 * 3 * 5 * 7));
  EXPECT_EQ(MatrixProduct().flops(), Flops(0));
  EXPECT_FALSE(Operator().is_matrix_product());
}

// Two layers of which each count of every operator is known.
TEST(Workload, AddsUpItsLayers) {
  Operator product;
  product.product = {2, 3, 5, 1};
  product.forward_flops = Flops(60);
  product.backward_flops = Flops(120);
  product.parameters = 15;
  Operator shared = product;
  shared.parameters = 0;
  shared.shared_parameters = 15;
  Operator vector;
  vector.forward_flops = Flops(7);
  vector.backward_flops = Flops(11);
  vector.parameters = 4;
  const Layer first{"first", {product, vector}, 6};
  EXPECT_EQ(first.forward_flops(), Flops(67));
  EXPECT_EQ(first.backward_flops(), Flops(131));
  EXPECT_EQ(first.matrix_flops(), Flops(60));
  EXPECT_EQ(first.parameters(), 19U);
  EXPECT_EQ(first.shared_parameters(), 0U);
  Workload workload;
  workload.layers = {first, {"second", {shared}, 0}};
  EXPECT_EQ(workload.layers[1].shared_parameters(), 15U);
  EXPECT_EQ(workload.parameters(), 19U);
  EXPECT_EQ(workload.flops_per_sample(), Flops(67 + 131 + 60 + 120));
  workload.training = false;
  EXPECT_EQ(workload.flops_per_sample(), Flops(67 + 60));
}

TEST(ReadWorkload, TheNameDefaultsToTheKind) {
  const std::string shape =
      "kind: transformer\nlayers: 1\nhidden: 8\nheads: 2\nsequence: 4\nvocabulary: 16\nbatch: 1\n";
  const ReadResult unnamed = read_text(shape);
  EXPECT_THAT(unnamed.complaints, IsEmpty());
  ASSERT_TRUE(unnamed.workload);
  EXPECT_EQ(unnamed.workload->name, "transformer");
  const ReadResult named = read_text(shape + "name: mine\n");
  EXPECT_THAT(named.complaints, IsEmpty());
  ASSERT_TRUE(named.workload);
  EXPECT_EQ(named.workload->name, "mine");
}

TEST(ReadWorkload, AMisspeltKindIsNamedWithItsPlace) {
  const ReadResult result = read_text("kind: transfomer\nname: x\n");
  EXPECT_FALSE(result.workload);
  ASSERT_FALSE(result.complaints.empty());
  EXPECT_THAT(result.complaints.front(), HasSubstr("w.yaml:1:7: error: kind"));
  EXPECT_THAT(result.complaints.front(), HasSubstr("did you mean 'transformer'?"));
}

TEST(ReadWorkload, AMissingKindIsAComplaint) {
  const ReadResult result = read_text("name: x\n");
  EXPECT_FALSE(result.workload);
  ASSERT_FALSE(result.complaints.empty());
  EXPECT_THAT(result.complaints.front(), HasSubstr("kind"));
}

}  // namespace
}  // namespace tessera::workload::workload_test
