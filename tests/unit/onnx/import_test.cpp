// What stands in a file and in the options, and how shapes follow from it.
#include <filesystem>
#include <fstream>

#include "model.hpp"

namespace tessera::onnx::import_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Import, BindsDynamicDimensions) {
  ModelMaker model;
  model.dynamic_input("x", {"batch", "", "4"});
  model.node("Relu", {"x"}, {"y"});
  model.output("y");
  ImportOptions options;
  options.dimensions = {{"batch", 8}, {"x.1", 3}};
  EXPECT_EQ(shape_of(model.read(options).graph, "y"), (Shape{8, 3, 4}));
  options.dimensions = {{"x.0", 2}, {"x.1", 3}};
  EXPECT_EQ(shape_of(model.read(options).graph, "y"), (Shape{2, 3, 4}));
  options.dimensions = {};
  options.shapes = {{"x", {5, 6}}};
  EXPECT_EQ(shape_of(model.read(options).graph, "y"), (Shape{5, 6}));
}

TEST(Import, ComplainsOfAllThatIsNotBoundOrNotThere) {
  ModelMaker model;
  model.dynamic_input("x", {"batch", "", "4"});
  model.node("Relu", {"x"}, {"y"});
  EXPECT_THAT(refusal_of(model),
              AllOf(HasSubstr("dimension 'batch' of input 'x'"),
                    HasSubstr("bind it with 'dimensions: {x.1: N}' beside the model")));
  ImportOptions options;
  options.wording = Wording::options;
  EXPECT_THAT(refusal_of(model, options), HasSubstr("bind it with --dim 'x.1=N'"));
  options.dimensions = {{"batch", 1}, {"x.1", 1}, {"bach", 1}};
  EXPECT_THAT(refusal_of(model, options), HasSubstr("unknown dimension 'bach'; did you mean"));
  options.dimensions.erase("bach");
  options.values = {{"z", {1}}};
  EXPECT_THAT(refusal_of(model, options), HasSubstr("unknown input 'z'"));
  options.values = {};
  options.branches = {{"no_if", true}};
  EXPECT_THAT(refusal_of(model, options), HasSubstr("there is no such node"));
}

// Shape, Gather, Unsqueeze, Concat, Reshape: how exporters write x.view(batch, -1).
TEST(Import, FollowsShapesThroughConstants) {
  ModelMaker model;
  model.dynamic_input("x", {"batch", "6", "4"});
  model.number("zero", 0);
  model.numbers("axis", {0});
  model.numbers("open", {-1});
  model.node("Shape", {"x"}, {"shape"});
  model.node("Gather", {"shape", "zero"}, {"batch_size"});
  model.node("Unsqueeze", {"batch_size", "axis"}, {"batch_list"});
  set(model.node("Concat", {"batch_list", "open"}, {"wanted"}), "axis", 0);
  model.node("Reshape", {"x", "wanted"}, {"y"});
  model.output("y");
  ImportOptions options;
  options.dimensions = {{"batch", 3}};
  EXPECT_EQ(shape_of(model.read(options).graph, "y"), (Shape{3, 24}));
}

TEST(Import, ComputesWithSmallConstants) {
  ModelMaker model;
  model.input("x", {7, 9});
  model.numbers("two", {2});
  model.node("Shape", {"x"}, {"s"});
  model.node("Mul", {"s", "two"}, {"doubled"});
  model.node("Sub", {"doubled", "two"}, {"less"});
  model.node("Div", {"less", "two"}, {"halved"});
  model.node("ConstantOfShape", {"halved"}, {"y"});
  model.node("Size", {"y"}, {"n"});
  const Graph graph = model.read().graph;
  EXPECT_EQ(shape_of(graph, "y"), (Shape{6, 8}));
  EXPECT_THAT(tensor_of(graph, "n").values->integers, ElementsAre(48));
}

TEST(Import, SaysWhereTheFileStatesOtherShapes) {
  ModelMaker model;
  model.input("x", {2, 3});
  model.weight("w", {3, 5});
  model.node("MatMul", {"x", "w"}, {"y"});
  model.node("Relu", {"y"}, {"z"});
  model.output("y", {2, 5});
  model.output("z", {2, 6});
  const Import import = model.read();
  EXPECT_EQ(shape_of(import.graph, "z"), (Shape{2, 5}));
  EXPECT_THAT(import.notices, Contains(HasSubstr("for 1 tensors, such as 'z' (2x6, found 2x5)")));
}

TEST(Import, ConstantNodesAndInitializersAreParameters) {
  ModelMaker model;
  model.input("x", {2, 3});
  model.weight("w", {3, 5});
  auto* const value = model.node("Constant", {}, {"b"})->add_attribute();
  value->set_name("value");
  value->set_type(::onnx::AttributeProto::TENSOR);
  value->mutable_t()->set_data_type(1);
  value->mutable_t()->add_dims(5);
  value->mutable_t()->set_raw_data(std::string(20, '\0'));
  model.node("MatMul", {"x", "w"}, {"y"});
  model.node("Add", {"y", "b"}, {"z"});
  model.output("z");
  const Import import = model.read();
  EXPECT_EQ(import.file_parameters, 20U);
  EXPECT_EQ(constants_of(import.graph).parameters, 20U);
  EXPECT_EQ(import.graph.nodes.size(), 2U);
  EXPECT_TRUE(import.notices.empty());
  EXPECT_THAT(import.all_notices(),
              ElementsAre(HasSubstr("1 constants have no data: shapes only")));
}

