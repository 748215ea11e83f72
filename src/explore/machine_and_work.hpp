// The part of an experiment that a strategy is searched for.
#pragma once

#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::explore {

struct MachineAndWork {
  machine::Machine machine;
  workload::Workload workload;
};

// Reads both and nothing else, so that it works where the strategy does not fit. Of a list of one
// job on the whole machine the work is that job's. Throws ConfigError
// and IoError as sim::read_experiment.
MachineAndWork read_machine_and_work(const std::string& path,
                                     const std::vector<std::string>& overrides,
                                     const config::TextLoader& load);

}  // namespace tessera::explore
