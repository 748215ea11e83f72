// Which notes of an experiment say something of a strategy.
#pragma once

#include <string>
#include <vector>

#include "tessera/explore/strategy_search.hpp"
#include "tessera/machine/machine.hpp"

namespace tessera::explore {

// Those about other keys than these settings are of, and not of how it is run here.
std::vector<std::string> notes_about_others(const std::vector<std::string>& notes,
                                            const std::vector<std::string>& settings);

// Says which channel the first proposal overfills, or the fastest that falls behind it for that.
void note_overfilled(SearchOutcome& outcome);

// Says that estimates know nothing of nodes that are slower than others, where there are any.
void note_slow_nodes(const machine::Machine& machine, SearchOutcome& outcome);

}  // namespace tessera::explore
