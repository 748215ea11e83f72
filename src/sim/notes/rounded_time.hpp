// Times in notes.
#pragma once

#include <cmath>
#include <string>

#include "tessera/core/time.hpp"

namespace tessera::sim {

// Of a time above 0, in the unit that suits it, with three digits.
inline std::string rounded(SimTime time) {
  const auto ps = static_cast<double>(time.ps());
  const double unit = std::pow(10, std::floor(std::log10(ps)) - 2);
  return to_string(SimTime::from_ps(static_cast<std::int64_t>(std::round(ps / unit) * unit)));
}

}  // namespace tessera::sim
