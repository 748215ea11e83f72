// Reads the workload `onnx` as operators that NPU cores share: the keys of onnx/description.hpp,
// and some of onnx/keys.hpp and chip/keys.hpp.
#include "chip/experiment.hpp"

#include <algorithm>
#include <set>
#include <variant>

#include "chip/keys.hpp"
#include "onnx/keys.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/onnx/description.hpp"
#include "tessera/onnx/import.hpp"
#include "tessera/onnx/passes/optimize.hpp"
#include "tessera/onnx/work.hpp"
#include "tessera/sim/onnx/lowering.hpp"

namespace tessera::sim {
namespace {

using config::Section;

ModelSurvey look_at(const onnx::Import& model, const onnx::Description& description) {
  const onnx::Graph& graph = model.graph;
  const onnx::Cost cost = onnx::total_cost(graph);
  ModelSurvey survey;
  survey.path = description.path;
  survey.level = onnx::to_string(description.level);
  survey.file_nodes = model.file_nodes;
  survey.nodes = graph.nodes.size();
  survey.parameters = cost.parameters;
  survey.matrix = cost.matrix;
  survey.vector = cost.vector;
  survey.traffic = cost.traffic();
  for (const onnx::Node& node : graph.nodes) {
    survey.views += std::holds_alternative<onnx::View>(onnx::work_of(graph, node)) ? 1 : 0;
    if (!node.unknown.empty()) {
      survey.unknown.push_back(node.name);
    }
  }
  return survey;
}

bool masks_attention(const onnx::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const onnx::Node& node) {
    const onnx::Work work = onnx::work_of(graph, node);
    const auto* const attention = std::get_if<onnx::Attention>(&work);
    return attention != nullptr && attention->is_masked();
  });
}

// Where it is not given it is asked for all the same, as complaints about other keys name it, but
// not resolved.
std::vector<std::string> read_free(Section& workload) {
  const config::ListKey<std::string>& key = chip_keys().free;
  if (!workload.has(key.key())) {
    workload.raw(key.key());
    return {};
  }
  return key.read(workload);
}

void refuse_missing_types(Section& workload, const onnx::Graph& graph,
                          const std::vector<std::string>& free) {
  std::set<std::string> types;
  for (const onnx::Node& node : graph.nodes) {
    types.insert(node.op);
  }
  const std::vector<std::string> names(types.begin(), types.end());
  for (const std::string& type : free) {
    if (!types.contains(type)) {
      workload.error("free", unknown_name("type of node", type, names));
    }
  }
}

}  // namespace

std::unique_ptr<executor::ChipWork> read_model(Section& workload, ChipStart start,
                                               std::optional<ModelSurvey>& survey) {
  executor::ChipWork& work = *start.work;
  const std::optional<DataType> data_type = data_type_from(model_keys().data_type.read(workload));
  const bool drain = chip_keys().drain.read(workload);
  const std::vector<std::string> free = read_free(workload);
  const onnx::Description description = onnx::read_description(workload);
  if (!start.is_complete) {
    workload.error("kind",
                   "a model runs on NPU cores, which share its operators (compute.model: npu), or "
                   "with a `strategy` beside the workload, which cuts it, on tiles of any model");
  }
  if (!start.is_complete || !workload.has("model")) {
    return nullptr;
  }
  try {
    onnx::Import model = onnx::import_model(description.path, description.options);
    onnx::optimize(model.graph, description.level);
    survey = look_at(model, description);
    onnx::tell_notices(workload, description, model.notices);
    if (masks_attention(model.graph)) {
      workload.tell("NPU cores also compute the masked part of attention");
    }
    refuse_missing_types(workload, model.graph, free);
    work.data_type = data_type.value_or(DataType::fp32);
    work.operators = lower_graph(
        model.graph, {work.core, work.cores.size(), data_type, drain, {free.begin(), free.end()}});
  } catch (const ConfigError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      const std::string file = diagnostic.file.empty() ? "" : diagnostic.file + ": ";
      workload.error("model", file + diagnostic.message);
    }
    return nullptr;
  } catch (const IoError& error) {
    workload.error("model", error.what());
    return nullptr;
  }
  if (work.operators.empty()) {
    workload.error("model", "the model has nothing to compute or move");
    return nullptr;
  }
  number_names(work);
  return std::move(start.work);
}

}  // namespace tessera::sim
