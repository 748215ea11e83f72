// Sums over all ranks that are equal at the end of a run: what went out and what came in.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

struct Balance {
  std::string what;  // both: "messages sent and received"
  std::uint64_t out = 0;
  std::uint64_t in = 0;
};

}  // namespace tessera
