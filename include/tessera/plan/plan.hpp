// Who does what, where: a workload cut by a strategy and laid on a machine.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/collective/algorithm.hpp"
#include "tessera/collective/library.hpp"
#include "tessera/collective/overhead.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/plan/memory.hpp"
#include "tessera/plan/placement/placement.hpp"
#include "tessera/plan/program.hpp"
#include "tessera/plan/strategy.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::plan {

// What a stage keeps on one tile, and where. SRAM holds, in this order of preference, all of it;
// weights with gradients and optimizer state; activations; nothing (PALM, section IV-C: its
// strategies S_wsg_act, S_wsg, S_act, S_dram). What is not held streams from DRAM at each use.
struct StageMemory {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations_per_micro_batch;
  std::uint32_t in_flight = 0;
  BoundaryMemory boundaries;
  Bytes offloaded_per_micro_batch;  // to the host's memory, beside activations
  bool holds_weights = false;
  bool holds_activations = false;
  // When it holds most, with what is held for a moment and the software's share. In closed form; of
  // a schedule that the user wrote, and of those in a V, by a walk.
  MemoryUse peak;
  // Where one tile stands for a group: tiles of a group that share what serves their accesses to
  // memory, and fewest of one group, where groups differ.
  std::uint32_t tiles_a_channel = 1;
  std::uint32_t fewest_tiles_a_channel = 1;
  Bytes activations() const { return activations_per_micro_batch * in_flight; }
  // In the host's memory.
  Bytes offloaded() const { return offloaded_per_micro_batch * in_flight; }
  Bytes weight_state() const { return weights + gradients + optimizer; }
  Bytes total() const { return weight_state() + activations(); }
  // What is held all the time; `micro_batches`: see micro_batches_of_chunk.
  MemoryUse state(std::uint32_t micro_batches) const;
  // Bytes of DRAM the tile's share needs.
  Bytes in_dram() const {
    return (holds_weights ? Bytes(0) : weight_state()) +
           (holds_activations ? Bytes(0) : activations());
  }
};

struct LayerRange {
  std::size_t first = 0;
  std::size_t end = 0;
};

struct Stage {
  std::vector<LayerRange> chunks;
  Program program;
  StageMemory memory;
  TurnMemory pass_memory;
  std::uint32_t communicators = 0;  // groups that one of its devices communicates in
  // Numbers in Machine::tiles() of what its tiles are, ascending. They run one program, which is
  // made for the slowest of them and for the least SRAM.
  std::vector<std::uint16_t> tile_types;
};

// Time of an operation on an idle tile of this kind; given by the compute model.
using OperationTime = std::function<SimTime(const machine::Tile&, const workload::Operation&)>;

// Of the collectives that a program has as times, where a library of collectives is named.
struct LibraryUse {
  bool has_some = false;                                // whose times are the library's
  std::set<std::pair<Group, collective::Kind>> others;  // whose times are not
};

struct Plan {
  Strategy strategy;
  Placement placement;
  std::vector<Stage> stages;
  std::vector<std::string> names;  // of instructions
  std::vector<workload::Operation> operations;
  // Of its first operation among those that the cores do: other plans on the machine have others.
  std::uint32_t first_operation = 0;
  DataType data_type = DataType::fp16;
  bool training = true;
  std::unique_ptr<collective::Algorithm> tensor_algorithm;
  std::unique_ptr<collective::Algorithm> data_algorithm;

  LibraryUse library_use;

  // Shapes of the groups of tiles, by Group.
  std::vector<GroupShape> groups;
  // Members of Group::tied, ascending; of two copies of the model each stage and its mirror
  // instead.
  std::vector<std::uint32_t> tied_stages;

