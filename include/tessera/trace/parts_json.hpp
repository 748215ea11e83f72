// Parts and the keys of files as JSON, for scripts and editors.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tessera/core/section_info.hpp"

namespace tessera::trace {

// Parts by kind ("networks"), in their order.
using PartLists = std::vector<std::pair<std::string, std::vector<PartInfo>>>;

// {KIND: {PART: {help, parameters: [{name, type, unit, default, required, low, high, names, cost,
// help}]}}}; what does not apply is left out.
std::string to_json(const PartLists& lists);

// Sections as they stand in each other, for programs that make something of every key (Python's
// classes): {name, help, shape: mapping, list or map, required, file, open, selector, usual,
// keeps_others, parameters: as above, choices: [the same], sections: [the same]}.
std::string to_json(const SectionInfo& root);

// A JSON Schema (draft 7, which editors of YAML know) of a file that holds this section. Quantities
// are texts with a unit; ranges are of bare numbers only. What is declared as text, file, shape or
// the like by its type alone is checked no further.
std::string to_json_schema(const SectionInfo& root);

}  // namespace tessera::trace