TEST(Import, ChecksExternalData) {
  const auto folder = std::filesystem::temp_directory_path() / "tessera_onnx_external";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "data") << std::string("\3\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0", 16);
  ModelMaker model;
  model.input("x", {6, 2});
  auto* const tensor = model.proto.mutable_graph()->add_initializer();
  tensor->set_name("shape");
  tensor->set_data_type(7);
  tensor->add_dims(2);
  tensor->set_data_location(::onnx::TensorProto::EXTERNAL);
  auto* const place = tensor->add_external_data();
  place->set_key("location");
  place->set_value("data");
  model.node("Reshape", {"x", "shape"}, {"y"});
  const std::string path = (folder / "model.onnx").string();
  EXPECT_EQ(shape_of(import_model(model.bytes(), path, {}).graph, "y"), (Shape{3, 4}));
  place->set_value("nothing");
  EXPECT_THAT(refusal_of(model), HasSubstr("the values of its input 'shape' are not known"));
  place->set_value("../data");
  EXPECT_THAT(refusal_of(model), HasSubstr("outside the model's folder"));
  std::filesystem::remove_all(folder);
}

TEST(Import, RefusesWithNodeAndByte) {
  ModelMaker model;
  model.input("x", {2, 3});
  model.weight("w", {4, 5});
  model.node("MatMul", {"x", "w"}, {"y"}, "product");
  EXPECT_THAT(refusal_of(model),
              AllOf(HasSubstr("model.onnx: error: node 'product' (MatMul) at byte "),
                    HasSubstr("3 columns and 4 rows")));
  ModelMaker missing;
  missing.node("Relu", {"x"}, {"y"}, "early");
  EXPECT_THAT(refusal_of(missing), HasSubstr("reads 'x', which no node before it makes"));
  ModelMaker twice;
  twice.input("x", {1});
  twice.node("Relu", {"x"}, {"y"});
  twice.node("Abs", {"x"}, {"y"});
  EXPECT_THAT(refusal_of(twice), HasSubstr("makes 'y', which there is already"));
  ModelMaker old(6);
  EXPECT_THAT(refusal_of(old), HasSubstr("operator set 6; known are 7 to 27"));
  ModelMaker newer(28);
  EXPECT_THAT(refusal_of(newer), HasSubstr("operator set 28; known are 7 to 27"));
}

TEST(Import, UnknownOperatorsAreRefusedOrTraffic) {
  ModelMaker model;
  model.add_opset("my.domain", 1);
  model.input("x", {2, 3});
  model.node("Odd", {"x"}, {"y"}, "strange")->set_domain("my.domain");
  model.node("Relu", {"y"}, {"z"}, "behind");
  model.output("z");
  EXPECT_THAT(refusal_of(model),
              AllOf(HasSubstr("'strange' (Odd)"), HasSubstr("my.domain.Odd is not known")));
  ImportOptions options;
  options.unknown = Unknown::traffic;
  const Import import = model.read(options);
  EXPECT_FALSE(import.graph.nodes[0].unknown.empty());
  EXPECT_FALSE(import.graph.nodes[1].unknown.empty());
  EXPECT_EQ(cost_of(import.graph, import.graph.nodes[0]).read, Bytes(24));
  EXPECT_EQ(import.notices.size(), 2U);
}

// Where the file says the shape of what is not known, all behind it is understood.
TEST(Import, TakesDeclaredShapesForUnknownOperators) {
  ModelMaker model;
  model.input("x", {2, 3});
  model.node("Odd", {"x"}, {"y"})->set_domain("my.domain");
  model.node("Relu", {"y"}, {"z"});
  auto* const inner = model.proto.mutable_graph()->add_value_info();
  inner->set_name("y");
  inner->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  inner->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(7);
  ImportOptions options;
  options.unknown = Unknown::traffic;
  const Import import = model.read(options);
  EXPECT_EQ(shape_of(import.graph, "z"), (Shape{7}));
  EXPECT_TRUE(import.graph.nodes[1].unknown.empty());
}

TEST(Import, ReadsRealModels) {
  const std::string folder = MODELS_DIRECTORY;
  ImportOptions image;
  image.dimensions = {{"p2o.DynamicDimension.0", 1},
                      {"p2o.DynamicDimension.1", 640},
                      {"p2o.DynamicDimension.2", 640}};
  const Import detection = import_model(folder + "/pp_ocr_v4_det.onnx", image);
  EXPECT_EQ(*detection.graph.tensor(detection.graph.outputs[0]).shape, (Shape{1, 1, 640, 640}));
  EXPECT_EQ(constants_of(detection.graph).parameters, detection.file_parameters);
  image.dimensions["p2o.DynamicDimension.1"] = 48;
  image.dimensions["p2o.DynamicDimension.2"] = 192;
  const Import classes = import_model(folder + "/pp_ocr_v2_cls.onnx", image);
  EXPECT_EQ(*classes.graph.tensor(classes.graph.outputs[0]).shape, (Shape{1, 2}));
  ImportOptions speech;
  speech.dimensions = {{"input.0", 1}, {"input.1", 512}, {"state.1", 1}};
  speech.values = {{"sr", {16000}}};
  const Import voice = import_model(folder + "/silero_vad_v5.onnx", speech);
  EXPECT_EQ(*voice.graph.tensor(voice.graph.outputs[0]).shape, (Shape{1, 1}));
  EXPECT_EQ(*voice.graph.tensor(voice.graph.outputs[1]).shape, (Shape{2, 1, 128}));
  speech.values = {};
  try {
    import_model(folder + "/silero_vad_v5.onnx", speech);
    FAIL() << "the branch follows from nothing";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'If_0' (If) at byte 139: its condition is not known"));
  }
}

}  // namespace
}  // namespace tessera::onnx::import_test
