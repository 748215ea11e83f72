// The numbers of a point that a sweep can report.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/explore/table/table.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::explore {

inline constexpr const char* default_objective = "throughput_samples_per_s";
// In every table.
inline constexpr std::array usual_columns{"throughput_samples_per_s", "iteration_time_ps",
                                          "memory_per_tile_bytes"};

// Whether a point can have a number of this name: one of `known_columns`, of any stage.
bool is_column(const std::string& name);
// All names, with stage 0 for any stage.
std::vector<std::string> known_columns();
// Names of what the jobs of this experiment measure, with the tenant of each. As the configuration
// stands.
std::vector<std::string> measured_columns(const config::Value& experiment);
inline constexpr std::string_view measured_head = "measured.";
// By which points of this experiment are ranked where nothing is said: its throughput, or what a
// synthetic load measures that is best where it is smallest. As the configuration stands.
SweepObjective usual_objective(const config::Value& experiment);
SweepColumn describe_column(const std::string& name);

// All numbers of a simulated point: those of its summary, and of its plan the memory of the tile
// that needs most.
std::map<std::string, std::string> numbers_of_point(const sim::Experiment& experiment,
                                                    const trace::Summary& summary);

}  // namespace tessera::explore
