// What all routers of a flit network have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/time.hpp"

namespace tessera::network {

// Delays in cycles. The pipeline of a router: a head flit that comes in at cycle t is routed at
// t … t + routing - 1 (0: the router before did it), gets a virtual channel in vc_allocation
// cycles, the switch in switch_allocation, and crosses it in traversal; the cycle of the link comes
// on top.
struct FlitSettings {
  unsigned vcs = 4;     // virtual channels of a port
  unsigned buffer = 8;  // flits of a virtual channel
  unsigned routing_delay = 1;
  unsigned vc_allocation_delay = 1;
  unsigned switch_allocation_delay = 1;
  unsigned traversal_delay = 1;
  unsigned credit_delay = 0;          // beyond the way back
  unsigned interface_cycles = 1;      // link between a node and its router
  unsigned input_speedup = 1;         // flits that may leave the buffers of an input in a cycle
  unsigned output_speedup = 1;        // flits that may come to an output in a cycle
  unsigned iterations = 1;            // of an allocator
  bool outputs_first = true;          // iSLIP; else inputs choose first, each in turn
  bool speculative = false;           // the switch is asked for together with the virtual channel
  bool wait_for_tail_credit = false;  // a virtual channel is free when its buffer is empty again
  bool loopback = false;              // messages to the own node go through the router
  std::uint64_t flit_bytes = 32;
  std::uint32_t packet_flits = 16;
  SimTime cycle;

  // Cycles from a grant of the switch …
  unsigned to_link() const { return switch_allocation_delay - 1 + traversal_delay; }
  // … until the flit is at its node,
  unsigned to_node() const { return to_link() + 1 + interface_cycles; }
  // … until the credit of a flit that left for its node is back,
  unsigned ejection_credit() const { return to_node() + 1 + interface_cycles + credit_delay; }
  // … until the credit of a flit that left over a link of so many cycles is back,
  std::int64_t credit_round_trip(std::int64_t link_cycles) const {
    return 2 * link_cycles + to_link() + 1 + credit_delay;
  }
  // … and until the node's answer to a credit can be in the buffer: there and back.
  unsigned injection_credit() const {
    return switch_allocation_delay - 1 + 2 * (1 + interface_cycles);
  }
};

// Keys of the network section, but for `routing` and the overheads, and their reading; `cycle` is
// not among them.
std::vector<ParameterInfo> flit_parameters();
FlitSettings read_flit_settings(config::Section& section);

}  // namespace tessera::network
