// Tensors of graphs of vertices, as YAML, and what vertices access of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/workload/graph_workload.hpp"
#include "tessera/workload/tensors.hpp"
#include "vertices/graph.hpp"

namespace tessera::workload {

// Reads `key`: all, a number of an NPU, a range, or a list of these.
void read_places(config::Section& section, const char* key, std::uint32_t npus, bool& everywhere,
                 std::vector<std::uint32_t>& places);

class VertexTensors {
 public:
  // Reads `tensors` and `local_capacity`.
  VertexTensors(config::Section& section, const GraphRequest& request);

  // Reads `uses` of a vertex whose places are known, and adds them to its bytes.
  void read_uses(config::Section& section, Vertex& vertex);
  // Where tensors are; nullopt if there are none or after complaints.
  std::optional<TensorPlacement> place();

 private:
  std::optional<TensorUse> read_use(config::Section& section, const config::Value& item) const;
  void state_capacity(config::Section& section);

  std::vector<config::Section> sections_;
  TensorPlacement placement_;
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<std::uint32_t> first_use_;  // [tensors] number of the vertex, in the file's order
  std::uint32_t vertices_ = 0;            // asked for their uses so far
  bool good_ = true;
};

// `tensors` and `local_capacity`, for `tessera list`.
std::vector<ParameterInfo> tensor_parameters();

// Puts what vertices access in memory that is not an NPU's own into the graph.
void note_remote(const TensorPlacement& placement, VertexGraph& graph);

}  // namespace tessera::workload
