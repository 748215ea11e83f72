#include "flit_settings.hpp"

#include <algorithm>

#include "tessera/network/network.hpp"

namespace tessera::network {
namespace {

unsigned read_count(config::Section& section, const char* key, std::int64_t usual, std::int64_t low,
                    std::int64_t high) {
  return static_cast<unsigned>(
      section.get_or<std::int64_t>(key, usual, config::between<std::int64_t>(low, high)));
}

}  // namespace

std::vector<ParameterInfo> flit_parameters() {
  return {{"routing", "", "as the topology says",
           "as of `packet`, and on meshes west-first and odd-even (minimal, adaptive)"},
          message_overhead_parameter(),
          collective_overhead_parameter(),
          {"flit_size", "B", "32 B", "what the fastest link carries in a cycle"},
          {"packet_size", "B", "512 B", "packets that messages are cut into; two flits at least"},
          {"virtual_channels", "", "4", "of each port"},
          {"buffer", "", "8", "flits that a virtual channel holds"},
          {"routing_delay", "", "1", "cycles; 0: the router before looks ahead"},
          {"vc_allocation_delay", "", "1", "cycles"},
          {"switch_allocation_delay", "", "1", "cycles"},
          {"traversal_delay", "", "1", "cycles through the switch"},
          {"credit_delay", "", "0", "cycles that a credit takes beyond its way back"},
          {"interface_delay", "", "1", "cycles between a node and its router"},
          {"allocator", "", "islip", "islip, or round-robin: inputs choose before outputs"},
          {"allocator_iterations", "", "1", "rounds of an allocator in a cycle"},
          {"input_speedup", "", "1", "flits that may leave the buffers of an input in a cycle"},
          {"output_speedup", "", "1", "flits that may come to an output in a cycle"},
          {"speculative", "", "false", "ask for the switch together with the virtual channel"},
          {"tail_credit", "", "false", "a virtual channel is free when its buffer is empty again"},
          {"loopback", "", "false", "messages to the own node go through its router"}};
}

FlitSettings read_flit_settings(config::Section& section) {
  FlitSettings settings;
  settings.vcs = read_count(section, "virtual_channels", 4, 1, 32);
  settings.buffer = read_count(section, "buffer", 8, 1, 255);
  settings.routing_delay = read_count(section, "routing_delay", 1, 0, 64);
  settings.vc_allocation_delay = read_count(section, "vc_allocation_delay", 1, 1, 64);
  settings.switch_allocation_delay = read_count(section, "switch_allocation_delay", 1, 1, 64);
  settings.traversal_delay = read_count(section, "traversal_delay", 1, 1, 64);
  settings.credit_delay = read_count(section, "credit_delay", 0, 0, 64);
  settings.interface_cycles = read_count(section, "interface_delay", 1, 1, 64);
  settings.outputs_first =
      section.get_name("allocator", {"islip", "round-robin"}, "islip") == "islip";
  settings.iterations = read_count(section, "allocator_iterations", 1, 1, 64);
  settings.input_speedup = read_count(section, "input_speedup", 1, 1, 32);
  settings.output_speedup = read_count(section, "output_speedup", 1, 1, 32);
  settings.speculative = section.get_or<bool>("speculative", false);
  settings.wait_for_tail_credit = section.get_or<bool>("tail_credit", false);
  settings.loopback = section.get_or<bool>("loopback", false);
  settings.flit_bytes =
      section.get_or<Bytes>("flit_size", Bytes(32), config::at_least(Bytes(1))).count();
  const std::uint64_t packet =
      section.get_or<Bytes>("packet_size", Bytes(512), config::at_least(Bytes(1))).count();
  settings.packet_flits = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      (packet + settings.flit_bytes - 1) / settings.flit_bytes, 2, 1U << 30));
  if (settings.input_speedup > settings.vcs) {
    section.error("input_speedup", "more flits of an input than it has virtual channels");
    settings.input_speedup = settings.vcs;
  }
  return settings;
}

}  // namespace tessera::network
