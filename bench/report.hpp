// A report as a table for people or as JSON for programs.
#pragma once

#include <string>

#include "case.hpp"

namespace tessera::bench {

// Whether the runs of --engine both did the same; true when there is only one.
bool identical(const Report& report);

std::string as_table(const Report& report);

// One object: the fields of the run; with --engine both also those of the other run under
// "reference", their ratio and whether the results are identical.
std::string as_json(const Report& report);

}  // namespace tessera::bench
