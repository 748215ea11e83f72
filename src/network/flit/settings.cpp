#include "flit/settings.hpp"

#include <algorithm>
#include <string>

#include "tessera/config/key.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/network/network.hpp"

namespace tessera::network {
namespace {

using config::between;
using config::Key;

// Made when asked for, as the network registers before this file's own objects are there.
struct Keys {
  FlitSettings usual;
  Key<Bytes> flit_size{"flit_size", Bytes(usual.flit_bytes),
                       "bytes that the fastest link carries per cycle", config::at_least(Bytes(1))};
  Key<Bytes> packet_size{"packet_size", Bytes(usual.packet_flits* usual.flit_bytes),
                         "size of the packets that messages are split into; at least two flits",
                         config::at_least(Bytes(1))};
  Key<unsigned> virtual_channels{"virtual_channels", usual.vcs, "virtual channels per port",
                                 between(1U, 32U)};
  Key<unsigned> buffer{"buffer", usual.buffer, "flits that the buffer of a virtual channel holds",
                       between(1U, 255U)};
  Key<unsigned> routing_delay{"routing_delay", usual.routing_delay,
                              "cycles; 0: look-ahead routing in the previous router",
                              between(0U, 64U)};
  Key<unsigned> vc_allocation_delay{"vc_allocation_delay", usual.vc_allocation_delay, "cycles",
                                    between(1U, 64U)};
  Key<unsigned> switch_allocation_delay{"switch_allocation_delay", usual.switch_allocation_delay,
                                        "cycles", between(1U, 64U)};
  Key<unsigned> traversal_delay{"traversal_delay", usual.traversal_delay,
                                "cycles through the switch", between(1U, 64U)};
  Key<unsigned> credit_delay{"credit_delay", usual.credit_delay,
                             "cycles that a credit takes in addition to its time on the link",
                             between(0U, 64U)};
  Key<unsigned> interface_delay{"interface_delay", usual.interface_cycles,
                                "cycles between a node and its router", between(1U, 64U)};
  config::ChoiceKey<bool> outputs_first{"allocator",
                                        {{"islip", true}, {"round-robin", false}},
                                        FlitSettings{}.outputs_first,
                                        "islip, or round-robin: input-first separable allocation"};
  Key<unsigned> allocator_iterations{"allocator_iterations", usual.iterations,
                                     "iterations of an allocator per cycle", between(1U, 64U)};
  Key<unsigned> input_speedup{"input_speedup", usual.input_speedup,
                              "flits that may leave the buffers of an input per cycle",
                              between(1U, 32U)};
  Key<unsigned> output_speedup{"output_speedup", usual.output_speedup,
                               "flits that may arrive at an output per cycle", between(1U, 32U)};
  Key<bool> speculative{"speculative", usual.speculative,
                        "request the switch together with the virtual channel"};
  Key<bool> tail_credit{"tail_credit", usual.wait_for_tail_credit,
                        "a virtual channel is free again only when its buffer is empty"};
  Key<bool> loopback{"loopback", usual.loopback,
                     "messages from a node to itself go through its router"};
};

const Keys& keys() {
  static const Keys made;
  return made;
}

}  // namespace

std::vector<ParameterInfo> flit_parameters() {
  ParameterInfo routing = routing_parameter();
  routing.help = "as for `packet`, and on meshes also west-first and odd-even (minimal, adaptive)";
  return {routing,
          message_overhead_parameter(),
          collective_overhead_parameter(),
          collective_member_overhead_parameter(),
          collective_fill_parameter(),
          library_parameter(),
          nvswitch_generation_parameter(),
          nvls_parameter(),
          keys().flit_size,
          keys().packet_size,
          keys().virtual_channels,
          keys().buffer,
          keys().routing_delay,
          keys().vc_allocation_delay,
          keys().switch_allocation_delay,
          keys().traversal_delay,
          keys().credit_delay,
          keys().interface_delay,
          keys().outputs_first,
          keys().allocator_iterations,
          keys().input_speedup,
          keys().output_speedup,
          keys().speculative,
          keys().tail_credit,
          keys().loopback};
}

FlitSettings read_flit_settings(config::Section& section) {
  FlitSettings settings;
  settings.vcs = keys().virtual_channels.read(section);
  settings.buffer = keys().buffer.read(section);
  settings.routing_delay = keys().routing_delay.read(section);
  settings.vc_allocation_delay = keys().vc_allocation_delay.read(section);
  settings.switch_allocation_delay = keys().switch_allocation_delay.read(section);
  settings.traversal_delay = keys().traversal_delay.read(section);
  settings.credit_delay = keys().credit_delay.read(section);
  settings.interface_cycles = keys().interface_delay.read(section);
  settings.outputs_first = keys().outputs_first.read(section);
  settings.iterations = keys().allocator_iterations.read(section);
  settings.input_speedup = keys().input_speedup.read(section);
  settings.output_speedup = keys().output_speedup.read(section);
  settings.speculative = keys().speculative.read(section);
  settings.wait_for_tail_credit = keys().tail_credit.read(section);
  settings.loopback = keys().loopback.read(section);
  settings.flit_bytes = keys().flit_size.read(section).count();
  const std::uint64_t packet = keys().packet_size.read(section).count();
  settings.packet_flits = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(quotient_up(packet, settings.flit_bytes), 2, 1U << 30));
  const std::uint64_t of_flits = settings.packet_flits * settings.flit_bytes;
  if (packet != of_flits) {
    section.tell(section.path() + ".packet_size: packets have " +
                 std::to_string(settings.packet_flits) + " flits, " + std::to_string(of_flits) +
                 " B");
  }
  if (settings.input_speedup > settings.vcs) {
    section.error("input_speedup", "more flits of an input than it has virtual channels");
    settings.input_speedup = settings.vcs;
  }
  return settings;
}

}  // namespace tessera::network
