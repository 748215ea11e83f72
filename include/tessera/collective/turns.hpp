// In which order the chunks of a stacked collective go through each dimension.
//
// Chunks queue at a dimension in the order in which they come to it. When they come depends on the
// network, and could differ from NPU to NPU, which would then wait for each other for ever: so the
// order is decided beforehand, from what the phases would take on an idle machine, and holds for
// all NPUs (docs/design/0011-execution-graphs.md).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tessera/collective/stacked/stacked.hpp"
#include "tessera/core/time.hpp"

namespace tessera::collective {

// What a step takes beside the network.
struct StepCosts {
  SimTime endpoint;        // before the first step of a phase, and after each message
  Bandwidth local_memory;  // of additions, which move a message three times; 0: they take no time
  SimTime tick = SimTime::from_ps(1);  // every pass of an addition is cut to a multiple of it
  // Additions in the steps below this one take no time.
  std::uint32_t free_additions = 0;
  // Of what goes over the network, the rest being flags and gaps of the library's protocol: NCCL's
  // LL sends 4 bytes of data with 4 of flags, its LL128 120 of data with 8.
  std::uint32_t data_ppm = whole_ppm;  // > 0

  static constexpr std::uint32_t whole_ppm = 1'000'000;

  // What a message of so much data takes on links; rounded up.
  Bytes on_wire(Bytes data) const;
  // From the arrival of the message of a step to its end.
  SimTime after_message(const Step& step, std::uint32_t number) const;
};

// A chunk goes through one of its phases.
struct Turn {
  std::uint32_t chunk = 0;
  std::uint32_t phase = 0;
  friend bool operator==(const Turn&, const Turn&) = default;
};

struct Turns {
  std::vector<ChunkPlan> chunks;
  std::vector<std::uint32_t> first_queue;  // [dimensions] of all queues
  std::vector<std::vector<Turn>> of;       // [queues] in order

  std::uint32_t queue_of(const Phase& phase) const {
    return first_queue[phase.dimension] + phase.queue;
  }
};

// Which chunk goes first where several wait for a dimension.
enum class ChunkQueue : std::uint8_t {
  fifo,            // that came first
  lifo,            // that came last
  smallest_first,  // with the smallest vector there, then that came first
};

struct TurnOptions {
  std::uint32_t at_a_time = 1;  // > 0, chunks in a queue of a dimension
  ChunkQueue queue = ChunkQueue::fifo;
};

// Of a phase whose vector has so many bytes.
using PhaseTime = std::function<SimTime(const Phase& phase, Bytes bytes)>;

// Runs the chunks through the dimensions once. Of chunks that come at the same instant those come
// first that leave a lower dimension, then those that began there first.
Turns plan_turns(Kind kind, Bytes bytes, std::span<const StackedDimension> dimensions,
                 const StackedOptions& options, const TurnOptions& turn_options,
                 const PhaseTime& time);

// From the sender of a message to its receiver.
using MessageTime = std::function<SimTime(Member from, Member to, Bytes bytes)>;

// Of a phase at member 0, if all members begin it together and its messages go at the times given.
SimTime phase_time(const Algorithm& algorithm, Kind kind, std::uint32_t size, Bytes bytes,
                   const MessageTime& message, const StepCosts& costs);

// Until all members know that all have begun, if they do so together.
SimTime barrier_time(const Algorithm& algorithm, std::uint32_t size, const MessageTime& message);

}  // namespace tessera::collective
