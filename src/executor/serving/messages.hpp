// What the host of a serving system and its cores tell each other.
#pragma once

#include <array>
#include <cstdint>

#include "tessera/executor/serving/serving.hpp"
#include "tessera/serving/policy.hpp"

namespace tessera::executor {

// Port kinds; the last one is of several jobs (tenants_executor.cpp).
constexpr unsigned serving_call_kind = 0;   // at the host, from itself; tag: HostCall
constexpr unsigned serving_moved_kind = 1;  // at a tile, or a memory; tag: place at the host; word:
                                            // MoveOf
constexpr unsigned serving_named_kind = 2;  // at a core; tag: place of the part at the host; word:
                                            // its number
constexpr unsigned serving_shared_kind = 3;     // at a core; the same tag; word: ShareOf
constexpr unsigned serving_computed_kind = 4;   // npu::ShareDone; the same tag
constexpr unsigned serving_heard_kind = 5;      // at the host; the same tag
constexpr unsigned serving_exchanged_kind = 6;  // from core to core; tag: step; word: ExchangeOf
// On tiles:
constexpr unsigned serving_keys_kind = 7;      // the same tag; word: of serving::StepSizes
constexpr unsigned serving_pairs_kind = 8;     // the same
constexpr unsigned serving_accessed_kind = 9;  // memory; tag: the same, or with `writes_flag`

// At a tile: keys and values are to go to another, or have come from one; word: CarryOf.
constexpr unsigned serving_carry_kind = 10;
// At the host: a whole step is over (tag: slot). At a tile, where steps are walked: one of the
// words serving::StepSizes::more (the same tag), its place above its bits.
constexpr unsigned serving_whole_kind = 11;
constexpr unsigned serving_more_kind = serving_whole_kind;
// At a tile, once all whole steps are over; tag: SpentWord; word: [ps].
constexpr unsigned serving_spent_kind = 12;
enum class SpentWord : std::uint16_t { busy, exchanging, end };

// At a tile; as serving_pairs_kind.
constexpr unsigned serving_blocks_kind = 13;
constexpr unsigned serving_block_keys_kind = 14;
// Of the words of serving::StepSizes behind the first.
inline constexpr std::array serving_size_kinds{serving_keys_kind, serving_pairs_kind,
                                               serving_blocks_kind, serving_block_keys_kind};

// What the host says to itself; payload: a tenant, or a step. A whole step that is over comes on a
// kind of its own.
enum class HostCall : std::uint16_t { begin, arrive, prepared, whole };

// Of an access that writes; hence there are half as many tags.
constexpr std::uint16_t writes_flag = 0x8000;

// Which exchange a message is of: the place of its part, and how many came before it there; and
// its lane, where an algorithm has several.
struct ExchangeOf {
  std::uint16_t slot = 0;
  std::uint16_t lane = 0;
  std::uint32_t number = 0;

  std::uint64_t word() const {
    return std::uint64_t{slot} | std::uint64_t{number} << 16U | std::uint64_t{lane} << 48U;
  }
  static ExchangeOf from(std::uint64_t word) {
    return {static_cast<std::uint16_t>(word), static_cast<std::uint16_t>(word >> 48U),
            static_cast<std::uint32_t>(word >> 16U)};
  }
  friend bool operator==(const ExchangeOf&, const ExchangeOf&) = default;
};

// Which cores share a part, how urgent it is, and of which step.
struct ShareOf {
  serving::CoreRange cores;
  std::uint8_t priority = 0;
  std::uint32_t step = 0;  // its lower 24 bits

  std::uint64_t word() const {
    return std::uint64_t{cores.first} | std::uint64_t{cores.count} << 16U |
           std::uint64_t{priority} << 32U | std::uint64_t{step & 0xFFFFFFU} << 40U;
  }
  static ShareOf from(std::uint64_t word) {
    return {{static_cast<std::uint32_t>(word & 0xFFFFU),
             static_cast<std::uint32_t>(word >> 16U & 0xFFFFU)},
            static_cast<std::uint8_t>(word >> 32U),
            static_cast<std::uint32_t>(word >> 40U)};
  }
  // The first group of tiles of core `place`; the core that has the first tiles moves on with the
  // operator (chip.hpp).
  std::uint32_t first_group(std::uint32_t op, std::uint32_t place) const {
    return (place - cores.first + cores.count - op % cores.count) % cores.count;
  }
};

// The same of a step that a tile walks through: how many requests it hands over layer by layer, and
// which one of its tenant's steps it is, in the order in which tiles are told of them.
struct WalkOf {
  std::uint16_t leaving = 0;
  std::uint16_t turn = 0;
  std::uint8_t priority = 0;
  std::uint32_t step = 0;  // its lower 24 bits

