// A dragonfly: groups of routers, fully connected inside and group with group (J. Kim, W. J. Dally,
// S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008,
// doi:10.1109/ISCA.2008.19). With a routers a group, p NPUs and h global links a router, there are
// at most a h + 1 groups; with fewer, pairs of groups share the global links evenly and what is
// left over stays unused. Global link l of group i towards group j leaves at its place
// l (g - 1) + (j < i ? j : j - 1) in the group, h places a router (the absolute arrangement of E.
// Hastings et al., "Comparing global link arrangements for Dragonfly networks", IEEE CLUSTER 2015).
//
// Minimal routing: the paper's adaptive one is not here.
#include <algorithm>
#include <array>

#include "graph/builder.hpp"
#include "readers.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::machine {
namespace {

enum DragonflyClass : std::uint16_t { npu_class, local_class, global_class };

struct DragonflyShape {
  std::uint32_t groups = 0;
  std::uint32_t routers = 0;  // a group
  std::uint32_t npus = 0;     // a router
  std::uint32_t global = 0;   // links a router
  std::uint32_t links_a_pair() const { return groups > 1 ? routers * global / (groups - 1) : 0; }
};

std::unique_ptr<Topology> build(const DragonflyShape& shape, std::vector<LinkClass> classes) {
  GraphBuilder graph(std::move(classes));
  const std::uint32_t routers = shape.groups * shape.routers;
  const std::uint32_t first_npu = graph.add_nodes("npu", routers * shape.npus, true);
  const std::uint32_t first_router = graph.add_nodes("router", routers, false);
  for (std::uint32_t router = 0; router < routers; ++router) {
    for (std::uint32_t npu = 0; npu < shape.npus; ++npu) {
      graph.join(first_npu + router * shape.npus + npu, first_router + router, npu_class);
    }
  }
  for (std::uint32_t group = 0; group < shape.groups; ++group) {
    const std::uint32_t first = first_router + group * shape.routers;
    for (std::uint32_t a = 0; a < shape.routers; ++a) {
      for (std::uint32_t b = a + 1; b < shape.routers; ++b) {
        graph.join(first + a, first + b, local_class);
      }
    }
  }
  const auto router_of = [&](std::uint32_t group, std::uint32_t other, std::uint32_t link) {
    const std::uint32_t place = link * (shape.groups - 1) + (other < group ? other : other - 1);
    return first_router + group * shape.routers + place / shape.global;
  };
  for (std::uint32_t a = 0; a < shape.groups; ++a) {
    for (std::uint32_t b = a + 1; b < shape.groups; ++b) {
      for (std::uint32_t link = 0; link < shape.links_a_pair(); ++link) {
        graph.join(router_of(a, b, link), router_of(b, a, link), global_class);
      }
    }
  }
  return std::move(graph).build("ecmp");
}

const auto groups = count_key("groups", "number of groups, at most routers * global + 1");
const auto routers = count_key("routers", "routers per group, fully connected");
const auto npus = count_key("npus", "NPUs per router");
const auto global = count_key("global", "links of each router to other groups");

std::unique_ptr<Topology> make_dragonfly(config::Section& section) {
  const DragonflyShape shape{groups.read(section), routers.read(section), npus.read(section),
                             global.read(section)};
  std::vector<LinkClass> classes;
  for (const char* key : {"node", "local", "global_links"}) {
    config::Section part = section.section(key);
    classes.push_back(read_link_class(part, key));
  }
  bool good = shape.groups > 0 && shape.routers > 0 && shape.npus > 0 && shape.global > 0;
  for (const LinkClass& link_class : classes) {
    good = good && was_read(link_class);
  }
  if (!good) {
    return nullptr;
  }
  const std::uint64_t places = std::uint64_t{shape.routers} * shape.global;
  if (shape.groups > places + 1) {
    section.error("groups", std::to_string(shape.groups) + " groups need more than the " +
                                std::to_string(places) + " global links of a group; at most " +
                                std::to_string(places + 1) + " can be joined");
    return nullptr;
  }
  const std::uint64_t all_routers = std::uint64_t{shape.groups} * shape.routers;
  const auto links =
      static_cast<Wide>(all_routers) * (2ULL * shape.npus + shape.routers + shape.global);
  const std::uint64_t most = generated_limit;
  if (!fits_generated_limit(section, "groups", std::min(most, all_routers) * (shape.npus + 1ULL),
                            links > most ? most : static_cast<std::uint64_t>(links))) {
    return nullptr;
  }
  return build(shape, std::move(classes));
}

const Registration dragonfly_registration(
    topologies(),
    {"dragonfly", "groups of routers, fully connected within each group and among groups",
     with_links({groups, routers, npus, global}, std::array{"node.", "local.", "global_links."})},
    make_dragonfly);

}  // namespace
}  // namespace tessera::machine
