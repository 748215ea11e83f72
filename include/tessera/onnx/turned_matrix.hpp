// A Transpose that turns one matrix.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/onnx/graph.hpp"

namespace tessera::onnx {

struct TurnedMatrix {
  std::uint64_t rows = 0;  // of the input, which become columns
  std::uint64_t columns = 0;
};

// Where the axes of a Transpose come round as a whole, sides of one apart, those that come to the
// end are rows and those that come to the front columns of one matrix. Nothing for other nodes.
std::optional<TurnedMatrix> turned_matrix(const Graph& graph, const Node& node);

}  // namespace tessera::onnx
