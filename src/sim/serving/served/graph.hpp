// An ONNX model that requests are served by: a list of operators for each number of samples, made
// when a batch of so many comes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tessera/npu/core/core.hpp"
#include "tessera/onnx/graph.hpp"
#include "tessera/serving/served_model.hpp"

namespace tessera::sim {

struct ServedGraphSetup {
  const npu::CoreConfig& core;  // outlives the model
  // The model for so many samples. Called by ranks that are threads, one at a time.
  std::function<onnx::Graph(std::uint32_t samples)> graph_of;
  std::vector<std::uint32_t> samples;  // that can come, ascending; not empty
  std::optional<DataType> data_type;   // see LoweringOptions
  std::uint64_t cores = 1;             // of an NPU
};

// Looks at the fewest and the most samples: throws ConfigError for a graph without work, and what
// `graph_of` and lower_graph throw.
std::unique_ptr<serving::ServedModel> make_served_graph(ServedGraphSetup setup);

}  // namespace tessera::sim
