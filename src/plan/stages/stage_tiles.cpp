#include "stages/stage_tiles.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "tessera/core/error.hpp"

namespace tessera::plan {
namespace {

std::string name_of(const machine::Tile& tile) {
  return tile.name.empty() ? "no type" : "type '" + tile.name + "'";
}

void check_operands(const machine::Machine& machine, const Plan& plan, std::uint32_t stage) {
  const std::vector<std::uint16_t> types = types_of_stage(machine, plan, stage);
  const machine::Tile& first = machine.tiles()[types.front()];
  for (const std::uint16_t type : types) {
    const machine::Tile& tile = machine.tiles()[type];
    if (tile.operands_in_dram != first.operands_in_dram) {
      throw ConfigError("stage " + std::to_string(stage) + " has tiles of " + name_of(first) +
                        " and of " + name_of(tile) +
                        ", of which only one has its operands in DRAM: they cannot run one "
                        "program");
    }
  }
}

// Whoever stands for others goes before them.
void check_stand_ins(const machine::Machine& machine, const Plan& plan) {
  EntityId other;
  for (std::uint32_t role = 0; role < plan.strategy.degrees.tiles(); ++role) {
    const EntityId tile = plan.placement.tile(role);
    other = plan.is_simulated(role) ? tile : other;
    if (machine.type_of[tile.value()] != machine.type_of[other.value()]) {
      throw ConfigError(machine.topology->node_name(other) + ", of " +
                        name_of(machine.tile_of(other)) + ", cannot stand for " +
                        machine.topology->node_name(tile) + ", of " +
                        name_of(machine.tile_of(tile)) + " (aggregation)");
    }
  }
}

}  // namespace

std::vector<std::uint16_t> types_of_stage(const machine::Machine& machine, const Plan& plan,
                                          std::uint32_t stage) {
  const Placement& placement = plan.placement;
  const std::vector<EntityId>& usable = plan.strategy.placement.nodes;
  const bool is_draft = placement.tiles().empty();
  if (machine.types.empty() || (is_draft && usable.empty())) {
    std::vector<std::uint16_t> all(machine.tiles().size());
    std::iota(all.begin(), all.end(), std::uint16_t{0});
    return all;
  }
  std::set<std::uint16_t> types;
  if (is_draft) {
    for (const EntityId node : usable) {
      types.insert(machine.type_of[node.value()]);
    }
    return {types.begin(), types.end()};
  }
  const std::uint32_t roles = placement.stage_tiles();
  for (std::uint32_t role = stage * roles; role < (stage + 1) * roles; ++role) {
    types.insert(machine.type_of[placement.tile(role).value()]);
  }
  return {types.begin(), types.end()};
}

machine::Tile least_tile(const machine::Machine& machine, const std::vector<std::uint16_t>& types) {
  machine::Tile least = machine.tiles()[types.front()];
  for (const std::uint16_t type : types) {
    const machine::Tile& tile = machine.tiles()[type];
    if (tile.sram > Bytes(0) && (least.sram == Bytes(0) || tile.sram < least.sram)) {
      least.sram = tile.sram;
    }
    least.loads_operands = least.loads_operands && tile.loads_operands;
  }
  return least;
}

void check_types(const machine::Machine& machine, const Plan& plan) {
  if (machine.types.empty()) {
    return;
  }
  for (std::uint32_t stage = 0; stage < plan.strategy.degrees.pipeline; ++stage) {
    check_operands(machine, plan, stage);
  }
  check_stand_ins(machine, plan);
}

}  // namespace tessera::plan
