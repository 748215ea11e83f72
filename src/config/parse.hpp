// Parsing of a text that stands inside a larger one.
#pragma once

#include <string>

#include "tessera/config/document.hpp"

namespace tessera::config {

// Where the text to be parsed stands.
struct Origin {
  std::string file;
  std::string path;       // of the value itself, "" for a whole document
  int column_offset = 0;  // of the first line
};

Value parse_at(const Origin& origin, const std::string& text, Diagnostics& diagnostics);

}  // namespace tessera::config
