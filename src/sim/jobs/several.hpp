// How complaints name the jobs of a list where one is asked for.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tessera/core/text.hpp"

namespace tessera::sim {

// "2 tenants: a, b"; of many the first few.
inline std::string several(std::vector<std::string> names) {
  constexpr std::size_t most = 4;
  const std::size_t all = names.size();
  if (all > most) {
    names.resize(most);
    names.emplace_back("…");
  }
  return std::to_string(all) + " tenants: " + join(names);
}

}  // namespace tessera::sim
