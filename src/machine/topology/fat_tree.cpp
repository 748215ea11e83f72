// A fat tree of k-port switches in three levels (M. Al-Fares, A. Loukissas, A. Vahdat, "A scalable,
// commodity data center network architecture", SIGCOMM 2008, doi:10.1145/1402958.1402967): k pods
// of k/2 edge and k/2 aggregation switches, and (k/2)^2 core switches. An edge switch has k/2 NPUs
// times the oversubscription, with k/2 links up.
#include <array>

#include "graph/builder.hpp"
#include "readers.hpp"

namespace tessera::machine {
namespace {

enum FatTreeClass : std::uint16_t { node_class, edge_class, core_class };

std::unique_ptr<Topology> build(std::uint32_t k, std::uint32_t npus,
                                std::vector<LinkClass> classes) {
  const std::uint32_t half = k / 2;
  GraphBuilder graph(std::move(classes));
  const std::uint32_t first_npu = graph.add_nodes("npu", k * half * npus, true);
  const std::uint32_t first_edge = graph.add_nodes("edge", k * half, false);
  const std::uint32_t first_aggregation = graph.add_nodes("aggregation", k * half, false);
  const std::uint32_t first_core = graph.add_nodes("core", half * half, false);
  for (std::uint32_t edge = 0; edge < k * half; ++edge) {
    for (std::uint32_t npu = 0; npu < npus; ++npu) {
      graph.join(first_npu + edge * npus + npu, first_edge + edge, node_class);
    }
    for (std::uint32_t up = 0; up < half; ++up) {
      graph.join(first_edge + edge, first_aggregation + edge / half * half + up, edge_class);
    }
  }
  for (std::uint32_t aggregation = 0; aggregation < k * half; ++aggregation) {
    for (std::uint32_t up = 0; up < half; ++up) {
      graph.join(first_aggregation + aggregation, first_core + aggregation % half * half + up,
                 core_class);
    }
  }
  return std::move(graph).build("ecmp");
}

const config::RequiredKey<std::uint32_t> k_key{
    "k", "ports per switch, even; k^3/4 NPUs without oversubscription", config::between(2U, 512U)};
const config::Key<std::uint32_t> oversubscription_key{
    "oversubscription", 1, "ratio of an edge switch's NPUs to its uplinks",
    config::between(1U, 64U)};

std::unique_ptr<Topology> make_fat_tree(config::Section& section) {
  const std::uint32_t k = k_key.read(section);
  const std::uint32_t oversubscription = oversubscription_key.read(section);
  std::vector<LinkClass> classes;
  for (const char* key : {"node", "edge", "core"}) {
    config::Section part = section.section(key);
    classes.push_back(read_link_class(part, key));
  }
  bool good = k > 0 && oversubscription > 0;
  for (const LinkClass& link_class : classes) {
    good = good && was_read(link_class);
  }
  if (good && k % 2 != 0) {
    section.error("k", "must be even: a switch has as many ports up as down");
    good = false;
  }
  if (!good) {
    return nullptr;
  }
  const std::uint64_t half = k / 2;
  const std::uint64_t npus = half * oversubscription;
  if (!fits_generated_limit(section, "k", k * half * (npus + 2) + half * half,
                            half * 2 * k * (npus + 2 * half))) {
    return nullptr;
  }
  return build(k, static_cast<std::uint32_t>(npus), std::move(classes));
}

const Registration fat_tree_registration(
    topologies(),
    {"fat-tree", "three levels of k-port switches, optionally oversubscribed at the edge",
     with_links({k_key, oversubscription_key}, std::array{"node.", "edge.", "core."})},
    make_fat_tree);

}  // namespace
}  // namespace tessera::machine
