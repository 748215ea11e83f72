// Proposals on their way between ranks, and as a table.
#pragma once

#include <string>

#include "tessera/explore/strategy_search.hpp"

namespace tessera::explore {

// On one line, and back; without the candidate, which all ranks know.
std::string to_line(const Proposal& proposal);
Proposal proposal_from(const std::string& line);

}  // namespace tessera::explore
