// Why an experiment was refused.
#pragma once

#include <string>

#include "tessera/core/error.hpp"

namespace tessera::explore {

// All complaints on one line, without their places: those of settings say nothing to the user.
inline std::string messages_of(const ConfigError& error) {
  std::string text;
  for (const Diagnostic& each : error.diagnostics()) {
    text += (text.empty() ? "" : "; ") + each.message;
  }
  return text;
}

}  // namespace tessera::explore
