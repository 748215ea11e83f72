// An ONNX model that requests are served by on tiles: for each number of samples its operators in
// layers (onnx/layers.hpp), cut as a strategy cuts them (plan/sharder.hpp), made when a batch of so
// many comes.
//
// A tile takes its operators one after the other, each the time that the compute model gives for
// its product, FLOPs and bytes. Tensor parallel: what the graph says can be cut is, with an
// all-reduce behind each product that was cut by its depth. Pipeline parallel: stages are layers of
// nearly equal FLOPs, of the largest batch; each unit hands what crosses on to its like in the next
// stage.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tessera/core/data_type.hpp"
#include "tessera/onnx/graph.hpp"
#include "tessera/serving/served_model.hpp"

namespace tessera::sim {

struct ServedLayersSetup {
  // The model for so many samples. Called by ranks that are threads, one at a time.
  std::function<onnx::Graph(std::uint32_t samples)> graph_of;
  std::vector<std::uint32_t> samples;  // that can come, ascending; not empty
  DataType data_type = DataType::fp16;
  std::uint32_t tensor = 1;    // units that share each layer
  std::uint32_t pipeline = 1;  // stages
};

// Looks at the fewest and the most samples. Throws ConfigError ("KEY: ...", KEY `tensor` or
// `pipeline`) for a model that cannot be cut so, and what `graph_of` and layers_of throw. The model
// throws the same for other numbers of samples, when it meets them.
std::unique_ptr<serving::ServedModel> make_served_layers(ServedLayersSetup setup);

}  // namespace tessera::sim
