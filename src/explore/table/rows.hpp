// Rows of a sweep: as JSON in the logs of its ranks, and what they stand for.
#pragma once

#include "tessera/explore/table/table.hpp"
#include "tessera/trace/store/json.hpp"

namespace tessera::explore {

// Throws trace::JsonError when `json` is something else.
SweepRow row_from(const trace::Json& json);
// [keys] what a row has of each, as the sweep file says it.
std::vector<std::string> values_of(const SweepTable& table, const SweepRow& row);

}  // namespace tessera::explore
