// A machine together with the models of its parts: what every kind of work runs on.
#pragma once

#include <memory>
#include <optional>

#include "tessera/compute/compute.hpp"
#include "tessera/core/time.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/memory/coherent/coherence.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/memory/remote.hpp"
#include "tessera/network/network.hpp"

namespace tessera::sim {

struct Platform {
  machine::Machine machine;
  std::unique_ptr<network::NetworkModel> network;
  std::unique_ptr<memory::MemoryModel> memory;
  std::unique_ptr<memory::RemoteMemory> remote_memory;  // null: the machine has none
  std::optional<memory::Coherence> coherence;           // of memory nodes
  std::unique_ptr<compute::ComputeModel> compute;
  SimTime lookahead;  // between any two nodes
};

}  // namespace tessera::sim
