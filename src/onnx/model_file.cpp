#include "model_file.hpp"

#include <onnx/onnx_pb.h>

#include <limits>
#include <utility>

#include "node_order.hpp"
#include "tensor_data.hpp"
#include "tessera/core/error.hpp"
#include "tessera/onnx/work.hpp"
#include "wire.hpp"

namespace tessera::onnx {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

// Files of IR version 1 leave the type out.
AttributeProto::AttributeType type_of(const AttributeProto& proto) {
  if (proto.type() != AttributeProto::UNDEFINED) {
    return proto.type();
  }
  return proto.has_f()             ? AttributeProto::FLOAT
         : proto.has_i()           ? AttributeProto::INT
         : proto.has_s()           ? AttributeProto::STRING
         : proto.has_t()           ? AttributeProto::TENSOR
         : proto.has_g()           ? AttributeProto::GRAPH
         : proto.ints_size() > 0   ? AttributeProto::INTS
         : proto.floats_size() > 0 ? AttributeProto::FLOATS
                                   : AttributeProto::STRINGS;
}

// "" and "ai.onnx" are one domain.
std::string domain_of(const std::string& name) {
  return name == "ai.onnx" ? "" : name;
}

class FileReader {
 public:
  explicit FileReader(const std::string& path) : path_(path) { file_.path = path; }

  ModelFile read(const ::onnx::ModelProto& proto, const ModelPlaces& places) {
    file_.producer = proto.producer_name();
    file_.ir_version = proto.ir_version();
    if (!proto.has_graph()) {
      throw ConfigError(Diagnostic{path_, 0, 0, "holds no graph: this is no ONNX model"});
    }
    for (const auto& opset : proto.opset_import()) {
      file_.opsets[domain_of(opset.domain())] = opset.version();
    }
    for (int i = 0; i < proto.functions_size(); ++i) {
      static const GraphPlace nowhere;
      const auto at = static_cast<std::size_t>(i);
      read_function(proto.functions(i),
                    at < places.functions.size() ? places.functions[at] : nowhere);
    }
    file_.graph = read_graph(proto.graph(), &places.graph);
    return std::move(file_);
  }

 private:
  void read_function(const ::onnx::FunctionProto& proto, const GraphPlace& place) {
    FileFunction function;
    function.inputs.assign(proto.input().begin(), proto.input().end());
    function.outputs.assign(proto.output().begin(), proto.output().end());
    for (const auto& opset : proto.opset_import()) {
      function.opsets[domain_of(opset.domain())] = opset.version();
    }
    function.body.name = proto.name();
    read_nodes(proto.node(), &place, function.body);
    put_in_order(function.body, path_);
    file_.functions[domain_of(proto.domain()) + ":" + proto.name()] = std::move(function);
  }

  FileGraph read_graph(const GraphProto& proto, const GraphPlace* place) {
    FileGraph graph;
    graph.name = proto.name();
    read_nodes(proto.node(), place, graph);
    for (const auto& initializer : proto.initializer()) {
      const Origin origin{"initializer '" + initializer.name() + "'", 0, false};
      graph.initializers.push_back(
          counted(read_tensor(initializer, path_, origin, file_.without_data)));
    }
    for (const auto& sparse : proto.sparse_initializer()) {
      const Origin origin{"initializer '" + sparse.values().name() + "'", 0, false};
      graph.initializers.push_back(counted(read_sparse_tensor(sparse, path_, origin)));
    }
    for (const auto& value : proto.input()) {
      graph.inputs.push_back(read_declared(value));
    }
    for (const auto& value : proto.output()) {
      graph.outputs.push_back(read_declared(value));
    }
    for (const auto& value : proto.value_info()) {
      graph.inner.push_back(read_declared(value));
    }
    put_in_order(graph, path_);
    return graph;
  }

  Tensor counted(Tensor tensor) {
    if (counts_as_parameter(tensor.type)) {
      file_.parameters += tensor.elements();
    }
    return tensor;
  }

  template <class Nodes>
  void read_nodes(const Nodes& nodes, const GraphPlace* place, FileGraph& graph) {
    for (int i = 0; i < nodes.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const bool placed = place != nullptr && at < place->nodes.size();
      graph.nodes.push_back(read_node(nodes[i], at, placed ? &place->nodes[at] : nullptr));
    }
  }

