// A double ring: neighbours are joined by two links each way, one of either ring.
#include <array>

#include "graph/builder.hpp"
#include "readers.hpp"

namespace tessera::machine {
namespace {

const auto ring_size_key = count_key("size", "NPUs, 2 or more");

std::unique_ptr<Topology> make_double_ring(config::Section& section) {
  const std::uint32_t size = ring_size_key.read(section);
  std::vector<LinkClass> classes{read_link_class(section, "link")};
  if (size == 0 || !was_read(classes.front())) {
    return nullptr;
  }
  if (size < 2) {
    section.error("size", "must be 2 or more");
    return nullptr;
  }
  if (!fits_generated_limit(section, "size", size, std::uint64_t{size} * 4)) {
    return nullptr;
  }
  GraphBuilder graph(std::move(classes));
  graph.add_nodes("npu", size, true);
  for (int ring = 0; ring < 2; ++ring) {
    for (std::uint32_t node = 0; node < size; ++node) {
      graph.join(node, (node + 1) % size, 0);
    }
  }
  return std::move(graph).build("ecmp");
}

const Registration double_ring_registration(
    topologies(),
    {"double-ring", "two rings over the same NPUs; destinations are spread over both",
     with_links({ring_size_key}, std::array{""})},
    make_double_ring);

}  // namespace
}  // namespace tessera::machine
