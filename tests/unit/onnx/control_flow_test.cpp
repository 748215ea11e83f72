// If, Loop, Scan, functions and sequences are gone when a model has been read.
#include "model.hpp"

namespace tessera::onnx::control_flow_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelMaker with_if() {
  ModelMaker model;
  model.input("x", {2, 3});
  model.input("which", {}, 9);
  auto* const node = model.node("If", {"which"}, {"y"}, "choice");
  GraphMaker yes = add_body(node, "then_branch");
  yes.node("Relu", {"x"}, {"a"});
  yes.output("a");
  GraphMaker no = add_body(node, "else_branch");
  no.node("Transpose", {"x"}, {"b"});
  no.output("b");
  model.node("Abs", {"y"}, {"z"});
  model.output("z");
  return model;
}

TEST(ControlFlow, TakesTheChosenBranch) {
  const ModelMaker model = with_if();
  EXPECT_THAT(refusal_of(model), HasSubstr("with 'branches: {choice: then}' beside the model or "
                                           "'else'"));
  ImportOptions options;
  options.wording = Wording::options;
  EXPECT_THAT(refusal_of(model, options), HasSubstr("--branch 'choice=then' or '=else'"));
  options.branches = {{"choice", true}};
  EXPECT_THAT(kinds_of(model.read(options).graph), ElementsAre("Relu", "Abs"));
  options.branches = {{"*", false}};
  EXPECT_THAT(kinds_of(model.read(options).graph), ElementsAre("Transpose", "Abs"));
  EXPECT_EQ(shape_of(model.read(options).graph, "z"), (Shape{3, 2}));
  options.values = {{"which", {1}}};
  EXPECT_THAT(kinds_of(model.read(options).graph), ElementsAre("Relu", "Abs"));
}

// state += x each time; the states are put together.
ModelMaker with_loop(const std::string& count) {
  ModelMaker model;
  model.input("x", {4});
  model.input("n", {}, 7);
  model.number("three", 3);
  auto* const node = model.node("Loop", {count, "", "x"}, {"last", "all"}, "steps");
  GraphMaker body = add_body(node, "body");
  body.input("i", {}, 7);
  body.input("go", {}, 9);
  body.input("state", {4});
  body.node("Add", {"state", "x"}, {"next"});
  body.node("Identity", {"go"}, {"go_on"});
  body.output("go_on");
  body.output("next");
  body.output("next");
  model.output("last");
  model.output("all");
  return model;
}

TEST(ControlFlow, UnrollsLoops) {
  const Import known = with_loop("three").read();
  EXPECT_EQ(*known.graph.tensor(known.graph.outputs[1]).shape, (Shape{3, 4}));
  EXPECT_EQ(total_cost(known.graph).vector, Flops(12));
  EXPECT_THAT(refusal_of(with_loop("n")), HasSubstr("with 'loops: {steps: N}' beside the model"));
  ImportOptions options;
  options.loops = {{"steps", 5}};
  const Import given = with_loop("n").read(options);
  EXPECT_EQ(*given.graph.tensor(given.graph.outputs[1]).shape, (Shape{5, 4}));
  options.loops = {{"*", 1 << 20}};
  EXPECT_THAT(refusal_of(with_loop("n"), options), HasSubstr("more than 65536 nodes"));
}

TEST(ControlFlow, ScansSequences) {
  ModelMaker model;
  model.input("start", {4});
  model.input("rows", {6, 4});
  auto* const node = model.node("Scan", {"start", "rows"}, {"last", "sums"});
  set(node, "num_scan_inputs", 1);
  GraphMaker body = add_body(node, "body");
  body.input("state", {4});
  body.input("row", {4});
  body.node("Add", {"state", "row"}, {"next"});
  body.output("next");
  body.output("next");
  model.output("last");
  model.output("sums");
  const Import import = model.read();
  EXPECT_EQ(*import.graph.tensor(import.graph.outputs[0]).shape, (Shape{4}));
  EXPECT_EQ(*import.graph.tensor(import.graph.outputs[1]).shape, (Shape{6, 4}));
  EXPECT_EQ(total_cost(import.graph).vector, Flops(24));
}

TEST(ControlFlow, PutsFunctionsInPlaceOfCalls) {
  ModelMaker model;
  model.add_opset("own", 1);
  auto* const function = model.proto.add_functions();
  function->set_name("Twice");
  function->set_domain("own");
  function->add_input("a");
  function->add_output("c");
  auto* const opset = function->add_opset_import();
  opset->set_version(13);
  auto* const soft = function->add_node();
  soft->set_op_type("Softmax");
  soft->add_input("a");
  soft->add_output("b");
  auto* const axis = soft->add_attribute();
  axis->set_name("axis");
  axis->set_ref_attr_name("along");
  auto* const add = function->add_node();
  add->set_op_type("Add");
  add->add_input("b");
  add->add_input("b");
  add->add_output("c");
  model.input("x", {2, 3});
  auto* const call = model.node("Twice", {"x"}, {"y"}, "call");
  call->set_domain("own");
  set(call, "along", 0);
  model.output("y");
  const Import import = model.read();
  EXPECT_THAT(kinds_of(import.graph), ElementsAre("Softmax", "Add"));
  EXPECT_EQ(std::get<std::int64_t>(import.graph.nodes[0].attributes.at("axis")), 0);
  EXPECT_EQ(import.graph.nodes[0].version, 13);
}

TEST(ControlFlow, RefusesFunctionsThatCallThemselves) {
  ModelMaker model;
  auto* const function = model.proto.add_functions();
  function->set_name("Self");
  function->set_domain("own");
  function->add_input("a");
  function->add_output("b");
  auto* const node = function->add_node();
  node->set_op_type("Self");
  node->set_domain("own");
  node->add_input("a");
  node->add_output("b");
  model.input("x", {1});
  model.node("Self", {"x"}, {"y"})->set_domain("own");
  EXPECT_THAT(refusal_of(model), HasSubstr("call each other deeper than 64"));
}

TEST(ControlFlow, SequencesAreTheirParts) {
  ModelMaker model;
  model.input("x", {6, 4});
  model.number("last", -1);
  set(model.node("SplitToSequence", {"x"}, {"parts"}), "axis", 0);
  model.node("SequenceAt", {"parts", "last"}, {"one"});
  model.node("SequenceInsert", {"parts", "one"}, {"more"});
  model.node("SequenceLength", {"more"}, {"count"});
  set(model.node("ConcatFromSequence", {"more"}, {"y"}), "axis", 0);
  model.output("y");
  const Graph graph = model.read().graph;
  EXPECT_EQ(*graph.tensor(graph.outputs[0]).shape, (Shape{7, 4}));
}

}  // namespace
}  // namespace tessera::onnx::control_flow_test
