// What the root of a trace says of its run.
#pragma once

#include <cstdint>

#include "tessera/sim/experiment.hpp"
#include "tessera/sim/work.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::sim {

trace::Attributes trace_attributes(const Experiment& experiment, const Work& work, int rank,
                                   int ranks, std::uint32_t segment);

}  // namespace tessera::sim
