// How an experiment is run that shares its ranks with others.
#pragma once

#include <array>

namespace tessera::explore {

// One rank does it all, and nothing is written: there is nothing to weigh and nothing to trace.
// They change no result.
inline constexpr std::array usual_settings{"run.trace=none", "run.weights=none"};

}  // namespace tessera::explore
