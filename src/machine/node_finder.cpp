#include "tessera/machine/node_finder.hpp"

#include <charconv>
#include <vector>

namespace tessera::machine {
namespace {

// All numbers in a text.
std::vector<std::uint64_t> numbers_in(const std::string& text) {
  std::vector<std::uint64_t> numbers;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    std::uint64_t number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error == std::errc()) {
      numbers.push_back(number);
    }
    at = error == std::errc() ? rest : at + 1;
  }
  return numbers;
}

// Its name has the place of a node: its row and column, or those of its block after the ones there.
std::optional<EntityId> node_on_grid(const Topology& topology, const Grid& grid,
                                     const std::string& name) {
  std::vector<std::uint64_t> place = numbers_in(name);
  const auto is_on_side = [](std::uint64_t at, std::uint32_t size) { return at < size; };
  if (place.size() == 4 && is_on_side(place[2], grid.rows) && is_on_side(place[3], grid.columns)) {
    place = {place[2] * grid.block_rows + place[0], place[3] * grid.block_columns + place[1]};
  }
  if (place.size() != 2 || !is_on_side(place[0], grid.rows) ||
      !is_on_side(place[1], grid.columns)) {
    return std::nullopt;
  }
  const EntityId node =
      grid.node(static_cast<std::uint32_t>(place[0]), static_cast<std::uint32_t>(place[1]));
  return topology.node_name(node) == name ? std::optional(node) : std::nullopt;
}

}  // namespace

std::optional<EntityId> NodeFinder::operator()(const std::string& text) {
  const std::uint32_t nodes = topology_->nodes();
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && rest == end) {
    return number < nodes ? std::optional(EntityId(number)) : std::nullopt;
  }
  if (const std::optional<Grid> grid = topology_->grid()) {
    return node_on_grid(*topology_, *grid, text);
  }
  if (by_name_.empty()) {
    for (std::uint32_t node = 0; node < nodes; ++node) {
      by_name_.emplace(topology_->node_name(EntityId(node)), EntityId(node));
    }
  }
  const auto found = by_name_.find(text);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace tessera::machine
