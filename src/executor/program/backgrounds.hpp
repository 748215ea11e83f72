// What goes on beside the programs of tiles: one collective or span of time after the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/steps.hpp"
#include "program/places.hpp"
#include "program/tile_state.hpp"

namespace tessera::executor {

// Of the tiles of a rank; those that never start one have none.
class Backgrounds {
 public:
  // A span of time ends with an event on `elapsed`. Places and steps must outlive it.
  Backgrounds(const ProgramPlaces& places, CollectiveSteps& steps, pdes::Port elapsed)
      : places_(places), steps_(steps), elapsed_(elapsed) {}

  // Behind those that are under way.
  void start(pdes::Context& context, TileState& tile, const plan::Instruction& instruction);
  // Takes a message that the one under way waits for; `run` is then to follow.
  bool take(pdes::Context& context, TileState& tile, const InboxPool::Message& message);
  // What a span of time that the program begins takes: it shares links evenly with the one under
  // way here, which is put off too. One that comes to its turn here meanwhile waits for its end.
  SimTime begin_in_program(SimTime now, const TileState& tile,
                           const plan::Instruction& instruction);
  void end_in_program(pdes::Context& context, TileState& tile);
  // Whether the span of time under way is over, which may have been put off; `run` is then to
  // follow.
  bool elapse(pdes::Context& context, const TileState& tile);
  // Goes on until it waits or nothing is left.
  void run(pdes::Context& context, TileState& tile);

  // Whether one of the slots in `mask` is not done.
  bool holds(const TileState& tile, std::uint64_t mask) const {
    return tile.background != TileState::no_background && backgrounds_[tile.background].holds(mask);
  }
  // Those that are not over, the one under way first.
  std::span<const plan::Instruction* const> queue(const TileState& tile) const {
    return tile.background == TileState::no_background
               ? std::span<const plan::Instruction* const>()
               : std::span<const plan::Instruction* const>(backgrounds_[tile.background].queue);
  }
  // When all of them are over; zero where there are none, never where that depends on messages.
  SimTime until(const TileState& tile) const;
  // GB/s that the one under way brings; none where that depends on messages.
  std::uint16_t arriving(const TileState& tile) const {
    const auto all = queue(tile);
    return all.empty() ? std::uint16_t{0} : all.front()->received;
  }
  // See CollectiveSteps; nothing for a span of time.
  template <class Visit>
  void visit_awaited(TileState& tile, const Visit& visit) {
    Background& background = of(tile);
    const plan::Instruction& front = *background.queue.front();
    if (front.action != plan::Action::start_elapse) {
      steps_.visit_awaited({tile, background.transfer, front, true}, visit);
    }
  }
  // Of the one under way.
  plan::Traffic traffic(const TileState& tile) const {
    return backgrounds_[tile.background].queue.front()->traffic;
  }

  void save(const TileState& tile, const plan::Program& program, pdes::StateWriter& writer) const;
  void restore(TileState& tile, const plan::Program& program, pdes::StateReader& reader);
  std::size_t resident_bytes() const { return backgrounds_.capacity() * sizeof(Background); }

 private:
  Background& of(const TileState& tile) { return backgrounds_[tile.background]; }
  void begin_front(pdes::Context& context, TileState& tile);
  void begin_span(pdes::Context& context, TileState& tile);
  bool run_front(pdes::Context& context, TileState& tile);

  const ProgramPlaces& places_;
  CollectiveSteps& steps_;
  pdes::Port elapsed_;
  std::vector<Background> backgrounds_;
};

}  // namespace tessera::executor
