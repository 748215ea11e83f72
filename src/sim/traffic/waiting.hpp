// How much of synthetic traffic waits for links that are offered more than they carry.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tessera/machine/routing/routing.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::sim {

// Adds up what some messages bring to the links on their ways.
class OfferedLoad {
 public:
  OfferedLoad(const machine::Topology& topology, const machine::Routing& routing)
      : topology_(topology), routing_(routing) {}

  // A message that stands for `count` like it.
  void message(EntityId from, EntityId to, Bytes bytes, double count);
  // Of the messages so far, sent evenly over `time`: those that have not passed the busiest link on
  // their way when the last is sent. A link that is offered x times what it carries has passed 1/x
  // by then. 0 where no link is offered more than it carries.
  double share_that_waits(SimTime time) const;

 private:
  struct Way {
    std::vector<std::uint64_t> links;
    double count = 0;
  };
  struct Link {
    double bytes = 0;
    std::uint32_t messages = 0;
  };

  double load_of(std::uint64_t link, SimTime time) const;

  const machine::Topology& topology_;
  const machine::Routing& routing_;
  std::vector<Way> ways_;
  std::unordered_map<std::uint64_t, Link> links_;
};

}  // namespace tessera::sim
