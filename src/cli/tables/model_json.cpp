#include "tables/model_json.hpp"

#include "tessera/core/version.hpp"
#include "tessera/trace/json_text.hpp"

namespace tessera::cli {
namespace {

using trace::JsonText;

JsonText shapes_of(const onnx::Graph& graph, const std::vector<onnx::TensorIndex>& tensors) {
  JsonText list = JsonText::list();
  for (const onnx::TensorIndex at : tensors) {
    if (at == onnx::no_tensor) {
      continue;
    }
    const onnx::Tensor& tensor = graph.tensor(at);
    list.add(tensor.shape ? JsonText(onnx::to_string(*tensor.shape)) : JsonText::null());
  }
  return list;
}

void put_cost(JsonText& object, const onnx::Cost& cost) {
  object.put("flops", cost.flops().count())
      .put("matrix_flops", cost.matrix.count())
      .put("vector_flops", cost.vector.count())
      .put("read_bytes", cost.read.count())
      .put("weights_bytes", cost.weights.count())
      .put("written_bytes", cost.written.count())
      .put("parameters", cost.parameters);
}

JsonText node_of(const onnx::Graph& graph, const onnx::Node& node) {
  JsonText object = JsonText::object();
  object.put("name", node.name)
      .put("operator", node.kind())
      .put("understood", node.unknown.empty())
      .put("inputs", shapes_of(graph, node.inputs))
      .put("outputs", shapes_of(graph, node.outputs));
  put_cost(object, onnx::cost_of(graph, node));
  return object;
}

JsonText level_of(const LevelTotals& level) {
  JsonText passes = JsonText::list();
  for (const onnx::PassReport& pass : level.passes) {
    passes.add(JsonText::object().put("pass", pass.pass).put("changes", pass.changes));
  }
  JsonText object = JsonText::object();
  object.put("level", onnx::to_string(level.level)).put("nodes", level.nodes);
  put_cost(object, level.cost);
  object.put("passes", passes);
  return object;
}

JsonText opsets_of(const onnx::Import& model) {
  JsonText object = JsonText::object();
  for (const auto& [domain, version] : model.opsets) {
    object.put(domain.empty() ? "ai.onnx" : domain, version);
  }
  return object;
}

}  // namespace

std::string model_json(const onnx::Import& model, const std::vector<LevelTotals>& levels,
                       bool with_nodes) {
  JsonText each_level = JsonText::list();
  for (const LevelTotals& level : levels) {
    each_level.add(level_of(level));
  }
  JsonText nodes = JsonText::list();
  for (const onnx::Node& node : model.graph.nodes) {
    if (with_nodes) {
      nodes.add(node_of(model.graph, node));
    }
  }
  JsonText notices = JsonText::list();
  for (const std::string& notice : model.all_notices()) {
    notices.add(notice);
  }
  const onnx::ConstantCount constants = onnx::constants_of(model.graph);
  return JsonText::object()
      .put("file_type", "tessera-model")
      .put("format_version", "1.0")
      .put("model", model.graph.path)
      .put("name", model.graph.name)
      .put("producer", model.producer)
      .put("opsets", opsets_of(model))
      .put("file_nodes", model.file_nodes)
      .put("file_parameters", model.file_parameters)
      .put("parameters", constants.parameters)
      .put("constants_bytes", constants.bytes.count())
      .put("levels", each_level)
      .put("nodes", nodes)
      .put("notices", notices)
      .put("versions", JsonText::object()
                           .put("tessera", std::string(version()))
                           .put("git", std::string(git_hash())))
      .to_string();
}

}  // namespace tessera::cli
