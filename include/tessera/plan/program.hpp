// What a tile does, as data: one immutable program a pipeline stage, shared by all its tiles.
//
// Peers are symbolic ("the next stage", "the tensor group"), so 400 000 tiles hold no graph of
// their own. A program is a few pieces (the forward pass of a chunk of layers, its backward pass,
// the update), each a list of instructions, and a schedule that says in which order the pieces run
// for which micro-batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/collective/channels.hpp"
#include "tessera/collective/kind.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/core/units.hpp"

namespace tessera::plan {

enum class Action : std::uint8_t {
  execute,           // operation
  collective,        // bytes (full vector), group, kind; waits for its end
  start_collective,  // the same in the background under a slot, first started first done
  wait_collectives,  // until the background collectives of the slots in mask `bytes` are done
  send,              // bytes, peer, traffic, by the leaders of `group` only; goes on at once
  receive,           // the same, to them; they wait, the others go on
  read,              // bytes from DRAM into slot `slot`; goes on at once
  write,             // bytes to DRAM under slot `slot`; goes on at once
  wait_access,       // until the accesses of the slots in mask `bytes` are done
  elapse,            // `bytes` picoseconds, of a collective of `group` that is not simulated, or
                     // before the first message of one that is
  start_elapse,      // the same in the background, as start_collective
  start_copy,        // `bytes` picoseconds of the link to the host, under `slot`; goes on at once
  wait_copies,       // until the copies of the slots in mask `bytes` are over
};

// Slots of copies to the host, out and in; what comes in has gone out under the slot before.
inline constexpr std::uint8_t copy_slots = 4;
constexpr bool copies_in(std::uint8_t slot) {
  return slot >= copy_slots / 2;
}
constexpr std::uint8_t copy_out_of(std::uint8_t slot) {
  return static_cast<std::uint8_t>(slot - copy_slots / 2);
}

// Whom a send or receive means: the tile in the same place of another stage, around the ring of
// stages when a stage holds several chunks of layers that do not lie in a V.
enum class Peer : std::uint8_t { previous_stage, next_stage };

// Tiles that communicate: see Plan::groups. They are of one stage, but those of `tied`, which are
// in the same place of all stages that hold a copy of the same weights. In `each` a tile is alone;
// those from `first_cut` on are parts of the tensor group, for explicit sharding and boundaries.
enum class Group : std::uint8_t {
  each,
  tensor,
  data,
  context,
  expert,
  expert_data,
  tied,
  shard,   // of data: who share out, where that is not all
  copies,  // of data: who hold the same share
  first_cut
};

// Members of a group: of every `stride`-th place in the stage, `size`. A tile's place is
// replica * tensor + shard.
//
// A group may cut its vector in `channels` parts and run one collective on each at a time. Members
// follow each other in blocks of as many that are close together (machine::Topology::domain); in
// channel c every block is turned by c, so that each channel leaves it by another member and the
// machine's network between blocks is used in full (the rings of NCCL).
//
// Without channels, members may be cut in `parts` runs of consecutive ones, whose sizes differ by
// one at most, the larger first. Each run has a collective of its own; or there is one among the
// first members of the runs, which are the leaders, and the others have no part in it.
struct GroupShape {
  std::uint32_t size = 1;
  std::uint32_t stride = 1;
  std::uint32_t channels = 1;
  std::uint32_t parts = 1;
  bool among_leaders = false;

