// An ONNX model that requests are served by: a list of operators for each number of samples.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "tessera/npu/core.hpp"
#include "tessera/onnx/graph.hpp"
#include "tessera/serving/served_model.hpp"

namespace tessera::sim {

struct ServedGraphSetup {
  const npu::CoreConfig& core;                  // outlives the model
  std::map<std::uint32_t, onnx::Graph> graphs;  // by samples
  std::optional<DataType> data_type;            // see LoweringOptions
  std::uint64_t cores = 1;                      // of an NPU
};

// Throws ConfigError for a graph without work, and what lower_graph throws.
std::unique_ptr<serving::ServedModel> make_served_graph(ServedGraphSetup setup);

}  // namespace tessera::sim
