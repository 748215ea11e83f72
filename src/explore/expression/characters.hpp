#pragma once

namespace tessera::explore {

// Of ASCII, whatever the locale.
inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace tessera::explore