  FileNode read_node(const NodeProto& proto, std::size_t index, const NodePlace* place) {
    ++file_.nodes;
    FileNode node;
    node.name = proto.name();
    node.domain = domain_of(proto.domain());
    node.op = proto.op_type();
    node.inputs.assign(proto.input().begin(), proto.input().end());
    node.outputs.assign(proto.output().begin(), proto.output().end());
    node.origin.node = "node " + std::to_string(index) +
                       (node.name.empty() ? "" : " '" + node.name + "'") + " (" + node.op + ")";
    node.origin.offset = place != nullptr ? place->offset : 0;
    node.origin.has_offset = place != nullptr;
    std::size_t graphs = 0;
    for (const auto& attribute : proto.attribute()) {
      const GraphPlace* inner = nullptr;
      if (attribute.has_g() && place != nullptr && graphs < place->graphs.size()) {
        inner = &place->graphs[graphs++];
      }
      read_attribute(attribute, inner, node);
    }
    return node;
  }

  void read_attribute(const AttributeProto& proto, const GraphPlace* place, FileNode& node) {
    const std::string& name = proto.name();
    if (!proto.ref_attr_name().empty()) {
      node.references[name] = proto.ref_attr_name();
      return;
    }
    switch (type_of(proto)) {
      case AttributeProto::INT:
        node.attributes[name] = proto.i();
        break;
      case AttributeProto::FLOAT:
        node.attributes[name] = static_cast<double>(proto.f());
        break;
      case AttributeProto::STRING:
        node.attributes[name] = proto.s();
        break;
      case AttributeProto::INTS:
        node.attributes[name] = std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end());
        break;
      case AttributeProto::FLOATS:
        node.attributes[name] = std::vector<double>(proto.floats().begin(), proto.floats().end());
        break;
      case AttributeProto::STRINGS:
        node.attributes[name] =
            std::vector<std::string>(proto.strings().begin(), proto.strings().end());
        break;
      case AttributeProto::TENSOR:
        node.tensors[name] =
            counted_constant(node, read_tensor(proto.t(), path_, node.origin, file_.without_data));
        break;
      case AttributeProto::SPARSE_TENSOR:
        node.tensors[name] =
            counted_constant(node, read_sparse_tensor(proto.sparse_tensor(), path_, node.origin));
        break;
      case AttributeProto::GRAPH:
        node.graphs[name] = std::make_shared<const FileGraph>(read_graph(proto.g(), place));
        break;
      default:
        break;  // types and lists of tensors or graphs: no operator that is known here has any
    }
  }

  // The value of a Constant node is a constant of the model; other attributes are not.
  Tensor counted_constant(const FileNode& node, Tensor tensor) {
    return node.op == "Constant" ? counted(std::move(tensor)) : tensor;
  }

  static Declared read_declared(const ::onnx::ValueInfoProto& proto) {
    Declared declared;
    declared.name = proto.name();
    declared.is_tensor = proto.type().has_tensor_type();
    const auto& type = proto.type().tensor_type();
    declared.type = element_type_from(type.elem_type());
    declared.has_shape = type.has_shape();
    for (const auto& dimension : type.shape().dim()) {
      const bool known = dimension.has_dim_value() && dimension.dim_value() >= 0;
      declared.sides.push_back(known ? dimension.dim_value() : -1);
      declared.names.push_back(dimension.dim_param());
    }
    return declared;
  }

  const std::string& path_;
  ModelFile file_;
};

}  // namespace

void fail_at(const std::string& path, const Origin& origin, const std::string& problem) {
  std::string where = origin.node;
  if (origin.has_offset) {
    where += " at byte " + std::to_string(origin.offset);
  }
  throw ConfigError(Diagnostic{path, 0, 0, where + ": " + problem});
}

ModelFile read_model(const std::string& bytes, const std::string& path) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw ConfigError(Diagnostic{path, 0, 0,
                                 "has more than 2 GiB, which no message can have; weights of such "
                                 "models are external data"});
  }
  if (bytes.empty()) {
    throw ConfigError(Diagnostic{path, 0, 0, "is empty"});
  }
  const ModelPlaces places = scan_model(bytes, path);
  ::onnx::ModelProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw ConfigError(Diagnostic{path, 0, 0, "is no message of an ONNX model"});
  }
  return FileReader(path).read(proto, places);
}

}  // namespace tessera::onnx
