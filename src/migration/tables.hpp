// Files of other simulators that are neither JSON nor YAML, as values with places.
#pragma once

#include <string>
#include <vector>

#include "tessera/config/document.hpp"

namespace tessera::migration {

// Sections of "[name]" with lines "key: value" or "key = value"; lines that begin with # or ; are
// comments (Python's configparser). A mapping of mappings; what is no such line is a complaint.
config::Value read_ini(const std::string& path, const std::string& text,
                       config::Diagnostics& diagnostics);

struct Cell {
  std::string text;  // without blanks around it
  config::Place place;
};
// Cells of the lines that have any, with commas between them; a comma at the end of a line begins
// no cell.
std::vector<std::vector<Cell>> read_csv(const std::string& path, const std::string& text);

}  // namespace tessera::migration
