// What a tile does, as data: one immutable program a pipeline stage, shared by all its tiles.
//
// Peers are symbolic ("the next stage", "the tensor group"), so 400 000 tiles hold no graph of
// their own. A program has a few phases (forward, backward, update), each a list of instructions,
// and a schedule that says in which order the phases run for which micro-batch.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/core/data_type.hpp"
#include "tessera/core/units.hpp"

namespace tessera::plan {

enum class Action : std::uint8_t {
  execute,           // flops, bytes (SRAM traffic)
  collective,        // bytes (full vector), group, collective::Kind; waits for its end
  start_collective,  // the same in the background, first started first done
  wait_collectives,  // until all background collectives are done
  send,              // bytes, peer, traffic; goes on at once
  receive,           // bytes, peer, traffic; waits
  read,              // bytes from DRAM into slot `tag`; goes on at once
  write,             // bytes to DRAM under slot `tag`; goes on at once
  wait_access,       // until the accesses of the slots in mask `bytes` are done
};

// Whom a send or receive means: the tile with the same shard and replica in another stage.
enum class Peer : std::uint8_t { previous_stage, next_stage };

// The tiles of the same stage that share a replica (tensor) or a shard (data).
enum class Group : std::uint8_t { tensor, data };

// What a message is for. Also its tag: messages of one pair and traffic are matched in order.
enum class Traffic : std::uint8_t { activation, gradient, tensor, data };
inline constexpr std::size_t traffic_kinds = 4;
std::string to_string(Traffic traffic);

struct Instruction {
  Action action = Action::execute;
  Peer peer = Peer::previous_stage;
  Group group = Group::tensor;
  Traffic traffic = Traffic::activation;
  std::uint8_t collective = 0;  // collective::Kind
  std::uint8_t slot = 0;        // of an access, 0 … 63
  std::uint16_t name = 0;       // in Plan::names
  std::uint64_t flops = 0;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(Instruction) == 24);

// `last_backward` is the backward pass of the last micro-batch, where gradients become final.
enum class Phase : std::uint8_t { forward, backward, last_backward, update };
inline constexpr std::size_t phases = 4;
// "forward", "backward" (also for the last one), "update".
std::string to_string(Phase phase);

struct ScheduleEntry {
  Phase phase = Phase::forward;
  std::uint32_t micro_batch = 0;
};

struct Program {
  std::array<std::vector<Instruction>, phases> code;
  std::vector<ScheduleEntry> schedule;  // one iteration

  const std::vector<Instruction>& instructions(Phase phase) const {
    return code[static_cast<std::size_t>(phase)];
  }
};

}  // namespace tessera::plan
