// Passing chunks on from member to member down a line (pipelined chain; J. Pjesivac-Grbovic et al.,
// "Performance analysis of MPI collective operations", Cluster Computing 10 (2007), section 4,
// doi:10.1007/s10586-007-0012-0). A member sends its chunks one behind the other as they come in.
#pragma once

#include <cstdint>

#include "tessera/collective/algorithm.hpp"

namespace tessera::collective {

// Of a kind with a root, which is member 0.
//   broadcast  2 (n - 1) steps: member i sends chunk c to i + 1 in step i + c; on idle links of
//              latency l and bandwidth B the last of V bytes is there after
//              (n - 1) l + 2 (n - 1) V / (n B)
//   reduce     2 (n - 1) steps: member i sends chunk c to i - 1 in step n - 1 - i + c
//   gather     n - 1 steps: member i sends chunk c >= i to i - 1 in step c - i
//   scatter    n - 1 steps: member i sends chunk c > i to i + 1 in step n - 1 - c + i
std::uint32_t line_steps(Kind kind, std::uint32_t size);
Step line_step(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step);

}  // namespace tessera::collective
