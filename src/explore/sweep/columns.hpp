// The numbers of a point that a sweep can report.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/explore/table/table.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::explore {

inline constexpr const char* default_objective = "throughput_samples_per_s";
// Whether a point can have a number of this name: one of `known_columns`, of any stage.
bool is_column(const std::string& name);
// All names, with stage 0 for any stage.
std::vector<std::string> known_columns();
// Names of what the jobs of this experiment measure, with the tenant of each. As the configuration
// stands.
std::vector<std::string> measured_columns(const config::Value& experiment);
inline constexpr std::string_view measured_head = "measured.";
// In every table of this experiment: throughput, iteration time, memory of a tile, and what its
// services are judged by, which have no such memory. As the configuration stands; `work_varies`:
// points may have other work.
std::vector<std::string> usual_columns(const config::Value& experiment, bool work_varies);
// By which points of this experiment are ranked where nothing is said: its throughput, what a
// synthetic load measures that is best where it is smallest, or of one served model with targets
// the requests a second that meet them. As above.
SweepObjective usual_objective(const config::Value& experiment, bool work_varies);
SweepColumn describe_column(const std::string& name);

// All numbers of a simulated point: those of its summary, and of its plan the memory of the tile
// that needs most.
std::map<std::string, std::string> numbers_of_point(const sim::Experiment& experiment,
                                                    const trace::Summary& summary);

}  // namespace tessera::explore