  const GroupShape& group(Group number) const { return groups[static_cast<std::size_t>(number)]; }
  std::uint32_t stage_tiles() const { return strategy.degrees.data * strategy.degrees.tensor; }
  // What a role is in its group, and who another member of that is.
  collective::Member member_of(Group number, std::uint32_t role) const;
  std::uint32_t role_of(Group number, collective::Member member, std::uint32_t role) const;
  // The same, given which member `role` itself is: without a division.
  std::uint32_t role_beside(Group number, collective::Member self, collective::Member member,
                            std::uint32_t role) const {
    return number == Group::tied
               ? role_of(number, member, role)
               : role - self * group(number).stride + member * group(number).stride;
  }
  // Whether the role sends and receives what goes from group to group.
  bool leads(Group number, std::uint32_t role) const {
    return number == Group::each || group(number).leads(member_of(number, role));
  }
  // Steps of a collective, those of all channels one by one.
  std::uint32_t steps(Group number, collective::Kind kind) const {
    return steps_of(algorithm(number), group(number), kind);
  }
  std::uint32_t steps_of_channel(Group number, collective::Kind kind) const {
    return algorithm(number).steps(kind, group(number).together());
  }
  // The step of one member; step % channels is the channel.
  collective::Step step(Group number, collective::Kind kind, collective::Member member, Bytes bytes,
                        std::uint32_t step) const {
    const GroupShape& shape = group(number);
    return shape.is_whole() ? algorithm(number).step(kind, shape.size, member, bytes, step)
                            : step_of(algorithm(number), shape, kind, member, bytes, step);
  }
  static std::uint32_t steps_of(const collective::Algorithm& algorithm, const GroupShape& shape,
                                collective::Kind kind) {
    const std::uint32_t longest =
        shape.parts == 1 || shape.among_leaders
            ? algorithm.steps(kind, shape.together())
            : std::max(
                  algorithm.steps(kind, shape.together()),  // fewer members may take more steps
                  algorithm.steps(kind, shape.size / shape.parts));
    return longest * shape.channels;
  }
  static collective::Step step_of(const collective::Algorithm& algorithm, const GroupShape& shape,
                                  collective::Kind kind, collective::Member member, Bytes bytes,
                                  std::uint32_t step);
  const collective::Algorithm& algorithm(Group number) const {
    return is_over_replicas(number) || number == Group::tied ? *data_algorithm : *tensor_algorithm;
  }
  // Whether the role's tile is simulated, not stood for by another one.
  bool is_simulated(std::uint32_t role) const {
    switch (strategy.aggregation) {
      case Aggregation::none:
        return true;
      case Aggregation::tensor:
        return role % strategy.degrees.tensor == 0;
      case Aggregation::stage:
        return role % stage_tiles() == 0;
    }
    return true;
  }
  // The chunk that receives what the stage sends in a pass through one of its own. In a V it is the
  // same, as the chunks between which messages turn lie in one stage.
  std::uint32_t receiving_chunk(std::uint32_t stage, std::uint32_t chunk, Peer peer) const {
    if (strategy.v_shaped) {
      return chunk;
    }
    if (peer == Peer::next_stage) {
      return chunk + (stage + 1 == stages.size() ? 1 : 0);
    }
    return chunk - (stage == 0 ? 1 : 0);
  }
  // That holds the same parts of the other copy.
  std::uint32_t mirror_of(std::uint32_t stage) const {
    return strategy.degrees.pipeline - 1 - stage;
  }
  // Of the stages' ring.
  std::uint32_t peer_stage(std::uint32_t stage, Peer peer) const {
    const auto count = static_cast<std::uint32_t>(stages.size());
    return (stage + (peer == Peer::next_stage ? 1 : count - 1)) % count;
  }
  // Whether a stage has tiles of several types.
  bool has_mixed_stages() const;
  // Tiles simulated in one stage.
  std::uint32_t simulated_tiles() const;
  // Instructions of one iteration over all tiles: the measure of progress.
  std::uint64_t instructions() const;
  std::size_t resident_bytes() const;
};

// Which tiles share what serves their accesses to memory: those of one channel, all where accesses
// go to all channels, or none.
enum class MemorySharing : std::uint8_t { channel, all, none };

// What a message between two tiles of an idle machine takes; given by the network.
struct Transfers {
  std::function<std::vector<machine::Hop>(EntityId from, EntityId to)> hops;
  SimTime overhead;  // of a message, beyond its links
  collective::Overhead collective{};
  collective::LibrarySettings library{};
  MemorySharing memory = MemorySharing::channel;  // given by the memory
};

// Cuts and places. `transfers` serves collectives that are not simulated. Throws ConfigError when
// the work does not fit: more stages than layers, more roles than tiles, or (unless
// `check_capacity` is off) more bytes than SRAM and DRAM hold. Where experts have loads of their
// own every tile does what the busiest part of them does (workload::of_busiest).
Plan make_plan(const machine::Machine& machine, const workload::Workload& workload,
               const Strategy& strategy, const OperationTime& operation_time,
               const Transfers& transfers);

// A lower bound on an iteration, of `iterations` one after the other: what the schedule takes where
// arithmetic alone takes time, without the update. Stages whose passes take equally long, in one
// chunk each, give PALM's equation (1), (B/b - 1) * slowest stage + sum of all stages, for 1F1B and
// GPipe. Elsewhere that is no bound (chunks and weight gradients put off make the pipeline fill
// sooner; a slow first stage goes on while later ones are idle), so we follow the schedule's own
// order. O(passes * tuples of tile types).
SimTime ideal_time(const machine::Machine& machine, const Plan& plan,
                   const OperationTime& operation_time, std::uint64_t iterations = 1);

// What a stage holds over some passes in a row, and the pass in which it holds most, with the
// software's share.
MemoryWalk::Peak peak_over(const machine::Machine& machine, const Plan& plan, std::uint32_t stage,
                           const std::vector<Pass>& passes);

// What tiles keep in channels of the machine, by number.
using BytesByChannel = std::map<std::uint32_t, Bytes>;

// When they hold most, where operands are there; else, of what stays from pass to pass, what SRAM
// does not hold.
BytesByChannel bytes_in_channels(const machine::Machine& machine, const Plan& plan);

// What is to be said where tiles whose operands are in SRAM would hold more than that and their
// channel have, when they hold most, which the check of capacity lets pass; "" where none do.
std::string note_of_peaks(const machine::Machine& machine, const Plan& plan);

// What is to be said where recomputation is not what its name says; "" elsewhere.
std::string note_of_recomputation(const workload::Workload& workload, const Strategy& strategy);

// What is to be said where more layers of a chunk are to be offloaded than can be; "" elsewhere.
std::string note_of_offload(const workload::Workload& workload, const Plan& plan);

// Layers of each stage: consecutive, none empty, with the smallest possible largest cost and, among
// those, the smallest sum of squared costs. `costs` [kinds][layers] of each layer on stages of a
// kind, `kind_of` [stages]. Gives the first layer of each stage and the end, [stages + 1].
// O(stages * layers^2) time at most, O(stages * layers) memory.
std::vector<std::size_t> balance_layers(const std::vector<std::vector<std::uint64_t>>& costs,
                                        const std::vector<std::size_t>& kind_of);

}  // namespace tessera::plan
