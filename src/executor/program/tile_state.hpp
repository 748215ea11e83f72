// What the executor knows of each tile, and how a checkpoint holds it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "program/inbox.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/pdes/state.hpp"
#include "tessera/plan/placement/placement.hpp"
#include "tessera/plan/program.hpp"

namespace tessera::executor {

// Steps of the channels of a collective but the first, for the tiles whose collectives have
// several.
using OtherSteps = std::vector<std::vector<std::uint32_t>>;

// A collective under way, in one channel or in several at a time, each at a step of its own.
struct Transfer {
  std::uint32_t step = 0;           // of the first channel
  EntityId awaited;                 // none: not waiting for a message
  std::uint32_t others = no_place;  // in OtherSteps, once there was need

  static constexpr std::uint32_t no_place = 0xFFFFFFFFU;
};

// Collectives that go on in the background, in the order started. Only tiles that start one have
// this.
struct Background {
  std::vector<const plan::Instruction*> queue;  // front: the one under way
  Transfer transfer;
  SimTime until;  // of a span of time at the front: its end

  // Whether one of the slots in `mask` is not done.
  bool holds(std::uint64_t mask) const {
    return std::any_of(queue.begin(), queue.end(), [&](const plan::Instruction* instruction) {
      return (mask >> instruction->slot & 1) != 0;
    });
  }
};

struct TileState {
  std::uint32_t role = plan::Placement::unused;
  std::uint32_t entry = 0;        // in the schedule
  std::uint32_t instruction = 0;  // in the phase
  std::uint32_t iteration = 0;
  SimTime since;               // when the current instruction began to wait
  std::uint32_t accesses = 0;  // slots under way
  Transfer transfer;           // of the current instruction; `awaited` serves receives too
  InboxPool::List inbox = InboxPool::empty;
  std::uint32_t background = no_background;
  std::array<std::int64_t, program_activities - 1>
      time_ps{};  // all but `bubble`, which is the rest

  static constexpr std::uint32_t no_background = 0xFFFFFFFFU;
};

// All of a tile but its role, which follows from its place, and its background collectives.
void save_tile(const TileState& tile, const InboxPool& inboxes, const OtherSteps& others,
               pdes::StateWriter& writer);
void restore_tile(TileState& tile, InboxPool& inboxes, OtherSteps& others,
                  pdes::StateReader& reader);

// An instruction is stored as its place in the program: phase and number.
void save_background(const plan::Program& program, const Background& background,
                     const OtherSteps& others, pdes::StateWriter& writer);
Background restore_background(const plan::Program& program, OtherSteps& others,
                              pdes::StateReader& reader);

}  // namespace tessera::executor
