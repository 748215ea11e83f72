#include "graphs/natural_dimensions.hpp"

#include <algorithm>

#include "tessera/executor/collectives/group_dimensions.hpp"

namespace tessera::sim {
namespace {

std::vector<NaturalDimension> of_machine(const machine::Topology& topology) {
  std::vector<NaturalDimension> dimensions;
  if (const machine::Stack* stack = topology.stack(); stack != nullptr) {
    for (const machine::StackDimension& dimension : stack->dimensions()) {
      // ASTRA-sim 2.0, Table I.
      const char* algorithm = dimension.block == machine::Block::ring ? "ring"
                              : dimension.block == machine::Block::fully_connected
                                  ? "direct"
                                  : "halving-doubling";
      dimensions.push_back({dimension.size, algorithm});
    }
  } else if (const auto grid = topology.grid()) {
    dimensions.push_back({grid->columns, "ring"});
    dimensions.push_back({grid->rows, "ring"});
  } else if (const auto cluster = topology.cluster()) {
    dimensions.push_back({cluster->accelerators, "ring"});
    dimensions.push_back({cluster->servers, "ring"});
  } else {
    dimensions.push_back({topology.computing_nodes(), "ring"});
  }
  return dimensions;
}

}  // namespace

std::vector<NaturalDimension> natural_dimensions(const machine::Topology& topology,
                                                 const std::vector<EntityId>& npus) {
  std::vector<NaturalDimension> dimensions = of_machine(topology);
  if (npus.size() == topology.computing_nodes() && std::is_sorted(npus.begin(), npus.end())) {
    return dimensions;
  }
  std::vector<NaturalDimension> one{{static_cast<std::uint32_t>(npus.size()), "ring"}};
  const machine::NodeOrder all = topology.computing_node_ids();
  std::vector<std::uint32_t> numbers;
  for (const EntityId node : npus) {
    const auto found = std::lower_bound(all.begin(), all.end(), node);
    numbers.push_back(static_cast<std::uint32_t>(found - all.begin()));
  }
  std::uint64_t product = 1;
  std::vector<std::uint32_t> sizes;
  for (const NaturalDimension& dimension : dimensions) {
    sizes.push_back(dimension.size);
    product *= dimension.size;
  }
  if (!std::is_sorted(numbers.begin(), numbers.end()) || product != all.size()) {
    return one;
  }
  const std::vector<std::vector<std::uint32_t>> box = executor::box_of(numbers, sizes);
  if (box.empty()) {
    return one;
  }
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    dimensions[d].size = static_cast<std::uint32_t>(box[d].size());
  }
  return dimensions;
}

}  // namespace tessera::sim
