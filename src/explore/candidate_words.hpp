// Words of a strategy's settings.
#pragma once

#include <string>

namespace tessera::explore {

inline std::string word_of(bool value) {
  return value ? "true" : "false";
}

}  // namespace tessera::explore
