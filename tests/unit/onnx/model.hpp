// Models put together by hand, as bytes of a file.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/onnx/import.hpp"
#include "tessera/onnx/passes/optimize.hpp"
#include "tessera/onnx/work.hpp"

namespace tessera::onnx {

using Proto = ::onnx::ModelProto;
using Names = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

// Adds to a graph; `node` gives the proto for attributes.
class GraphMaker {
 public:
  explicit GraphMaker(::onnx::GraphProto* graph) : graph_(graph) {}

  void input(const std::string& name, const Numbers& sides, int type = 1) {
    add_value(graph_->add_input(), name, sides, type);
  }
  // A side without a number.
  void dynamic_input(const std::string& name, const Names& sides, int type = 1) {
    auto* const shape = add_value(graph_->add_input(), name, {}, type);
    for (const std::string& side : sides) {
      auto* const dimension = shape->add_dim();
      const bool is_number = !side.empty() && side[0] >= '0' && side[0] <= '9';
      if (is_number) {
        dimension->set_dim_value(std::stoll(side));
      } else if (!side.empty()) {
        dimension->set_dim_param(side);
      }
    }
  }
  void output(const std::string& name) { graph_->add_output()->set_name(name); }
  void output(const std::string& name, const Numbers& sides) {
    add_value(graph_->add_output(), name, sides, 1);
  }

  // A float constant without data.
  void weight(const std::string& name, const Numbers& sides, int type = 1) {
    auto* const tensor = graph_->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    tensor->mutable_dims()->Add(sides.begin(), sides.end());
  }
  void numbers(const std::string& name, const Numbers& values) {
    auto* const tensor = graph_->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(7);
    tensor->add_dims(static_cast<std::int64_t>(values.size()));
    tensor->mutable_int64_data()->Add(values.begin(), values.end());
  }
  void number(const std::string& name, std::int64_t value) {
    numbers(name, {value});
    graph_->mutable_initializer(graph_->initializer_size() - 1)->clear_dims();
  }
  void real(const std::string& name, float value) {
    auto* const tensor = graph_->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(1);
    tensor->add_float_data(value);
  }

  ::onnx::NodeProto* node(const std::string& op, const Names& inputs, const Names& outputs,
                          const std::string& name = "") {
    auto* const node = graph_->add_node();
    node->set_op_type(op);
    node->set_name(name);
    for (const std::string& each : inputs) {
      node->add_input(each);
    }
    for (const std::string& each : outputs) {
      node->add_output(each);
    }
    return node;
  }

 private:
  static ::onnx::TensorShapeProto* add_value(::onnx::ValueInfoProto* value, const std::string& name,
                                             const Numbers& sides, int type) {
    value->set_name(name);
    auto* const tensor = value->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    for (const std::int64_t side : sides) {
      tensor->mutable_shape()->add_dim()->set_dim_value(side);
    }
    return tensor->mutable_shape();
  }

  ::onnx::GraphProto* graph_;
};

inline void set(::onnx::NodeProto* node, const std::string& name, std::int64_t value) {
  auto* const attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::INT);
  attribute->set_i(value);
}
inline void set(::onnx::NodeProto* node, const std::string& name, const Numbers& values) {
  auto* const attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::INTS);
  attribute->mutable_ints()->Add(values.begin(), values.end());
}
inline void set_text(::onnx::NodeProto* node, const std::string& name, const std::string& value) {
  auto* const attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::STRING);
  attribute->set_s(value);
}
inline GraphMaker add_body(::onnx::NodeProto* node, const std::string& name) {
  auto* const attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  return GraphMaker(attribute->mutable_g());
}

// Stands before the maker that writes to it.
struct ProtoHolder {
  Proto proto;
};

class ModelMaker : public ProtoHolder, public GraphMaker {
 public:
  explicit ModelMaker(std::int64_t opset = 17) : GraphMaker(proto.mutable_graph()) {
    add_opset("", opset);
  }
  void add_opset(const std::string& domain, std::int64_t version) {
    auto* const opset = proto.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }
  std::string bytes() const { return proto.SerializeAsString(); }
  Import read(const ImportOptions& options = {}) const {
    return import_model(bytes(), "model.onnx", options);
  }
};

inline const Tensor& tensor_of(const Graph& graph, std::string_view name) {
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.name == name) {
      return tensor;
    }
  }
  throw InternalError("there is no tensor " + std::string(name));
}
inline Shape shape_of(const Graph& graph, const std::string& name) {
  return tensor_of(graph, name).shape.value();
}
inline Names kinds_of(const Graph& graph) {
  Names kinds;
  for (const Node& node : graph.nodes) {
    kinds.push_back(node.kind());
  }
  return kinds;
}
// "" when nothing is refused.
inline std::string refusal_of(const std::string& bytes, const ImportOptions& options = {}) {
  try {
    import_model(bytes, "model.onnx", options);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}
inline std::string refusal_of(const ModelMaker& model, const ImportOptions& options = {}) {
  return refusal_of(model.bytes(), options);
}

}  // namespace tessera::onnx