  std::uint64_t word() const { return ShareOf{{leaving, turn}, priority, step}.word(); }
  static WalkOf from(std::uint64_t word) {
    const ShareOf share = ShareOf::from(word);
    return {static_cast<std::uint16_t>(share.cores.first),
            static_cast<std::uint16_t>(share.cores.count), share.priority, share.step};
  }
  static std::uint16_t turn_after(std::uint16_t turn) {
    return static_cast<std::uint16_t>(turn + 1U);
  }
};

// Keys and values that one unit hands over to another.
struct CarryOf {
  static constexpr unsigned byte_bits = 43;
  static constexpr unsigned npu_bits = 19;

  std::uint32_t npu = 0;    // that they go to; of layers that have come: how many there are
  std::uint64_t bytes = 0;  // of layers that are to go: LayersOf
  bool by_layers = false;
  bool has_come = false;

  std::uint64_t word() const {
    return bytes | std::uint64_t{npu} << byte_bits | std::uint64_t{by_layers ? 1U : 0U} << 62U |
           std::uint64_t{has_come ? 1U : 0U} << 63U;
  }
  static CarryOf from(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> byte_bits & ((1U << npu_bits) - 1)),
            word & ((std::uint64_t{1} << byte_bits) - 1), (word >> 62U & 1U) != 0,
            (word >> 63U) != 0};
  }
};

// Of a request that is handed over layer by layer: its tokens, and the place at the host of the
// step after whose layers they go.
struct LayersOf {
  static constexpr unsigned token_bits = 19;  // serving::most_keys

  std::uint32_t tokens = 0;
  std::uint16_t step = 0;

  std::uint64_t bytes() const { return tokens | std::uint64_t{step} << token_bits; }
  static LayersOf from(std::uint64_t bytes) {
    return {static_cast<std::uint32_t>(bytes & ((1U << token_bits) - 1)),
            static_cast<std::uint16_t>(bytes >> token_bits)};
  }
};

// What the host says of a part in several messages, in any order.
struct Told {
  std::uint16_t slot = 0;
  std::uint16_t heard = 0;                // a bit for each word
  std::array<std::uint64_t, 10> words{};  // number, share, and of tiles serving::StepSizes

  // Words before those of serving::StepSizes::more, and a bit for each of them.
  static constexpr std::size_t first_more = 2 + serving_size_kinds.size();
  static constexpr unsigned all_but_more = (1U << first_more) - 1;
};

// Blocks of the cache of a tenant go to the tier behind it, or come from there, in three steps.
struct MoveOf {
  static constexpr unsigned byte_bits = 52;
  static constexpr unsigned tenant_bits = 9;
  static_assert(most_moving_tenants == 1U << tenant_bits);
  // At the unit, by the host; at the node that is the memory; at the unit again.
  enum class Stage : std::uint8_t { told, asked, over };

  std::uint64_t bytes = 0;
  std::uint32_t tenant = 0;
  bool out = false;
  Stage stage = Stage::told;

  std::uint64_t word() const {
    return bytes | std::uint64_t{tenant} << byte_bits | std::uint64_t{out ? 1U : 0U} << 61U |
           static_cast<std::uint64_t>(stage) << 62U;
  }
  static MoveOf from(std::uint64_t word) {
    return {word & ((std::uint64_t{1} << byte_bits) - 1),
            static_cast<std::uint32_t>(word >> byte_bits & ((1U << tenant_bits) - 1)),
            (word >> 61U & 1U) != 0, static_cast<Stage>(word >> 62U)};
  }
};

// Tag of a message that hands on.
constexpr std::uint16_t hand_on_tag = 0xFFFF;

}  // namespace tessera::executor
