// Synthetic traffic in motion: tiles that send, and hear what comes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tessera/executor/program/executor.hpp"
#include "tessera/sim/traffic/traffic.hpp"

namespace tessera::sim {

// What the tiles of a job send for a while.
struct TrafficWork : TrafficLoad {
  std::vector<EntityId> tiles;  // in the order of their numbers
  std::unique_ptr<network::InjectionProcess> process;
  double rate = 0;           // flits a tile and cycle
  std::uint64_t cycles = 0;  // in which messages are sent

  Bytes message() const { return flit * message_flits; }
  SimTime time_of(std::uint64_t cycle_number) const {
    return cycle * static_cast<std::int64_t>(cycle_number);
  }
  network::TrafficStream stream() const { return {*pattern, *process, seed}; }
};

struct TrafficWorkSetup {
  const TrafficWork& work;
  std::span<const EntityId> members;  // outlives the executor
  SimTime lookahead;                  // between any two nodes
  executor::Observer* observer = nullptr;
  executor::OutlookSetup outlook;
};

// Measures messages (sim/measures.hpp). An instruction is a cycle that a tile is through with.
std::unique_ptr<executor::Executor> make_traffic_executor(TrafficWorkSetup setup);
// Of state, for the memory prediction.
std::size_t traffic_bytes_a_tile();

}  // namespace tessera::sim
