// What tiles have done with their time, booked as it passes and told to the observer.
#pragma once

#include <cstdint>
#include <vector>

#include "program/inbox.hpp"
#include "program/places.hpp"
#include "program/tile_state.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/state.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::executor {

class Bookings {
 public:
  // What a tile that waits for such messages does.
  static Activity activity_of(plan::Traffic traffic);

  // Of so many tiles. Plan, places and observer (may be null) must outlive it.
  Bookings(const plan::Plan& plan, const ProgramPlaces& places, Observer* observer,
           std::size_t tiles)
      : plan_(plan), places_(places), observer_(observer), outputs_(plan.training ? 0 : tiles) {}

  // Of the current instruction.
  void book(const pdes::Context& context, TileState& tile, Activity activity, SimTime start,
            SimTime end) const {
    if (start == end) {
      return;
    }
    if (activity != Activity::bubble) {
      tile.time_ps[static_cast<std::size_t>(activity)] += (end - start).ps();
    }
    if (observer_ != nullptr) {
      const plan::Instruction& current = places_.current(tile);
      const plan::Pass& pass = places_.entry(tile).pass_of(current);
      observer_->on_operator(
          {context.self(), current.name, pass.phase, activity, pass.micro_batch, start, end});
    }
  }
  // Of an exchange between stages: what comes first may not have been sent yet.
  void book_until_sent(const pdes::Context& context, TileState& tile,
                       const InboxPool::Message& message) const;
  // Inference: what leaves the last stage is a result.
  void note_output(const pdes::Context& context, const TileState& tile);
  // When a tile gave out its first result and its last one; nothing in training.
  void put_outputs(std::uint32_t index, TileResult& result) const;

  void save(std::uint32_t index, pdes::StateWriter& writer) const;
  void restore(std::uint32_t index, pdes::StateReader& reader);
  std::size_t resident_bytes() const { return outputs_.capacity() * sizeof(Outputs); }

 private:
  struct Outputs {
    SimTime first;
    SimTime last;
  };

  const plan::Plan& plan_;
  const ProgramPlaces& places_;
  Observer* observer_;
  std::vector<Outputs> outputs_;  // by tile, in inference
};

}  // namespace tessera::executor
