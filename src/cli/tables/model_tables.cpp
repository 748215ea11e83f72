#include "tables/model_tables.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "tessera/core/text.hpp"

namespace tessera::cli {
namespace {

std::string shapes_of(const onnx::Graph& graph, const std::vector<onnx::TensorIndex>& tensors,
                      bool parameters) {
  std::string text;
  for (const onnx::TensorIndex at : tensors) {
    if (at == onnx::no_tensor) {
      continue;
    }
    const onnx::Tensor& tensor = graph.tensor(at);
    // Of constants, those that describe shapes are left out.
    if (tensor.role == onnx::Role::parameter &&
        !(parameters && tensor.shape && tensor.shape->size() > 1)) {
      continue;
    }
    text += (text.empty() ? "" : " ") + (tensor.shape ? onnx::to_string(*tensor.shape) : "?");
  }
  return text.empty() ? "-" : text;
}

std::vector<std::string> cost_cells(const onnx::Cost& cost) {
  return {std::to_string(cost.flops().count()), std::to_string(cost.read.count()),
          std::to_string(cost.weights.count()), std::to_string(cost.written.count()),
          std::to_string(cost.parameters)};
}

std::string change(std::uint64_t now, std::uint64_t before) {
  if (before == 0) {
    return "";
  }
  const double share = static_cast<double>(now) / static_cast<double>(before);
  const auto thousandths = std::llround(share * 1000);
  return std::to_string(thousandths / 10) + "." + std::to_string(thousandths % 10) + " %";
}

}  // namespace

std::string node_table(const onnx::Graph& graph) {
  TextTable table({"node", "operator", "inputs", "outputs", "FLOPs", "read [B]", "weights [B]",
                   "written [B]", "parameters"});
  for (const onnx::Node& node : graph.nodes) {
    std::vector<std::string> row{node.name, node.kind() + (node.unknown.empty() ? "" : " (?)"),
                                 shapes_of(graph, node.inputs, true),
                                 shapes_of(graph, node.outputs, false)};
    for (std::string& cell : cost_cells(onnx::cost_of(graph, node))) {
      row.push_back(std::move(cell));
    }
    table.add(row);
  }
  return table.to_string();
}

std::string kind_table(const onnx::Graph& graph) {
  struct Sum {
    std::uint64_t nodes = 0;
    onnx::Cost cost;
  };
  std::map<std::string, Sum> sums;
  for (const onnx::Node& node : graph.nodes) {
    Sum& sum = sums[node.kind() + (node.unknown.empty() ? "" : " (?)")];
    ++sum.nodes;
    sum.cost += onnx::cost_of(graph, node);
  }
  std::vector<std::pair<std::string, Sum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.cost.flops(), a.second.cost.traffic()) >
           std::pair(b.second.cost.flops(), b.second.cost.traffic());
  });
  TextTable table(
      {"operator", "nodes", "FLOPs", "read [B]", "weights [B]", "written [B]", "parameters"});
  for (const auto& [kind, sum] : sorted) {
    std::vector<std::string> row{kind, std::to_string(sum.nodes)};
    for (std::string& cell : cost_cells(sum.cost)) {
      row.push_back(std::move(cell));
    }
    table.add(row);
  }
  return table.to_string();
}

std::string level_table(const std::vector<LevelTotals>& levels) {
  TextTable table({"level", "nodes", "FLOPs", "read [B]", "weights [B]", "written [B]",
                   "traffic [B]", "of none"});
  std::string passes;
  for (const LevelTotals& level : levels) {
    const onnx::Cost& cost = level.cost;
    table.add({onnx::to_string(level.level), std::to_string(level.nodes),
               std::to_string(cost.flops().count()), std::to_string(cost.read.count()),
               std::to_string(cost.weights.count()), std::to_string(cost.written.count()),
               std::to_string(cost.traffic().count()),
               change(cost.traffic().count(), levels.front().cost.traffic().count())});
  }
  for (const onnx::PassReport& pass : levels.back().passes) {
    passes += "changed by " + pass.pass + ": " + std::to_string(pass.changes) + "\n";
  }
  return table.to_string() + passes;
}

std::string totals(const onnx::Import& model, const LevelTotals& level) {
  const onnx::ConstantCount constants = onnx::constants_of(model.graph);
  std::string opsets;
  for (const auto& [domain, version] : model.opsets) {
    opsets += (opsets.empty() ? "" : ", ") + (domain.empty() ? "" : domain + " ") +
              std::to_string(version);
  }
  std::uint64_t unknown = 0;
  for (const onnx::Node& node : model.graph.nodes) {
    unknown += node.unknown.empty() ? 0 : 1;
  }
  const onnx::Cost& cost = level.cost;
  const auto line = [](const std::string& name, const std::string& value) {
    std::string padded = name;
    padded.resize(20, ' ');
    return padded + value + "\n";
  };
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  return line("model",
              model.graph.path + (model.graph.name.empty() ? "" : " (" + model.graph.name + ")")) +
         line("producer", model.producer.empty() ? "-" : model.producer) + line("opset", opsets) +
         line("nodes in the file", number(model.file_nodes)) +
         line("level", onnx::to_string(level.level)) + line("nodes", number(level.nodes)) +
         line("FLOPs", number(cost.flops().count())) +
         line("  matrix", number(cost.matrix.count())) +
         line("  vector", number(cost.vector.count())) +
         line("traffic [B]", number(cost.traffic().count())) +
         line("parameters", number(constants.parameters)) +
         line("  in the file", number(model.file_parameters)) +
         line("constants [B]", number(constants.bytes.count())) +
         line("not understood", number(unknown) + " nodes");
}

}  // namespace tessera::cli
