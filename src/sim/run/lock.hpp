// One run at a time in a folder.
#pragma once

#include "tessera/comm/communicator.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/folder_lock.hpp"

namespace tessera::sim {

// Takes the request's folder on rank 0, unless there is none or the caller holds it. Throws
// ConfigError there when another run has it, Aborted with its code on the other ranks. Collective.
void lock_folder(trace::FolderLock& lock, comm::Communicator& communicator,
                 const RunRequest& request);

}  // namespace tessera::sim
