// What `tessera import` says of a model, as JSON.
#pragma once

#include <string>
#include <vector>

#include "tables/model_tables.hpp"

namespace tessera::cli {

// One object; docs/json-output.md says where its keys are explained. `with_nodes`: a row a node.
std::string model_json(const onnx::Import& model, const std::vector<LevelTotals>& levels,
                       bool with_nodes);

}  // namespace tessera::cli
