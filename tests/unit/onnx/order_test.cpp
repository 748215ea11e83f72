// Nodes in another order than ONNX asks for, and the newest types of elements.
#include <utility>

#include "model.hpp"

namespace tessera::onnx::order_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Order, OfNodesMayBeAnyOne) {
  ModelMaker model;
  model.input("x", {2, 3});
  model.node("Exp", {"c"}, {"y"});
  model.node("Abs", {"b"}, {"c"});
  model.node("Neg", {"x"}, {"a"});
  model.node("Relu", {"a"}, {"b"});
  model.output("y");
  EXPECT_THAT(kinds_of(model.read().graph), ElementsAre("Neg", "Relu", "Abs", "Exp"));
}

// Those that need not move keep their places among each other.
TEST(Order, StaysWhereItIsGoodAlready) {
  ModelMaker model;
  model.input("x", {2, 3});
  model.node("Neg", {"x"}, {"a"});
  model.node("Exp", {"x"}, {"b"});
  model.node("Relu", {"b"}, {"c"});
  model.node("Abs", {"a"}, {"d"});
  EXPECT_THAT(kinds_of(model.read().graph), ElementsAre("Neg", "Exp", "Relu", "Abs"));
}

// What a branch reads from around it is made before.
TEST(Order, KnowsWhatGraphsInsideRead) {
  ModelMaker model;
  model.input("x", {2, 3});
  model.input("which", {}, 9);
  auto* const node = model.node("If", {"which"}, {"y"}, "choice");
  GraphMaker yes = add_body(node, "then_branch");
  yes.node("Abs", {"inner"}, {"b"});  // and inside of it, too
  yes.node("Relu", {"a"}, {"inner"});
  yes.output("b");
  GraphMaker no = add_body(node, "else_branch");
  no.node("Transpose", {"a"}, {"c"});
  no.output("c");
  model.node("Neg", {"x"}, {"a"});
  model.output("y");
  ImportOptions options;
  options.branches = {{"choice", true}};
  EXPECT_THAT(kinds_of(model.read(options).graph), ElementsAre("Neg", "Relu", "Abs"));
}

TEST(Order, OfARingIsRefused) {
  ModelMaker model;
  model.input("x", {2, 3});
  model.node("Add", {"x", "b"}, {"a"}, "one");
  model.node("Relu", {"a"}, {"b"}, "other");
  model.node("Neg", {"b"}, {"y"}, "behind");
  EXPECT_THAT(refusal_of(model),
              AllOf(HasSubstr("node 0 'one' (Add) at byte"),
                    HasSubstr("the graph has a cycle: node 0 'one' (Add) makes 'a' for node 1 "
                              "'other' (Relu), which makes 'b' for the first of them"),
                    Not(HasSubstr("behind"))));
}

TEST(Order, OfANodeThatReadsItselfIsRefused) {
  ModelMaker model;
  model.input("x", {2, 3});
  model.node("Add", {"x", "a"}, {"a"}, "one");
  EXPECT_THAT(refusal_of(model), HasSubstr("'one' (Add) at byte"));
  EXPECT_THAT(
      refusal_of(model),
      HasSubstr("the graph has a cycle: node 0 'one' (Add) makes 'a' for the first of them"));
}

TEST(Order, NamesSomeNodesOfALongRing) {
  ModelMaker model;
  model.input("x", {2, 3});
  constexpr int nodes = 20;
  for (int i = 0; i < nodes; ++i) {
    const std::string next = std::to_string((i + 1) % nodes);
    model.node("Add", {"x", "t" + next}, {"t" + std::to_string(i)}, "n" + std::to_string(i));
  }
  EXPECT_THAT(refusal_of(model), HasSubstr("for 12 more up to the first of them"));
}

// A name that nobody makes is no cycle.
TEST(Order, OfAMissingTensorIsRefusedByItsName) {
  ModelMaker model;
  model.input("x", {2, 3});
  model.node("Add", {"x", "b"}, {"a"}, "one");
  EXPECT_THAT(refusal_of(model), HasSubstr("reads 'b', which no node before it makes"));
}

TEST(Types, OfFewBitsAreCountedInBits) {
  for (const auto& [type, bits] : {std::pair(21, 4U), std::pair(22, 4U), std::pair(23, 4U),
                                   std::pair(24, 8U), std::pair(25, 2U), std::pair(26, 2U)}) {
    EXPECT_EQ(bits_of(element_type_from(type)), bits);
    ModelMaker model(23);
    model.weight("w", {3, 5}, type);
    model.node("Identity", {"w"}, {"y"});
    EXPECT_EQ(tensor_of(model.read().graph, "w").bytes(), Bytes((15 * bits + 7) / 8));
  }
  EXPECT_EQ(element_type_from(27), ElementType::undefined);
}

}  // namespace
}  // namespace tessera::onnx::order_test
