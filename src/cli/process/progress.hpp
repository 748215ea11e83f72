// How a run is going, as a line for a terminal or for a program.
#pragma once

#include <string>

#include "tessera/sim/simulation.hpp"

namespace tessera::cli {

// "12.3 M": three digits are enough for a progress line.
std::string rounded(double value);

std::string progress_line(const sim::Progress& progress);
// {"simulated_ps", "fraction", "events", "events_per_s", "resident_bytes", "wall_s", "left_s"};
// left_s is null when it is not known.
std::string progress_json(const sim::Progress& progress);

}  // namespace tessera::cli
