// How messages of graphs name what they belong to.
#pragma once

#include <compare>
#include <cstdint>
#include <utility>

#include "tessera/collective/run.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/units.hpp"

namespace tessera::executor {

// What a message is, in the 64 bits that travel with it and in the tag of its event:
// collectives: 1, communicator, its number there, chunk, phase, lane, upper bits of the step; in
// the tag the lower bits of the step. Messages between two NPUs: 0 and their tag.
inline constexpr unsigned group_bits = 20;
inline constexpr unsigned number_bits = 12;
inline constexpr unsigned chunk_bits = 14;
inline constexpr unsigned phase_bits = 6;
inline constexpr unsigned lane_bits = 2;
inline constexpr unsigned step_bits = 8;
inline constexpr unsigned tag_bits = 16;
static_assert(1 + group_bits + number_bits + chunk_bits + phase_bits + lane_bits + step_bits <= 64);

// The highest bit: of messages to memory and from it, whose other bits are the affair of who sends
// them (node_access.cpp, coherent_access.cpp); in the tag the lower bits of the task's place.
inline constexpr std::uint64_t of_memory = std::uint64_t{1} << 63;

inline bool is_of_memory(std::uint64_t word) {
  return (word & of_memory) != 0;
}

// Of a collective of one NPU.
struct CollectiveId {
  std::uint32_t group = 0;
  std::uint32_t number = 0;
  friend bool operator==(const CollectiveId&, const CollectiveId&) = default;
};

struct MessageId {
  std::uint64_t word = 0;
  std::uint32_t source = 0;  // of messages between two NPUs, an entity
  std::uint16_t tag = 0;
  friend auto operator<=>(const MessageId&, const MessageId&) = default;
};

inline MessageId id_of(const CollectiveId& of, const collective::StepName& name) {
  std::uint64_t word = 1;
  const auto add = [&word](std::uint64_t value, unsigned bits) {
    ensure(value >> bits == 0, "a part of a collective whose number has its bits");
    word = word << bits | value;
  };
  add(of.group, group_bits);
  add(of.number & ((1U << number_bits) - 1), number_bits);
  add(name.chunk, chunk_bits);
  add(name.phase, phase_bits);
  add(name.lane, lane_bits);
  add(name.step >> tag_bits, step_bits);
  return {word, 0, static_cast<std::uint16_t>(name.step)};
}

inline bool is_of_collective(std::uint64_t word) {
  return word >> (group_bits + number_bits + chunk_bits + phase_bits + lane_bits + step_bits) != 0;
}

// The other way; `number` has its lower bits only.
inline std::pair<CollectiveId, collective::StepName> parts_of(std::uint64_t word,
                                                              std::uint16_t tag) {
  const auto take = [&word](unsigned bits) {
    const auto value = static_cast<std::uint32_t>(word & ((std::uint64_t{1} << bits) - 1));
    word >>= bits;
    return value;
  };
  CollectiveId of;
  collective::StepName name;
  name.step = take(step_bits) << tag_bits | tag;
  name.lane = static_cast<std::uint16_t>(take(lane_bits));
  name.phase = static_cast<std::uint16_t>(take(phase_bits));
  name.chunk = take(chunk_bits);
  of.number = take(number_bits);
  of.group = take(group_bits);
  return {of, name};
}

}  // namespace tessera::executor
