// What is known of a run before it begins.
#pragma once

#include <string>

#include "run/rank_models.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::sim {

std::string name_of(TraceLevel level);

// A summary without results.
trace::Summary described(const Experiment& experiment, const comm::Communicator& communicator,
                         const CutChoice& cut);

}  // namespace tessera::sim
