#include "programs/aggregation_notes.hpp"

#include <algorithm>

#include "tessera/memory/memory.hpp"
#include "tessera/network/network.hpp"

namespace tessera::sim {
namespace {

// Of what is shared between the tiles that one stands for.
void note_shared_memory(const Platform& platform, const plan::Plan& plan,
                        std::vector<std::string>& notes) {
  std::uint32_t most = 1;
  bool differ = false;
  for (const plan::Stage& stage : plan.stages) {
    most = std::max(most, stage.memory.tiles_a_channel);
    differ |= stage.memory.tiles_a_channel > stage.memory.fewest_tiles_a_channel;
  }
  if (most == 1) {
    return;
  }
  const machine::Machine& machine = platform.machine;
  if (std::ranges::any_of(machine.tiles(), [](const auto& tile) { return tile.loads_operands; })) {
    notes.push_back("cores that load operands themselves load those of one tile, although up to " +
                    std::to_string(most) +
                    " share a channel (machine.compute.operands, strategy.aggregation): where "
                    "memory is the bottleneck, an iteration takes up to that many times as long");
    return;
  }
  if (differ) {
    notes.emplace_back(
        "each tensor group of a stage is assumed to share its channels like the group with the "
        "most tiles on one channel (strategy.aggregation)");
  }
  if (!platform.memory->goes_by_channels()) {
    notes.emplace_back(
        "a tile that stands for others has only as many requests in flight as one tile "
        "(machine.memory, strategy.aggregation): where that is the limit, accesses take longer "
        "than those of all tiles would");
  }
}

}  // namespace

void note_aggregation(const Platform& platform, const plan::Plan& plan, bool uses_memory,
                      std::vector<std::string>& notes) {
  const std::uint32_t each = plan.stage_tiles() / plan.simulated_tiles();
  if (each == 1) {
    notes.emplace_back("strategy.aggregation has no effect with groups of one tile");
    return;
  }
  notes.push_back("a tile stands for " + std::to_string(each) +
                  ": messages among these take the time of a closed form and contend with nothing "
                  "else (strategy.aggregation)");
  if (!platform.machine.speeds.empty()) {
    notes.emplace_back(
        "a tile that stands for others is as slow as the slowest of them (machine.faults), "
        "even where these belong to several replicas, which synchronize only once per iteration");
  }
  const bool shares_memory =
      platform.memory && platform.memory->arbitration() == machine::Arbitration::fair;
  if (shares_memory && uses_memory) {
    notes.emplace_back(
        "a tile that stands for others requests memory for all of them, but gets the share of one "
        "tile beside other stages (machine.memory.arbitration: fair, strategy.aggregation)");
  }
  if (platform.network->arbitration() == machine::Arbitration::fair) {
    notes.emplace_back(
        "a tile that stands for others sends for all of them, but gets the link share of one tile "
        "beside other stages (machine.network.arbitration: fair, strategy.aggregation)");
  }
  if (platform.network->holds_packets()) {
    notes.emplace_back(
        "messages of a tile that stands for others are larger, but have no more than "
        "machine.network.max_packets packets, each of which is forwarded when it has arrived in "
        "full (machine.network.switching: store-and-forward, strategy.aggregation): with few "
        "packets to a message, errors of -30 to +72 % were found");
  }
  if (uses_memory && platform.memory) {
    note_shared_memory(platform, plan, notes);
  }
}

}  // namespace tessera::sim
