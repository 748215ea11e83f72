// Which tenant a node is of, for networks and memories that tenants share evenly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

// [nodes], or machine::Sharers::nobody; empty where one job has the machine alone.
std::vector<std::uint32_t> tenant_numbers(const Experiment& experiment);

// What is said where tenants are to have even parts and there are none.
std::vector<std::string> notes_of_sharing(const Experiment& experiment);

}  // namespace tessera::sim
