// A concentrated mesh (J. Balfour, W. Dally, "Design tradeoffs for tiled CMP on-chip networks", ICS
// 2006, doi:10.1145/1183401.1183430): a mesh of routers with several NPUs at each. Links along rows
// come first among a router's ports, so that shortest ways go along the row first.
#include "graph_builder.hpp"
#include "readers.hpp"

namespace tessera::machine {
namespace {

enum ConcentratedMeshClass : std::uint16_t { node_class, link_class };

std::unique_ptr<Topology> make(config::Section& section) {
  const auto side = [&](const char* key, std::int64_t most) {
    return static_cast<std::uint32_t>(
        section.get<std::int64_t>(key, config::between<std::int64_t>(1, most)));
  };
  const std::uint32_t rows = side("rows", 100'000);
  const std::uint32_t columns = side("columns", 100'000);
  const std::uint32_t npus = side("concentration", 64);
  std::vector<LinkClass> classes;
  config::Section node = section.section("node");
  classes.push_back(read_link_class(node, "node"));
  classes.push_back(read_link_class(section, "link"));
  if (rows == 0 || columns == 0 || npus == 0 || !was_read(classes[0]) || !was_read(classes[1])) {
    return nullptr;
  }
  const std::uint64_t routers = std::uint64_t{rows} * columns;
  if (!fits_generated_limit(section, "rows", routers * (npus + 1), routers * (2 * npus + 4))) {
    return nullptr;
  }
  GraphBuilder graph(std::move(classes));
  const auto count = static_cast<std::uint32_t>(routers);
  const std::uint32_t first_npu = graph.add_nodes("npu", count * npus, true);
  const std::uint32_t first_router = graph.add_nodes("router", count, false);
  for (std::uint32_t router = 0; router < count; ++router) {
    if ((router + 1) % columns != 0) {
      graph.join(first_router + router, first_router + router + 1, link_class);
    }
  }
  for (std::uint32_t router = 0; router + columns < count; ++router) {
    graph.join(first_router + router, first_router + router + columns, link_class);
  }
  for (std::uint32_t npu = 0; npu < count * npus; ++npu) {
    graph.join(first_npu + npu, first_router + npu / npus, node_class);
  }
  return std::move(graph).build("shortest");
}

std::vector<ParameterInfo> parameters() {
  std::vector<ParameterInfo> all{{"rows", "", "", "routers from north to south"},
                                 {"columns", "", "", "routers from west to east"},
                                 {"concentration", "", "", "NPUs at each router"}};
  for (const char* prefix : {"node.", ""}) {
    for (ParameterInfo& parameter : link_parameters(prefix)) {
      all.push_back(std::move(parameter));
    }
  }
  return all;
}

const Registration registration(topologies(),
                                {"concentrated-mesh", "mesh of routers with several NPUs at each",
                                 parameters()},
                                make);

}  // namespace
}  // namespace tessera::machine
