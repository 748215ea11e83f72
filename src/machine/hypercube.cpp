// A hypercube: NPUs whose numbers differ in one bit are neighbours.
#include "graph_builder.hpp"
#include "readers.hpp"

namespace tessera::machine {
namespace {

std::unique_ptr<Topology> make(config::Section& section) {
  const auto dimensions = static_cast<std::uint32_t>(
      section.get<std::int64_t>("dimensions", config::between<std::int64_t>(1, 20)));
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

std::vector<ParameterInfo> parameters() {
  std::vector<ParameterInfo> all{{"dimensions", "", "", "2^dimensions NPUs, 1 to 20"}};
  for (ParameterInfo& parameter : link_parameters("")) {
    all.push_back(std::move(parameter));
  }
  return all;
}

const Registration registration(topologies(),
                                {"hypercube", "NPUs whose numbers differ in one bit are neighbours",
                                 parameters()},
                                make);

}  // namespace
}  // namespace tessera::machine
