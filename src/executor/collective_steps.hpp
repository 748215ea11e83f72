// Collectives of programs, step by step: each channel goes on by itself.
#pragma once

#include <cstdint>

#include "inbox.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/plan/plan.hpp"
#include "tile_messages.hpp"
#include "tile_state.hpp"

namespace tessera::executor {

// A collective that a tile has under way, as its program's instruction or beside the program.
struct TileCollective {
  TileState& tile;
  Transfer& transfer;
  const plan::Instruction& instruction;
  bool background = false;
};

// Of the tiles of a rank.
class CollectiveSteps {
 public:
  CollectiveSteps(const plan::Plan& plan, InboxPool& inboxes, const TileMessages& messages)
      : plan_(plan), inboxes_(inboxes), messages_(messages) {}

  // Sends what the first step of every channel sends.
  void start(pdes::Context& context, const TileCollective& of);
  // Goes on until all channels wait (false) or are over.
  bool run(pdes::Context& context, const TileCollective& of);
  // Takes a message that a channel waits for, and goes past that step.
  bool take(pdes::Context& context, const TileCollective& of, const InboxPool::Message& message);

  OtherSteps& others() { return others_; }
  const OtherSteps& others() const { return others_; }

 private:
  // What one arrival asks for several times: who the tile is in its group, and one step.
  struct Looked {
    std::uint32_t role = plan::Placement::unused;
    const plan::Instruction* instruction = nullptr;
    collective::Member self = 0;
    std::uint32_t at = 0;
    collective::Step step;
  };

  const collective::Step& step_of(const TileCollective& of, std::uint32_t step);
  EntityId member(const TileCollective& of, collective::Member number) const;
  std::uint32_t steps_of(const plan::Instruction& instruction) const;
  std::uint32_t channels_of(const plan::Instruction& instruction) const;
  std::uint32_t& step_in(Transfer& transfer, std::uint32_t channel);
  std::uint32_t place_in(const TileCollective& of, std::uint32_t channel);
  void send(pdes::Context& context, const TileCollective& of, std::uint32_t at);
  bool run_channel(pdes::Context& context, const TileCollective& of, std::uint32_t channel);
  void end(pdes::Context& context, const TileCollective& of, std::uint32_t channel);

  const plan::Plan& plan_;
  InboxPool& inboxes_;
  const TileMessages& messages_;
  OtherSteps others_;
  Looked looked_;
};

}  // namespace tessera::executor
