#include "flit_settings.hpp"

#include <algorithm>

#include "tessera/config/key.hpp"
#include "tessera/network/network.hpp"

namespace tessera::network {
namespace {

using config::between;
using config::Key;

const Key<Bytes> flit_size{"flit_size", Bytes(32), "what the fastest link carries in a cycle",
                           config::at_least(Bytes(1))};
const Key<Bytes> packet_size{"packet_size", Bytes(512),
                             "packets that messages are cut into; two flits at least",
                             config::at_least(Bytes(1))};
const Key<unsigned> virtual_channels{"virtual_channels", 4, "of each port", between(1U, 32U)};
const Key<unsigned> buffer{"buffer", 8, "flits that a virtual channel holds", between(1U, 255U)};
const Key<unsigned> routing_delay{"routing_delay", 1, "cycles; 0: the router before looks ahead",
                                  between(0U, 64U)};
const Key<unsigned> vc_allocation_delay{"vc_allocation_delay", 1, "cycles", between(1U, 64U)};
const Key<unsigned> switch_allocation_delay{"switch_allocation_delay", 1, "cycles",
                                            between(1U, 64U)};
const Key<unsigned> traversal_delay{"traversal_delay", 1, "cycles through the switch",
                                    between(1U, 64U)};
const Key<unsigned> credit_delay{
    "credit_delay", 0, "cycles that a credit takes beyond its way back", between(0U, 64U)};
const Key<unsigned> interface_delay{"interface_delay", 1, "cycles between a node and its router",
                                    between(1U, 64U)};
const config::ChoiceKey<bool> outputs_first{"allocator",
                                            {{"islip", true}, {"round-robin", false}},
                                            "islip",
                                            "islip, or round-robin: inputs choose before outputs"};
const Key<unsigned> allocator_iterations{"allocator_iterations", 1,
                                         "rounds of an allocator in a cycle", between(1U, 64U)};
const Key<unsigned> input_speedup{"input_speedup", 1,
                                  "flits that may leave the buffers of an input in a cycle",
                                  between(1U, 32U)};
const Key<unsigned> output_speedup{"output_speedup", 1,
                                   "flits that may come to an output in a cycle", between(1U, 32U)};
const Key<bool> speculative{"speculative", false,
                            "ask for the switch together with the virtual channel"};
const Key<bool> tail_credit{"tail_credit", false,
                            "a virtual channel is free when its buffer is empty again"};
const Key<bool> loopback{"loopback", false, "messages to the own node go through its router"};

}  // namespace

std::vector<ParameterInfo> flit_parameters() {
  ParameterInfo routing = routing_parameter();
  routing.help = "as of `packet`, and on meshes west-first and odd-even (minimal, adaptive)";
  return {routing,
          message_overhead_parameter(),
          collective_overhead_parameter(),
          flit_size,
          packet_size,
          virtual_channels,
          buffer,
          routing_delay,
          vc_allocation_delay,
          switch_allocation_delay,
          traversal_delay,
          credit_delay,
          interface_delay,
          outputs_first,
          allocator_iterations,
          input_speedup,
          output_speedup,
          speculative,
          tail_credit,
          loopback};
}

FlitSettings read_flit_settings(config::Section& section) {
  FlitSettings settings;
  settings.vcs = virtual_channels.read(section);
  settings.buffer = buffer.read(section);
  settings.routing_delay = routing_delay.read(section);
  settings.vc_allocation_delay = vc_allocation_delay.read(section);
  settings.switch_allocation_delay = switch_allocation_delay.read(section);
  settings.traversal_delay = traversal_delay.read(section);
  settings.credit_delay = credit_delay.read(section);
  settings.interface_cycles = interface_delay.read(section);
  settings.outputs_first = outputs_first.read(section);
  settings.iterations = allocator_iterations.read(section);
  settings.input_speedup = input_speedup.read(section);
  settings.output_speedup = output_speedup.read(section);
  settings.speculative = speculative.read(section);
  settings.wait_for_tail_credit = tail_credit.read(section);
  settings.loopback = loopback.read(section);
  settings.flit_bytes = flit_size.read(section).count();
  const std::uint64_t packet = packet_size.read(section).count();
  settings.packet_flits = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      (packet + settings.flit_bytes - 1) / settings.flit_bytes, 2, 1U << 30));
  if (settings.input_speedup > settings.vcs) {
    section.error("input_speedup", "more flits of an input than it has virtual channels");
    settings.input_speedup = settings.vcs;
  }
  return settings;
}

}  // namespace tessera::network
