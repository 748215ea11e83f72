// Rows of a sweep as JSON, in the logs of its ranks.
#pragma once

#include "tessera/explore/table/table.hpp"
#include "tessera/trace/store/json.hpp"

namespace tessera::explore {

// Throws trace::JsonError when `json` is something else.
SweepRow row_from(const trace::Json& json);

}  // namespace tessera::explore
