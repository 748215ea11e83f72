// How heavy each node is, so that the ranks of a run get equal work. Weights decide who simulates a
// node and never what happens there: results do not depend on them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/core/sparse_table.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

// [nodes] events of one iteration that each node will handle, from the plan alone: operators,
// messages over their routes packet by packet, accesses to DRAM. Contention changes no count. What
// the models say of themselves: network::NetworkModel::predict_events and
// memory::MemoryModel::predict_events.
std::vector<std::uint64_t> predicted_events(const Experiment& experiment);

// [nodes] as RunOptions::weights says, at least 1 each; empty for `none`. Counts beyond 32 bits are
// scaled down together.
machine::Weights node_weights(const Experiment& experiment);
// The same, where predicted_events() is known already.
machine::Weights node_weights(const Experiment& experiment, const SparseCounts& predicted);

// The text of node_events.txt: a line that says what it is, then one count a line, in order of
// nodes.
std::string to_text(std::span<const std::uint64_t> events);

// Reads the file at `path`, or the one in the run folder `path`. Throws ConfigError when neither
// can be read, when it is no such file, or of a machine with another number of nodes.
std::vector<std::uint64_t> read_node_events(const std::string& path, std::uint32_t nodes,
                                            const config::TextLoader& load);

// Whether RunOptions::weights names the folder or file of an earlier run.
bool is_measured(const std::string& weights);

// Weighs nodes in another way: `none`, `predicted` or a path; the configuration and its hash stay.
// Throws as read_node_events.
void use_weights(Experiment& experiment, const std::string& weights,
                 const config::TextLoader& load);

}  // namespace tessera::sim
