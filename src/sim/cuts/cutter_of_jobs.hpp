// Cutters of jobs that say which of their tiles go together (Job::cut).
#pragma once

#include <string>

#include "tessera/sim/cuts/cuts.hpp"

namespace tessera::sim {

// Of the only job, where that asks for this cutter (Job::cutter); `objection` says what it cuts and
// stands behind its name for all other work.
Cutter cutter_of_jobs(const std::string& name, const std::string& objection);

}  // namespace tessera::sim
