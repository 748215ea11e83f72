// Workloads that are graphs, by kind, as an experiment names them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/workload/graph.hpp"
#include "tessera/workload/tensors.hpp"

namespace tessera::workload {

// What a maker may want to know of the experiment.
struct GraphRequest {
  std::uint32_t npus = 0;  // of the machine
  const config::TextLoader& load;
  std::function<NpuMemories()> memories = {};  // absent: nothing is known of them
};

// Kinds:
//   chakra      {traces: PREFIX, groups: FILE.json}
//               Reads PREFIX.<npu>.et for each NPU; paths are relative to the file that gives them.
//               The machine must have as many NPUs as there are files.
//   collective  {collective, size | sizes, repeat, root}
//               One collective of all NPUs, again and again. `size` is what a node of a trace gives
//               (GraphNode::bytes); `sizes` is for an all-to-all with one for each pair.
// A maker reads its section (all keys but `kind` and `name`) and returns null after complaints.
using GraphWorkloadMaker =
    std::function<std::unique_ptr<GraphSource>(config::Section&, const GraphRequest&)>;
Registry<GraphWorkloadMaker>& graph_workloads();
// Samples of an iteration, which throughput counts; read by whoever asks for the graphs.
const config::Key<std::uint64_t>& samples_of_graphs();

}  // namespace tessera::workload
