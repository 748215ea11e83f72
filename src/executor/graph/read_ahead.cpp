#include "graph/read_ahead.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

namespace tessera::executor {
namespace {

// By number, of the nodes so far.
using Places = std::unordered_map<std::uint64_t, std::uint64_t>;

// Of the nearest one of the nodes that it depends on, if all come before it.
std::optional<std::uint64_t> nearest_before(const workload::GraphNode& node, const Places& places) {
  std::uint64_t nearest = 0;
  for (const auto* dependencies : {&node.data_dependencies, &node.control_dependencies}) {
    for (const std::uint64_t id : *dependencies) {
      const auto place = places.find(id);
      if (place == places.end()) {
        return std::nullopt;
      }
      nearest = std::max(nearest, place->second);
    }
  }
  return nearest;
}

}  // namespace

ReadAhead::ReadAhead(const workload::GraphSource& source, std::uint32_t npu) : needed_(1) {
  Places places;
  std::uint64_t read = 0;
  workload::GraphPosition position;
  constexpr std::size_t nodes_at_a_time = 4096;
  for (auto nodes = source.read(npu, position, nodes_at_a_time); !nodes.empty();
       nodes = source.read(npu, position, nodes_at_a_time)) {
    if (read == 0) {
      places.reserve(nodes.size());
    }
    for (const workload::GraphNode& node : nodes) {
      const std::uint64_t place = read++;
      if (node.data_dependencies.empty() && node.control_dependencies.empty()) {
        needed_[0] = read;
      } else if (const auto nearest = nearest_before(node, places)) {
        const std::size_t blocks = *nearest / block + 1;
        needed_.resize(std::max(needed_.size(), blocks + 1));
        needed_[blocks] = read;
      }
      places.emplace(node.id, place);
    }
  }
  std::inclusive_scan(needed_.begin(), needed_.end(), needed_.begin(),
                      [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
}

}  // namespace tessera::executor