  // Whether all members have one collective, in one channel.
  bool is_whole() const { return channels == 1 && parts == 1 && !among_leaders; }
  std::uint32_t member(std::uint32_t place) const { return place / stride % size; }
  std::uint32_t place_of(std::uint32_t member, std::uint32_t place) const {
    return place - this->member(place) * stride + member * stride;
  }
  // Where a member is in the order of a channel, and who is there.
  std::uint32_t turned(std::uint32_t member, std::uint32_t channel) const {
    return collective::Channel{channel, channels}.turned(member);
  }
  std::uint32_t turned_back(std::uint32_t member, std::uint32_t channel) const {
    return collective::Channel{channel, channels}.turned_back(member);
  }
  // First member of a run; `part` may be `parts`.
  std::uint32_t leader(std::uint32_t part) const {
    if (parts == 1) {
      return part * size;
    }
    return part * (size / parts) + std::min(part, size % parts);
  }
  std::uint32_t part_of(std::uint32_t member) const {
    if (parts == 1) {
      return 0;
    }
    const std::uint32_t in_larger = size % parts * (size / parts + 1);
    return member < in_larger ? member / (size / parts + 1)
                              : size % parts + (member - in_larger) / (size / parts);
  }
  bool leads(std::uint32_t member) const { return leader(part_of(member)) == member; }
  // Of the largest collective.
  std::uint32_t together() const { return among_leaders ? parts : leader(1); }
  friend bool operator==(const GroupShape&, const GroupShape&) = default;
};

// What a message is for. Also part of its tag: messages of one pair and traffic are matched by
// micro-batch and chunk, or by step of a collective, and then in order.
enum class Traffic : std::uint8_t {
  activation,
  gradient,
  tensor,
  data,
  context,
  expert,
  tied,
  // Of graphs only:
  message,  // from a send to its receive
  collective,
};
inline constexpr std::size_t traffic_kinds = 9;
// Those of programs; `tied` is the last of them.
inline constexpr std::size_t program_traffic_kinds = 7;
std::string to_string(Traffic traffic);

std::string to_string(Group group);

// Whether the group is of replicas that hold the same weights, or shares of them.
constexpr bool is_over_replicas(Group group) {
  return group == Group::data || group == Group::expert_data || group == Group::shard ||
         group == Group::copies;
}

// What the messages of a group are for.
Traffic traffic_of(Group group);

// What the host does before it issues an operation.
enum class HostWait : std::uint8_t {
  no,     // it is ahead of the device, but where it has to wait for others
  waits,  // until the program comes to the operation
  begins  // the same, and begins with it: what came before was not issued
};

struct Instruction {
  Action action = Action::execute;
  Peer peer = Peer::previous_stage;
  Group group = Group::each;
  Traffic traffic = Traffic::activation;
  collective::Kind collective = collective::Kind::all_reduce;
  std::uint8_t slot = 0;               // of an access or of a background collective, 0 … 31
  std::uint16_t name = 0;              // in Plan::names
  std::uint32_t operation = 0;         // in Plan::operations; of elapse and start_elapse: see busy
  bool beside = false;                 // of the second of two passes: see ScheduleEntry
  HostWait host_waits = HostWait::no;  // of execute
  std::uint16_t received = 0;          // of start_elapse: GB/s that come to the tile meanwhile
  std::uint64_t bytes = 0;

  // Of elapse and start_elapse: in how much of the time bytes are on the links [1/1000]; the rest
  // is latency. Zero where the network has messages share no links.
  std::uint32_t busy() const { return operation; }
};
static_assert(sizeof(Instruction) == 24);
inline constexpr std::uint32_t always_busy = 1000;

// Whether two collectives of a stage have the same links: of one group, or over all replicas and
// over those of them that hold the same experts.
constexpr bool are_on_the_same_links(Group one, Group other) {
  const auto is_of_all = [](Group group) {
    return group == Group::data || group == Group::expert_data;
  };
  return one == other || (is_of_all(one) && is_of_all(other));
}

// `backward` is the gradients of inputs and weights together, which some schedules take apart.
enum class Phase : std::uint8_t { forward, backward, input_gradient, weight_gradient, update };
inline constexpr std::size_t phases = 5;
std::string to_string(Phase phase);

// One pass of one micro-batch through one chunk of a stage's layers.
struct Pass {
  Phase phase = Phase::forward;
  std::uint16_t chunk = 0;
  std::uint32_t micro_batch = 0;
  friend bool operator==(const Pass&, const Pass&) = default;
};

struct ScheduleEntry {
  Pass pass;
  std::uint32_t piece = 0;
  std::optional<Pass> beside{};  // that takes turns with the first, in the same piece

  const Pass& pass_of(const Instruction& instruction) const {
    return instruction.beside ? *beside : pass;
  }
};

struct Program {
  std::vector<std::vector<Instruction>> pieces;
  std::vector<ScheduleEntry> schedule;  // one iteration

  const std::vector<Instruction>& instructions(const ScheduleEntry& entry) const {
    return pieces[entry.piece];
  }
};

}  // namespace tessera::plan
