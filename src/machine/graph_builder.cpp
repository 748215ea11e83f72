#include "graph_builder.hpp"

namespace tessera::machine {

std::uint32_t read_size(config::Section& section, const std::string& key) {
  return static_cast<std::uint32_t>(
      section.get<std::int64_t>(key, config::between<std::int64_t>(1, node_limit)));
}

bool fits_generated_limit(config::Section& section, const std::string& key, std::uint64_t nodes,
                          std::uint64_t links) {
  if (nodes < generated_limit && links < generated_limit) {
    return true;
  }
  section.error(key, std::to_string(nodes) + " nodes and " + std::to_string(links) +
                         " directed links are too many; there must be fewer than " +
                         std::to_string(generated_limit) + " of each");
  return false;
}

}  // namespace tessera::machine
