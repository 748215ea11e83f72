#include "graph/builder.hpp"

namespace tessera::machine {

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
