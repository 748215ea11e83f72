#include "mutate.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace tessera::soak {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;

constexpr std::array<std::int64_t, 20> odd_numbers{
    0,  1,  -1,  2,  3,   -2,  7,          64,          255,        65'536,
    -5, 16, 100, 18, 127, 128, 2147483647, -2147483648, 1LL << 47U, INT64_MIN};

const std::array<const char*, 60> operators{"Add",
                                            "MatMul",
                                            "Gemm",
                                            "Conv",
                                            "ConvTranspose",
                                            "Reshape",
                                            "Transpose",
                                            "Slice",
                                            "Gather",
                                            "Concat",
                                            "Split",
                                            "Pad",
                                            "Tile",
                                            "Expand",
                                            "Resize",
                                            "Einsum",
                                            "LSTM",
                                            "GRU",
                                            "RNN",
                                            "MaxPool",
                                            "AveragePool",
                                            "Softmax",
                                            "LayerNormalization",
                                            "BatchNormalization",
                                            "ReduceMean",
                                            "ReduceSum",
                                            "TopK",
                                            "NonZero",
                                            "NonMaxSuppression",
                                            "OneHot",
                                            "Range",
                                            "ConstantOfShape",
                                            "ScatterND",
                                            "GatherND",
                                            "GatherElements",
                                            "DFT",
                                            "STFT",
                                            "GridSample",
                                            "Det",
                                            "Col2Im",
                                            "DepthToSpace",
                                            "SpaceToDepth",
                                            "Unsqueeze",
                                            "Squeeze",
                                            "Flatten",
                                            "Cast",
                                            "Where",
                                            "Mod",
                                            "If",
                                            "Loop",
                                            "Scan",
                                            "SplitToSequence",
                                            "SequenceConstruct",
                                            "SequenceAt",
                                            "ConcatFromSequence",
                                            "Identity",
                                            "Constant",
                                            "CenterCropPad",
                                            "Unique",
                                            "Div"};

std::int64_t odd_number(Random& random) {
  if (pick(random, 8) == 0) {
    return static_cast<std::int64_t>(random());
  }
  return odd_numbers[pick(random, odd_numbers.size())];
}

void damage_attribute(AttributeProto& attribute, Random& random) {
  if (attribute.ints_size() > 0 && pick(random, 3) > 0) {
    attribute.set_ints(
        static_cast<int>(pick(random, static_cast<std::size_t>(attribute.ints_size()))),
        odd_number(random));
  } else if (attribute.ints_size() > 0 && pick(random, 2) == 0) {
    attribute.add_ints(odd_number(random));
  } else if (attribute.has_i()) {
    attribute.set_i(odd_number(random));
  } else if (attribute.has_t() && attribute.t().dims_size() > 0) {
    attribute.mutable_t()->set_dims(0, odd_number(random));
  } else if (attribute.has_t() && !attribute.t().raw_data().empty()) {
    std::string* const raw = attribute.mutable_t()->mutable_raw_data();
    (*raw)[pick(random, raw->size())] = static_cast<char>(random());
  } else if (attribute.has_s()) {
    attribute.set_s(pick(random, 2) == 0 ? "" : attribute.s() + ",ij->ji...");
  } else {
    attribute.set_type(static_cast<AttributeProto::AttributeType>(pick(random, 12)));
  }
}

std::string some_name(const GraphProto& graph, Random& random) {
  const auto count = static_cast<std::size_t>(graph.node_size());
  const NodeProto& node = graph.node(static_cast<int>(pick(random, count)));
  return node.output_size() > 0 ? node.output(0) : std::string();
}

