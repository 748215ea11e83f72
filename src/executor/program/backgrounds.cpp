#include "program/backgrounds.hpp"

namespace tessera::executor {

using plan::Action;
using plan::Instruction;

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

// One that only takes time has two steps: started, over.
void Backgrounds::begin_front(pdes::Context& context, TileState& tile) {
  Background& background = of(tile);
  const Instruction& instruction = *background.queue.front();
  if (instruction.action != Action::start_elapse) {
    steps_.start(context, {tile, background.transfer, instruction, true});
    return;
  }
  background.transfer.awaited = EntityId::none();
  background.transfer.step = 1;
  const SimTime span = SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes));
  background.until = context.now() + span;
  context.send_self(span, elapsed_, std::uint32_t{0});
}

// True when it is over.
bool Backgrounds::run_front(pdes::Context& context, TileState& tile) {
  Background& background = of(tile);
  const Instruction& instruction = *background.queue.front();
  return instruction.action == Action::start_elapse
             ? background.transfer.step == 2
             : steps_.run(context, {tile, background.transfer, instruction, true});
}

SimTime Backgrounds::until(const TileState& tile) const {
  const std::span<const Instruction* const> all = queue(tile);
  SimTime until;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i]->action != Action::start_elapse) {
      return SimTime::never();
    }
    until = i == 0 ? backgrounds_[tile.background].until
                   : until + SimTime::from_ps(static_cast<std::int64_t>(all[i]->bytes));
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
