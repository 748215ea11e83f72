#include "program/backgrounds.hpp"

#include <algorithm>

#include "tessera/core/wide.hpp"

namespace tessera::executor {

using plan::Action;
using plan::Instruction;

namespace {

// Steps of a span of time, as of a collective's transfer.
constexpr std::uint32_t waits = 0;
constexpr std::uint32_t goes_on = 1;
constexpr std::uint32_t is_over = 2;

// What a span of time takes beside another one, when both begin to share their links evenly. Of
// each millisecond they need so many microseconds of the links together; what is left when one is
// over goes on in full.
SimTime beside(SimTime span, SimTime other, std::uint32_t needs) {
  const SimTime both = std::min(span, other);
  const Wide shared =
      (static_cast<Wide>(both.ps()) * needs + plan::always_busy - 1) / plan::always_busy;
  return SimTime::from_ps(static_cast<std::int64_t>(shared)) + (span - both);
}

// Of a span of time in the program and one beside it: see Instruction::busy.
std::uint32_t needs(const Instruction& program, const Instruction& background) {
  return plan::are_on_the_same_links(program.group, background.group)
             ? program.busy() + background.busy()
             : 0;
}

SimTime span_of(const Instruction& instruction) {
  return SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes));
}

}  // namespace

void Backgrounds::start(pdes::Context& context, TileState& tile, const Instruction& instruction) {
  if (tile.background == TileState::no_background) {
    tile.background = static_cast<std::uint32_t>(backgrounds_.size());
    backgrounds_.emplace_back();
  }
  Background& background = of(tile);
  background.queue.push_back(&instruction);
  if (background.queue.size() == 1) {
    begin_front(context, tile);
    run(context, tile);
  }
}

void Backgrounds::run(pdes::Context& context, TileState& tile) {
  Background& background = of(tile);
  while (!background.queue.empty() && run_front(context, tile)) {
    background.queue.erase(background.queue.begin());
    if (!background.queue.empty()) {
      begin_front(context, tile);
    }
  }
}

void Backgrounds::begin_front(pdes::Context& context, TileState& tile) {
  Background& background = of(tile);
  const Instruction& instruction = *background.queue.front();
  if (instruction.action != Action::start_elapse) {
    steps_.start(context, {tile, background.transfer, instruction, true});
    return;
  }
  background.transfer.awaited = EntityId::none();
  background.transfer.step = waits;
  const bool is_free = places_.finished(tile) || places_.current(tile).action != Action::elapse ||
                       needs(places_.current(tile), instruction) <= plan::always_busy;
  if (is_free) {
    begin_span(context, tile);
  }
}

void Backgrounds::begin_span(pdes::Context& context, TileState& tile) {
  Background& background = of(tile);
  const SimTime span = span_of(*background.queue.front());
  background.transfer.step = goes_on;
  background.until = context.now() + span;
  context.send_self(span, elapsed_, std::uint32_t{0});
}

SimTime Backgrounds::begin_in_program(SimTime now, const TileState& tile,
                                      const Instruction& instruction) {
  const SimTime span = span_of(instruction);
  const std::span<const Instruction* const> all = queue(tile);
  if (all.empty() || all.front()->action != Action::start_elapse) {
    return span;
  }
  const std::uint32_t both = needs(instruction, *all.front());
  if (both <= plan::always_busy) {
    return span;
  }
  Background& background = of(tile);
  const SimTime left = background.until - now;
  background.until = now + beside(left, span, both);
  return beside(span, left, both);
}

void Backgrounds::end_in_program(pdes::Context& context, TileState& tile) {
  const std::span<const Instruction* const> all = queue(tile);
  if (!all.empty() && all.front()->action == Action::start_elapse &&
      of(tile).transfer.step == waits) {
    begin_span(context, tile);
  }
}

bool Backgrounds::elapse(pdes::Context& context, const TileState& tile) {
  Background& background = of(tile);
  if (context.now() < background.until) {
    context.send_self(background.until - context.now(), elapsed_, std::uint32_t{0});
    return false;
  }
  background.transfer.step = is_over;
  return true;
}

// True when it is over.
bool Backgrounds::run_front(pdes::Context& context, TileState& tile) {
  Background& background = of(tile);
  const Instruction& instruction = *background.queue.front();
  return instruction.action == Action::start_elapse
             ? background.transfer.step == is_over
             : steps_.run(context, {tile, background.transfer, instruction, true});
}

SimTime Backgrounds::until(const TileState& tile) const {
  const std::span<const Instruction* const> all = queue(tile);
  SimTime until;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i]->action != Action::start_elapse) {
      return SimTime::never();
    }
    until = i == 0 ? backgrounds_[tile.background].until : until + span_of(*all[i]);
  }
  return until;
}

bool Backgrounds::take(pdes::Context& context, TileState& tile, const InboxPool::Message& message) {
  if (tile.background == TileState::no_background) {
    return false;
  }
  Background& background = of(tile);
  return !background.queue.empty() && background.transfer.awaited.valid() &&
         steps_.take(context, {tile, background.transfer, *background.queue.front(), true},
                     message);
}

void Backgrounds::save(const TileState& tile, const plan::Program& program,
                       pdes::StateWriter& writer) const {
  const bool any = tile.background != TileState::no_background;
  writer.put(static_cast<std::uint8_t>(any ? 1 : 0));
  if (any) {
    save_background(program, backgrounds_[tile.background], steps_.others(), writer);
  }
}

void Backgrounds::restore(TileState& tile, const plan::Program& program,
                          pdes::StateReader& reader) {
  if (reader.get<std::uint8_t>() != 0) {
    tile.background = static_cast<std::uint32_t>(backgrounds_.size());
    backgrounds_.push_back(restore_background(program, steps_.others(), reader));
  }
}

}  // namespace tessera::executor
