// A request to a language model on its way through steps.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/serving/prefix_key.hpp"
#include "tessera/serving/request.hpp"

namespace tessera::serving {

inline constexpr std::uint32_t no_step = 0xFFFFFFFF;

struct Sequence {
  std::uint64_t request = 0;
  Request what;
  std::uint32_t goal = 0;       // tokens that go in before the next one comes out
  std::uint32_t cached = 0;     // tokens in the cache, or in the tier
  std::uint32_t generated = 0;  // tokens given
  std::uint32_t again = 0;
  std::uint32_t step = no_step;  // that it is in
  std::uint32_t queries = 0;     // in that step
  PrefixKey uses;                // prefix in the cache that it uses
  std::uint64_t blocks = 0;      // its own
  std::uint64_t shared = 0;      // tokens of the prefix or the pieces that it uses
  std::uint64_t stored = 0;      // blocks in the tier; 0: what is cached is in the cache
  std::uint32_t pieces = 0;      // of its prompt that are in the cache and it uses
  std::uint32_t sees_from = 0;   // of these, the first that layers with a window still need
  std::uint32_t credit = 0;      // millionths of a token, that drafts have gained and not given
  bool keeps_pieces = true;      // as it computes them; no more, once another one was faster
  SimTime begun = SimTime::never();
  SimTime first;
  SimTime last;  // token

  bool generates() const { return cached + 1 == goal && generated > 0; }
};

// In which order sequences are served: as they come, or by the priorities of their classes.
class SequenceOrder {
 public:
  explicit SequenceOrder(std::vector<std::int32_t> priorities)
      : priorities_(std::move(priorities)) {}

  bool by_priority() const { return !priorities_.empty(); }
  // By priority, whether one goes before another one.
  bool before(const Sequence& a, const Sequence& b) const {
    return std::tuple(priority_of(a), a.what.arrival, a.request) <
           std::tuple(priority_of(b), b.what.arrival, b.request);
  }

 private:
  std::int32_t priority_of(const Sequence& sequence) const {
    const std::uint32_t number = sequence.what.of_class;
    return number == 0 ? 0 : priorities_[number - 1];
  }

  std::vector<std::int32_t> priorities_;  // [classes]
};

}  // namespace tessera::serving
