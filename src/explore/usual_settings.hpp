// How an experiment is run that shares its ranks with others.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace tessera::explore {

// One rank does it all, and nothing is written: there is nothing to weigh and nothing to trace.
// They change no result.
inline constexpr std::array usual_settings{"run.trace=none", "run.weights=none"};

inline std::vector<std::string> alone_and_untraced(std::vector<std::string> settings) {
  settings.insert(settings.end(), usual_settings.begin(), usual_settings.end());
  return settings;
}

}  // namespace tessera::explore
