// About when the first nodes of graphs run, and what NPUs send each other then: for predictions.
//
// Method: nodes of all NPUs begin as their dependencies allow, on an idle machine: a compute node
// when the one before has ended, a receive ends when its message has come, a collective begins when
// its last member does and takes the time of its steps. Accesses to local memory take no time, and
// nothing waits for busy links or other lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"
#include "tessera/executor/graph/graph.hpp"

namespace tessera::executor {

struct GraphForecast {
  // A node at an NPU.
  struct Run {
    std::uint32_t npu = 0;
    SimTime begin;
    SimTime end;
  };
  // From NPU to NPU, one after the other.
  struct Talk {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint64_t messages = 0;
    Bytes bytes;  // of one
    SimTime begin;
    SimTime end;
    std::uint32_t peers = 1;  // that it stands for, of a collective among many
  };
  std::vector<Run> runs;
  std::vector<Talk> talks;
  std::uint64_t nodes = 0;  // of all graphs that have run
};

// Reads at most so many nodes of all graphs together, and 16 of each.
GraphForecast forecast_graphs(const GraphSetup& setup, std::uint64_t most_nodes);

}  // namespace tessera::executor
