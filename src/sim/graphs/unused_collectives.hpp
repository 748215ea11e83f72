// Keys of `execution.collectives` that have no effect in what graphs do.
#pragma once

#include "tessera/config/document.hpp"
#include "tessera/executor/graph/graph.hpp"
#include "tessera/sim/platform.hpp"

namespace tessera::sim {

// Of the section's values those that nothing takes notice of, for the notes of a run.
void note_unused_collectives(config::Section section, const Platform& platform,
                             const executor::GraphWork& work);

}  // namespace tessera::sim
