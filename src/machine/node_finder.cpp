#include "tessera/machine/node_finder.hpp"

#include <charconv>

namespace tessera::machine {

std::optional<EntityId> NodeFinder::operator()(const std::string& text) {
  const std::uint32_t nodes = topology_->nodes();
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && rest == end) {
    return number < nodes ? std::optional(EntityId(number)) : std::nullopt;
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
