// What `tessera import` says of a model.
#pragma once

#include <string>
#include <vector>

#include "tessera/onnx/import.hpp"
#include "tessera/onnx/passes/optimize.hpp"

namespace tessera::cli {

// Totals of a model brought to a level.
struct LevelTotals {
  onnx::Level level = onnx::Level::none;
  std::size_t nodes = 0;
  onnx::Cost cost;
  std::vector<onnx::PassReport> passes;
};

// A row a node: operator, shapes, FLOPs, bytes, parameters.
std::string node_table(const onnx::Graph& graph);
// A row a kind of operator, the most expensive first.
std::string kind_table(const onnx::Graph& graph);
// A row a level, and what each pass changed.
std::string level_table(const std::vector<LevelTotals>& levels);
// Exact numbers, a line each.
std::string totals(const onnx::Import& model, const LevelTotals& level);

}  // namespace tessera::cli
