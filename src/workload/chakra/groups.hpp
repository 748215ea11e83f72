// Communicators in the texts of traces.
#pragma once

#include <string>

#include "tessera/workload/graph.hpp"

namespace tessera::workload {

// Adds those of a list of {pg_name, ranks} in JSON, or of a list of texts that hold one (as PyTorch
// writes them). False and a `problem` when it is none.
bool add_groups(const std::string& text, GraphGroups& groups, std::string& problem);

}  // namespace tessera::workload
