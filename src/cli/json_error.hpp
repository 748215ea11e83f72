// An error as scripts read it, that asked for JSON (docs/schemas/error.schema.json).
#pragma once

#include <string>

#include "tessera/cli/options.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/json_text.hpp"

namespace tessera::cli {

// Whether a command is asked for JSON. Options need not be right.
bool asks_for_json(const Words& words);

// {"error": {...}} with the place of the first complaint, and all of them. `rank`: that has the
// error alone; -1: all have it.
trace::JsonText error_json(const Error& error, int rank);

// Of an error without a place.
trace::JsonText error_json(const std::string& message, int exit_code, int rank);

}  // namespace tessera::cli
