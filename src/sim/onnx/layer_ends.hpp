// Where the nodes of a model are cut into layers: see sim/onnx/layers.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "onnx/operators.hpp"

namespace tessera::sim {

// What crosses between a node and the one before it.
struct Crossing {
  std::uint64_t tensors = 0;
  std::uint64_t elements = 0;
  bool is_open = true;  // a layer may end here
};

// [nodes + 1] before each node, and behind the last.
std::vector<Crossing> crossings_of(const OnnxSurvey& survey, const std::vector<NodeCut>& cuts,
                                   const OnnxOperators& operators);

// First nodes of the layers, and the number of nodes. `flops` [nodes].
std::vector<NodeNumber> layer_ends(const std::vector<Crossing>& crossings,
                                   const std::vector<std::uint64_t>& flops);

}  // namespace tessera::sim
