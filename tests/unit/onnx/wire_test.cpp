// Files that are cut off or damaged: one message with node and byte.
#include "wire.hpp"
#include "model.hpp"

namespace tessera::onnx::wire_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

ModelMaker two_nodes() {
  ModelMaker model;
  model.input("x", {2, 3});
  model.node("Relu", {"x"}, {"y"}, "first");
  set(model.node("Softmax", {"y"}, {"z"}, "second"), "axis", -1);
  model.output("z");
  return model;
}

TEST(Wire, SaysWhereNodesBegin) {
  const std::string bytes = two_nodes().bytes();
  const ModelPlaces places = scan_model(bytes, "model.onnx");
  ASSERT_EQ(places.graph.nodes.size(), 2U);
  // The first field of a node is its input, "x".
  EXPECT_EQ(bytes.substr(places.graph.nodes[0].offset, 3), std::string("\x0A\x01x"));
  EXPECT_EQ(bytes.substr(places.graph.nodes[1].offset, 3), std::string("\x0A\x01y"));
}

TEST(Wire, NamesTheNodeInWhichTheFileEnds) {
  const std::string bytes = two_nodes().bytes();
  const std::uint64_t second = scan_model(bytes, "m").graph.nodes[1].offset;
  const std::string error = refusal_of(bytes.substr(0, second + 25));
  EXPECT_THAT(error, StartsWith("model.onnx: error: node 1 'second' (Softmax) at byte " +
                                std::to_string(second)));
}

TEST(Wire, EveryCutIsOneMessageOrAModel) {
  const std::string bytes = two_nodes().bytes();
  std::size_t refused = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::string error = refusal_of(bytes.substr(0, length));
    EXPECT_THAT(error, ::testing::AnyOf("", StartsWith("model.onnx: error: ")));
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 0);
    refused += error.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, bytes.size() - 4);
}

TEST(Wire, RefusesWhatIsNoMessage) {
  EXPECT_THAT(refusal_of(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal_of("\x3B\x01"), HasSubstr("wire type 3"));
  EXPECT_THAT(refusal_of(std::string("\x02\x01")), HasSubstr("a field with the number 0"));
  EXPECT_THAT(refusal_of("\x08" + std::string(10, '\xFF')), HasSubstr("more than ten bytes"));
  EXPECT_THAT(refusal_of("\x12\x05\x61"), HasSubstr("5 bytes should follow, and 1 are left"));
  EXPECT_THAT(refusal_of(std::string("\x08\x08")), HasSubstr("holds no graph"));
}

TEST(Wire, RefusesDeepNesting) {
  ModelMaker model;
  GraphMaker* graph = &model;
  std::vector<GraphMaker> kept;
  kept.reserve(40);
  for (int i = 0; i < 40; ++i) {
    kept.push_back(add_body(graph->node("If", {}, {}), "then_branch"));
    graph = &kept.back();
  }
  EXPECT_THAT(refusal_of(model), HasSubstr("nested deeper than 60"));
}

}  // namespace
}  // namespace tessera::onnx::wire_test
