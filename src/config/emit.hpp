// Writing a Value as YAML that parses back to it.
#pragma once

#include <string>

#include "tessera/config/document.hpp"

namespace tessera::config {

// A scalar Value with this text, marked quoted when the text could be read as something else than a
// text: a number, true, null, an indicator of YAML. For texts; numbers are plain scalars.
Value text_value(std::string text);
Value plain_value(std::string text);

// A mapping in block style with an indentation of two, its lists of scalars as `[a, b]`. Kinds,
// texts, and whether a text could be a number are kept; the style of quotes is not.
std::string to_yaml(const Value& mapping);

}  // namespace tessera::config
