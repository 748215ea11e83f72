// What the tiles of a job are, and what memories they have.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tessera/machine/machine.hpp"
#include "tessera/sim/job.hpp"

namespace tessera::sim {

// What nodes are, each kind once.
std::vector<const machine::Tile*> kinds_of(const machine::Machine& machine,
                                           const machine::NodeOrder& nodes);
std::vector<const machine::Tile*> kinds_of(const machine::Machine& machine,
                                           const std::vector<EntityId>& nodes);

// Throws ConfigError where a cutter has fewer parts than ranks.
void refuse_too_many_ranks(const std::string& cutter, std::size_t parts, const std::string& what,
                           int ranks);

// By the node of each channel; those that hold nothing are left out.
Job::BytesByNode bytes_by_node(const machine::Machine& machine, const plan::BytesByChannel& bytes);

}  // namespace tessera::sim
