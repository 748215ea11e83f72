// What a search for the largest rate has found, as a line of text that ranks send each other, and
// that folders keep.
#pragma once

#include <string>

#include "tessera/explore/capacity.hpp"

namespace tessera::explore {

// Without the values that were set; of services what tables and JSON have of them.
std::string to_line(const CapacityRow& row);
// Throws ConfigError for a line that is none, as one that a kill has cut.
CapacityRow capacity_row_from(const std::string& line);

}  // namespace tessera::explore
