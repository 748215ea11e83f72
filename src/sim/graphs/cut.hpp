// Cuts the NPUs of graphs over ranks by whom they talk to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/executor/graph/graph.hpp"
#include "tessera/sim/job.hpp"

namespace tessera::sim {

// [nodes] see Job::cut. NPUs that talk most stay together (METIS); there are as many as ranks.
// Those without nodes have no owner, where as many as ranks have some.
SparseTable cut_by_communicators(const executor::GraphWork& work, std::size_t nodes,
                                 std::uint32_t ranks, const machine::Weights& weights);

}  // namespace tessera::sim
