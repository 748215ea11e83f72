#include "tessera/workload/graph.hpp"

#include <algorithm>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/workload/graph_workload.hpp"

namespace tessera::workload {

std::string to_string(GraphCollective collective) {
  switch (collective) {
    case GraphCollective::all_reduce:
      return "all_reduce";
    case GraphCollective::reduce:
      return "reduce";
    case GraphCollective::all_gather:
      return "all_gather";
    case GraphCollective::gather:
      return "gather";
    case GraphCollective::scatter:
      return "scatter";
    case GraphCollective::broadcast:
      return "broadcast";
    case GraphCollective::all_to_all:
      return "all_to_all";
    case GraphCollective::reduce_scatter:
      return "reduce_scatter";
    case GraphCollective::reduce_scatter_block:
      return "reduce_scatter_block";
    case GraphCollective::barrier:
      return "barrier";
  }
  throw InternalError("a collective outside its enumeration");
}

Registry<GraphWorkloadMaker>& graph_workloads() {
  static Registry<GraphWorkloadMaker> registry("graph workload");
  return registry;
}

const config::Key<std::uint64_t>& samples_of_graphs() {
  static const config::Key<std::uint64_t> key{"samples", 1,
                                              "of an iteration, which throughput counts",
                                              config::between<std::uint64_t>(1, 1'000'000'000)};
  return key;
}

std::vector<std::string> graph_collective_names() {
  std::vector<std::string> names;
  for (std::size_t number = 0; number < graph_collectives; ++number) {
    std::string name = to_string(static_cast<GraphCollective>(number));
    std::replace(name.begin(), name.end(), '_', '-');
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace tessera::workload
