// The machine of a file, without what it is to do.
#pragma once

#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/machine/machine.hpp"

namespace tessera::sim {

// Of an experiment, or of a machine file alone; overrides begin with "machine." either way. Throws
// as read_experiment.
machine::Machine read_machine_file(const std::string& path,
                                   const std::vector<std::string>& overrides,
                                   const config::TextLoader& load);

}  // namespace tessera::sim
