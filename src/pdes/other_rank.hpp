// What a rank that keeps promises knows of another one, and the marks of what they send each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "statements.hpp"
#include "tessera/core/time.hpp"

namespace tessera::pdes {

// Marks of the record that ends a batch.
inline constexpr std::uint8_t states = 1;      // statements stand before it
inline constexpr std::uint8_t calls = 2;       // for the global round whose number is its sequence
inline constexpr std::uint8_t is_arrived = 4;  // nothing is left to do before a pause or the end

struct OtherRank {
  // A batch with events that the other one may not know of yet.
  struct Unanswered {
    std::uint32_t number;
    SimTime earliest;
  };

  std::size_t neighbour = Statements::none;  // among those of this rank
  std::uint32_t posted = 0;                  // batches with events to it
  std::uint32_t received = 0;                // batches with events from it
  std::deque<Unanswered> unanswered;
  std::size_t checked = 0;  // events in its outbox that were held against what was said
  SimTime bound;            // nothing comes from it before
  SimTime freed;            // what it waited for when it was told that it may go on
  std::uint32_t looks = 0;  // since it was told
};

}  // namespace tessera::pdes
