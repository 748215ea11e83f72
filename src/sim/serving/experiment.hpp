// Experiments whose workload is requests to models of several tenants.
#pragma once

#include <memory>

#include "tessera/compute/compute.hpp"
#include "tessera/config/document.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/machine/machine.hpp"

namespace tessera::sim {

// Of the mapping of a job: where `language_model` of a tenant, or
// `requests.list`, is the name of a file, puts what is in it in its place: YAML or JSON; of
// requests also a CSV with a head of their keys ("at [s]" for arrivals in seconds). Complaints go
// to `diagnostics`.
void include_served(config::Value& root, const config::TextLoader& load,
                    config::Diagnostics& diagnostics);

// Reads the section of such a workload, whose NPUs are those nodes; null after complaints. Those
// about cores go to the `tiles` of a `tenant`, or where there is none to the machine's section.
std::unique_ptr<executor::ServingWork> read_serving(config::Section& workload,
                                                    const machine::Machine& machine,
                                                    const std::vector<EntityId>& nodes,
                                                    const compute::ComputeModel& compute,
                                                    config::Section& machine_section,
                                                    config::Section* tenant);

}  // namespace tessera::sim
