// Proposals as lines of text that ranks send each other, and that folders keep.
#pragma once

#include <string>

#include "tessera/explore/strategy_search.hpp"

namespace tessera::explore {

// All of it.
std::string to_line(const Proposal& proposal);
// Throws ConfigError for a line that is none, as one that a kill has cut.
Proposal proposal_from(const std::string& line);

}  // namespace tessera::explore