void damage_node(NodeProto& node, const GraphProto& graph, Random& random) {
  const std::size_t inputs = static_cast<std::size_t>(node.input_size());
  switch (pick(random, 7)) {
    case 0:
      node.set_op_type(operators[pick(random, operators.size())]);
      break;
    case 1:
      if (inputs > 0) {
        node.set_input(static_cast<int>(pick(random, inputs)), some_name(graph, random));
      }
      break;
    case 2:
      node.add_input(some_name(graph, random));
      break;
    case 3:
      if (inputs > 0) {
        node.mutable_input()->RemoveLast();
      }
      break;
    case 4:
      if (node.output_size() > 0 && pick(random, 2) == 0) {
        node.set_output(0, "");
      } else {
        node.add_output("more" + std::to_string(random()));
      }
      break;
    case 5: {
      AttributeProto* const attribute = node.add_attribute();
      const std::array names{"axis", "axes", "perm", "group", "strides", "pads", "to", "k", "body"};
      attribute->set_name(names[pick(random, names.size())]);
      attribute->set_type(AttributeProto::INT);
      attribute->set_i(odd_number(random));
      break;
    }
    default:
      if (node.attribute_size() > 0) {
        const auto count = static_cast<std::size_t>(node.attribute_size());
        damage_attribute(*node.mutable_attribute(static_cast<int>(pick(random, count))), random);
      }
  }
}

// The graph of the model, or one within one of its nodes.
GraphProto* some_graph(ModelProto& model, Random& random) {
  GraphProto* graph = model.mutable_graph();
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g() && pick(random, 3) == 0) {
        graph = attribute.mutable_g();
      }
    }
  }
  return graph;
}

void damage_sides(GraphProto& graph, Random& random) {
  const auto inputs = static_cast<std::size_t>(graph.input_size());
  const auto constants = static_cast<std::size_t>(graph.initializer_size());
  if (constants > 0 && pick(random, 2) == 0) {
    auto* const tensor = graph.mutable_initializer(static_cast<int>(pick(random, constants)));
    if (tensor->dims_size() > 0 && pick(random, 4) > 0) {
      tensor->set_dims(
          static_cast<int>(pick(random, static_cast<std::size_t>(tensor->dims_size()))),
          odd_number(random));
    } else {
      tensor->set_data_type(static_cast<int>(pick(random, 25)));
    }
  } else if (inputs > 0) {
    auto* const shape = graph.mutable_input(static_cast<int>(pick(random, inputs)))
                            ->mutable_type()
                            ->mutable_tensor_type()
                            ->mutable_shape();
    if (shape->dim_size() > 0) {
      const auto sides = static_cast<std::size_t>(shape->dim_size());
      shape->mutable_dim(static_cast<int>(pick(random, sides)))->set_dim_value(odd_number(random));
    }
  }
}

}  // namespace

std::size_t pick(Random& random, std::size_t count) {
  return static_cast<std::size_t>(random() % count);
}

std::string damage_bytes(std::string bytes, const std::string& other, Random& random) {
  const std::size_t times = 1 + pick(random, 8);
  for (std::size_t i = 0; i < times && !bytes.empty(); ++i) {
    const std::size_t at = pick(random, bytes.size());
    const std::size_t length = 1 + pick(random, std::min<std::size_t>(64, bytes.size() - at));
    switch (pick(random, 8)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << pick(random, 8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(random());
        break;
      case 2:
        bytes[at] = static_cast<char>(0xFF);
        break;
      case 3:
        bytes.erase(at, length);
        break;
      case 4:
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 5:
        if (!other.empty()) {
          bytes.replace(at, length, other.substr(pick(random, other.size()), length));
        }
        break;
      case 6:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length,
                    static_cast<char>(0x80));
        break;
      default:
        if (pick(random, 4) == 0) {
          bytes.resize(at);
        }
    }
  }
  return bytes;
}

std::string damage_model(const std::string& bytes, Random& random) {
  ModelProto model;
  if (!model.ParseFromString(bytes) || model.graph().node_size() == 0) {
    return bytes;
  }
  const std::size_t times = 1 + pick(random, 6);
  for (std::size_t i = 0; i < times; ++i) {
    GraphProto& graph = *some_graph(model, random);
    if (graph.node_size() == 0) {
      continue;
    }
    if (pick(random, 4) == 0) {
      damage_sides(graph, random);
    } else {
      const auto count = static_cast<std::size_t>(graph.node_size());
      damage_node(*graph.mutable_node(static_cast<int>(pick(random, count))), graph, random);
    }
  }
  if (pick(random, 10) == 0 && model.opset_import_size() > 0) {
    model.mutable_opset_import(0)->set_version(7 + static_cast<std::int64_t>(pick(random, 12)));
  }
  return model.SerializeAsString();
}

}  // namespace tessera::soak
