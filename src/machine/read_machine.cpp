#include <utility>

#include "dram.hpp"
#include "faults.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/machine.hpp"

namespace tessera::machine {
namespace {

std::unique_ptr<Topology> read_topology(config::Section& machine) {
  config::Section section = machine.section("topology");
  const std::string kind = section.get_name("kind", topologies().names());
  if (!topologies().contains(kind)) {
    // Already complained about; nobody can say which of the other keys are right.
    for (const std::string& key : section.keys()) {
      section.raw(key);
    }
    return nullptr;
  }
  auto topology = topologies().at(kind)(section);
  section.finish();  // here, as nothing else may come after a topology that was not read
  if (topology && topology->computing_nodes() == 0) {
    machine.error("topology", "no node computes; at least one must be a tile");
  }
  return topology;
}

Tile read_tile(config::Section& machine) {
  Tile tile;
  if (!machine.has("tile")) {
    return tile;
  }
  config::Section section = machine.section("tile");
  config::Section peak = section.section("peak");
  for (const std::string& key : peak.keys()) {
    const std::optional<DataType> type = data_type_from(key);
    if (type) {
      tile.peak[*type] = peak.get<FlopRate>(key, config::at_least(FlopRate::flops_per_second(1)));
    } else {
      peak.raw(key);
      peak.error(key, unknown_name("data type", key, data_type_names()));
    }
  }
  if (peak.keys().empty()) {
    section.error("peak", "must give the peak rate of at least one data type, e.g. fp16");
  }
  tile.efficiency = section.get_or<Fraction>("efficiency", Fraction::millionths(Fraction::one),
                                             config::at_least(Fraction::millionths(1)));
  tile.sram = section.get_or<Bytes>("sram", Bytes(0));
  tile.sram_bandwidth = section.get_or<Bandwidth>("sram_bandwidth", Bandwidth::bytes_per_second(0));
  tile.operands_in_dram = section.get_name("operands", {"sram", "dram"}, "sram") == "dram";
  return tile;
}

// Operands in DRAM move at the bandwidth of the tile's own channel.
void check_operands(const Machine& machine, config::Section& section) {
  if (!machine.tile.operands_in_dram) {
    return;
  }
  const bool refused = machine.channels.empty() && section.has("dram") &&
                       section.section("dram").raw("at").text != "none";
  if (refused) {
    return;  // complained about there
  }
  bool own = !machine.channels.empty();
  for (std::uint32_t n = 0; own && n < machine.topology->nodes(); ++n) {
    const EntityId node(n);
    own = !machine.topology->computes(node) || machine.channels[machine.channel_of[n]].node == node;
  }
  if (!own) {
    config::Section tile = section.section("tile");
    tile.error("operands", "'dram' needs a channel at every tile; write 'dram: {at: each}'");
  }
}

}  // namespace

std::optional<Machine> read_machine(config::Section& section) {
  Machine machine;
  machine.name = section.get_or<std::string>("name", "machine");
  machine.topology = read_topology(section);
  machine.tile = read_tile(section);
  if (!machine.topology) {
    for (const char* key : {"dram", "faults"}) {
      if (section.has(key)) {
        section.raw(key);  // cannot be judged without a topology
      }
    }
    return std::nullopt;
  }
  machine.topology = apply_faults(section, std::move(machine.topology), machine.speeds);
  machine.channels = read_channels(section, *machine.topology);
  machine.channel_of = nearest_channels(*machine.topology, machine.channels);
  check_operands(machine, section);
  return machine;
}

}  // namespace tessera::machine
