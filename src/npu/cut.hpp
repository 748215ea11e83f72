// A dimension cut into parts of one length, the last shorter; and the candidates for lengths.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/core/quotient.hpp"
#include "tessera/npu/tiled_operator.hpp"

namespace tessera::npu {

inline std::uint64_t rounded_up(std::uint64_t a, std::uint64_t unit) {
  return quotient_up(a, unit) * unit;
}

struct Cut {
  std::uint64_t extent = 1;
  std::uint64_t length = 1;  // of a part, 1 … extent

  std::uint64_t parts() const { return quotient_up(extent, length); }
  std::uint64_t begin(std::uint64_t part) const { return part * length; }
  std::uint64_t size(std::uint64_t part) const { return std::min(length, extent - part * length); }
  Range range(std::uint64_t part) const { return {begin(part), begin(part) + size(part)}; }
  bool is_last(std::uint64_t part) const { return part + 1 == parts(); }
  // Size of the last part, or of any other.
  std::uint64_t size_at(bool last) const { return last ? extent - (parts() - 1) * length : length; }
};

// Lengths that are multiples of `unit` (or all of `extent`), one for each number of parts that they
// can give, ascending: about 2 sqrt(extent / unit).
inline std::vector<std::uint64_t> lengths(std::uint64_t extent, std::uint64_t unit) {
  std::vector<std::uint64_t> found;
  const std::uint64_t units = quotient_up(extent, unit);
  for (std::uint64_t parts = units; parts >= 1;) {
    const std::uint64_t length = quotient_up(units, parts);
    found.push_back(std::min(length * unit, extent));
    if (length >= units) {
      break;
    }
    parts = (units - 1) / length;  // the most parts that need a longer length
  }
  return found;
}

}  // namespace tessera::npu
