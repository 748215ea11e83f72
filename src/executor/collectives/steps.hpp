// Collectives of programs: each channel is a lane of collective::Lane, of which a tile keeps one
// number.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "program/inbox.hpp"
#include "program/tile_messages.hpp"
#include "program/tile_state.hpp"
#include "tessera/collective/lane.hpp"
#include "tessera/core/divisor.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/plan/plan.hpp"

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
  CollectiveSteps(const plan::Plan& plan, InboxPool& inboxes, TileMessages& messages);

  // Sends what the first step of every channel sends.
  void start(pdes::Context& context, const TileCollective& of);
  // Goes on until all channels wait (false) or are over.
  bool run(pdes::Context& context, const TileCollective& of);
  // Takes a message that a channel waits for, and goes past that step.
  bool take(pdes::Context& context, const TileCollective& of, const InboxPool::Message& message);

  // Calls visit(source, tag, bytes) for the message that each channel waits for.
  template <class Visit>
  void visit_awaited(const TileCollective& of, const Visit& visit) {
    for (std::uint32_t channel = 0; channel < channels_of(of.instruction); ++channel) {
      if (step_in(of.transfer, channel) == steps_of(of.instruction)) {
        continue;
      }
      const std::uint32_t at = place_in(of, channel);
      const collective::Step& step = step_of(of, at);
      if (step.receive_from != collective::nobody) {
        visit(member(of, step.receive_from), tag_of(of.instruction.traffic, of.background, at),
              step.receive_bytes);
      }
    }
  }

  OtherSteps& others() { return others_; }
  const OtherSteps& others() const { return others_; }

 private:
  class Host;

  // What one arrival asks for several times: who the tile is in its group, and one step.
  struct Looked {
    std::uint32_t role = plan::Placement::unused;
    const plan::Instruction* instruction = nullptr;
    collective::Member self = 0;
    std::uint32_t at = 0;
    collective::Step step;
  };

  // What is asked of a group at every arrival, without virtual calls and divisions.
  struct Group {
    Divisor stride;
    Divisor size;
    // Of a channel, by kind; `unknown` until asked for.
    std::array<std::uint32_t, collective::kinds> steps;
    // Whether every member passes on to the next one what it gets, by kind.
    std::array<bool, collective::kinds> passes_on;
  };
  static constexpr std::uint32_t unknown = 0xFFFFFFFFU;

  collective::Member member_of(plan::Group group, std::uint32_t role) const;
  const collective::Step& step_of(const TileCollective& of, std::uint32_t step);
  EntityId member(const TileCollective& of, collective::Member number) const;
  std::uint32_t steps_of(const plan::Instruction& instruction);
  std::uint32_t channels_of(const plan::Instruction& instruction) const;
  std::uint32_t& step_in(Transfer& transfer, std::uint32_t channel);
  std::uint32_t place_in(const TileCollective& of, std::uint32_t channel);
  bool passes_on(const plan::Instruction& instruction) const {
    return groups_[static_cast<std::size_t>(instruction.group)]
        .passes_on[static_cast<std::size_t>(instruction.collective)];
  }
  bool is_awaited(const TileCollective& of, std::uint32_t channel,
                  const InboxPool::Message& message);

  const plan::Plan& plan_;
  InboxPool& inboxes_;
  TileMessages& messages_;
  std::vector<Group> groups_;  // as Plan::groups
  OtherSteps others_;
  Looked looked_;
};

}  // namespace tessera::executor
