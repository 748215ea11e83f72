// Experiments whose workload is graphs: what they say of how graphs are executed.
#pragma once

#include <memory>

#include "jobs/npu_memories.hpp"
#include "tessera/config/document.hpp"
#include "tessera/executor/graph/graph.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/sim/platform.hpp"

namespace tessera::sim {

// Reads the section `execution` of graphs on these NPUs: options, no graphs yet. `usual`: what
// holds where it says nothing of data types and lanes.
std::unique_ptr<executor::GraphWork> read_execution(config::Section execution,
                                                    const machine::Machine& machine,
                                                    const std::vector<EntityId>& npus,
                                                    const executor::GraphOptions& usual,
                                                    const config::TextLoader& load);

// Reads the section of a workload that is graphs; null after complaints.
std::unique_ptr<workload::GraphSource> read_graph_source(config::Section& workload,
                                                         const MemoryParts& parts,
                                                         const std::vector<EntityId>& npus,
                                                         const config::TextLoader& load);

// What of the graphs has no effect on a run, and why; "" when all has.
std::string ignored_nodes(const workload::GraphSurvey& survey);

// Whether some all-to-all goes on in steps that pass on what came in the one before.
bool has_all_to_alls_by_rings(const executor::GraphWork& work);

// Puts the graphs in and looks through them. Complaints go to the diagnostics of the sections;
// ConfigError for those of trace files.
void add_source(executor::GraphWork& work, std::shared_ptr<const workload::GraphSource> source,
                const MemoryParts& parts, config::Section& workload, config::Section execution);

// Of a machine with cores that go through operations instruction by instruction: lists these.
void list_operations_of_cores(const Platform& platform, executor::GraphWork& work);

}  // namespace tessera::sim
