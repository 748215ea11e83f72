// Passing a vector on from member to member down a line, cut in as many chunks as there are members
// (pipelined chain; J. Pjesivac-Grbovic et al., "Performance analysis of MPI collective
// operations", Cluster Computing 10 (2007), section 4, doi:10.1007/s10586-007-0012-0).
#pragma once

#include <cstdint>

#include "tessera/collective/algorithm.hpp"

namespace tessera::collective {

// One of the 2 (n - 1) steps of a broadcast from member 0, where member i sends chunk c to i + 1 in
// step i + c; or of a reduce to it, where member i sends chunk c to i - 1 in step n - 1 - i + c. A
// member sends its chunks one behind the other as they come in; on idle links of latency l and
// bandwidth B the last of V bytes is there after (n - 1) l + 2 (n - 1) V / (n B).
Step line_step(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step);

}  // namespace tessera::collective
