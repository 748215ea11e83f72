// A hypercube: NPUs whose numbers differ in one bit are neighbours.
#include <array>

#include "graph/builder.hpp"
#include "readers.hpp"

namespace tessera::machine {
namespace {

const config::RequiredKey<std::uint32_t> dimensions_key{
    "dimensions", "number of dimensions, 1 to 20; there are 2^dimensions NPUs",
    config::between(1U, 20U)};

std::unique_ptr<Topology> make_hypercube(config::Section& section) {
  const std::uint32_t dimensions = dimensions_key.read(section);
  std::vector<LinkClass> classes{read_link_class(section, "link")};
  if (dimensions == 0 || !was_read(classes.front())) {
    return nullptr;
  }
  const std::uint32_t nodes = 1U << dimensions;
  if (!fits_generated_limit(section, "dimensions", nodes, std::uint64_t{nodes} * dimensions)) {
    return nullptr;
  }
  GraphBuilder graph(std::move(classes));
  graph.add_nodes("npu", nodes, true);
  for (std::uint32_t bit = 0; bit < dimensions; ++bit) {
    for (std::uint32_t node = 0; node < nodes; ++node) {
      if ((node >> bit & 1U) == 0) {
        graph.join(node, node | 1U << bit, 0);
      }
    }
  }
  return std::move(graph).build("ecmp");
}

const Registration hypercube_registration(topologies(),
                                          {"hypercube",
                                           "NPUs whose numbers differ in one bit are neighbours",
                                           with_links({dimensions_key}, std::array{""})},
                                          make_hypercube);

}  // namespace
}  // namespace tessera::machine
