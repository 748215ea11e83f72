// A concentrated mesh (J. Balfour, W. Dally, "Design tradeoffs for tiled CMP on-chip networks", ICS
// 2006, doi:10.1145/1183401.1183430): a mesh of routers with several NPUs at each. Links along rows
// come first among a router's ports, so that shortest ways go along the row first.
#include <array>

#include "graph/builder.hpp"
#include "readers.hpp"

namespace tessera::machine {
namespace {

enum ConcentratedMeshClass : std::uint16_t { end_class, link_class };

using config::RequiredKey;

constexpr std::uint32_t longest_side = 100'000;
const RequiredKey<std::uint32_t> router_rows_key{"rows", "routers from north to south",
                                                 config::between(1U, longest_side)};
const RequiredKey<std::uint32_t> router_columns_key{"columns", "routers from west to east",
                                                    config::between(1U, longest_side)};
const RequiredKey<std::uint32_t> concentration{"concentration", "NPUs at each router",
                                               config::between(1U, 64U)};

std::unique_ptr<Topology> make_concentrated_mesh(config::Section& section) {
  const std::uint32_t rows = router_rows_key.read(section);
  const std::uint32_t columns = router_columns_key.read(section);
  const std::uint32_t npus = concentration.read(section);
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
    graph.join(first_npu + npu, first_router + npu / npus, end_class);
  }
  return std::move(graph).build("shortest");
}

const Registration concentrated_mesh_registration(
    topologies(),
    {"concentrated-mesh", "mesh of routers with several NPUs at each",
     with_links({router_rows_key, router_columns_key, concentration}, std::array{"node.", ""})},
    make_concentrated_mesh);

}  // namespace
}  // namespace tessera::machine
