#include "program/standing.hpp"

#include "tessera/plan/program.hpp"

namespace tessera::executor {

using plan::Action;

void ProgramStanding::tell(std::uint32_t index, ProgramOutlook& outlook) {
  TileState& tile = tiles_[index];
  const auto queue = backgrounds_.queue(tile);
  if (!queue.empty()) {
    outlook.stay_exact();
    visit_background(index, tile, outlook, [&](const Resumption& resumption) {
      outlook.stand_beside(resumption, queue);
    });
  }
  if (!places_.finished(tile)) {
    tell_program(index, tile, outlook);
  }
}

// What the collective or span of time that goes on beside the program waits for.
template <class Visit>
void ProgramStanding::visit_background(std::uint32_t index, TileState& tile,
                                       const ProgramOutlook& outlook, const Visit& visit) {
  bool waits = false;
  backgrounds_.visit_awaited(tile, [&](EntityId source, std::uint16_t tag, Bytes bytes) {
    waits = true;
    visit(outlook.message(index, source, tag, bytes));
  });
  if (!waits) {
    visit(Resumption{});
  }
}

void ProgramStanding::tell_program(std::uint32_t index, TileState& tile, ProgramOutlook& outlook) {
  const bool last = places_.is_last(tile);
  if (!outlook.has_begun(index)) {
    outlook.stand({{}, 0, 0, last});
    return;
  }
  const plan::Instruction& instruction = places_.current(tile);
  const auto here = [&](const Resumption& resumption) {
    outlook.stand({resumption, tile.entry, tile.instruction, last});
  };
  const auto behind = [&](const Resumption& resumption) {
    outlook.stand({resumption, tile.entry, tile.instruction + 1, last});
  };
  switch (instruction.action) {
    case Action::execute:
      behind({Resumption::Kind::at,
              tile.since + outlook.least_duration(index, instruction.operation)});
      break;
    case Action::elapse:
      behind({Resumption::Kind::at,
              tile.since + SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes))});
      break;
    case Action::receive:
      if (tile.transfer.awaited.valid()) {
        behind(outlook.message(index, tile.transfer.awaited,
                               places_.boundary_tag(tile, instruction), Bytes(instruction.bytes)));
      } else {
        here({});
      }
      break;
    case Action::collective: {
      bool waits = false;
      if (!messages_.are_watched(tile, instruction)) {
        here({});
        break;
      }
      steps_.visit_awaited({tile, tile.transfer, instruction},
                           [&](EntityId source, std::uint16_t tag, Bytes bytes) {
                             waits = true;
                             here(outlook.message(index, source, tag, bytes));
                           });
      if (!waits) {
        here({});
      }
      break;
    }
    case Action::wait_collectives:
      if (backgrounds_.queue(tile).empty()) {
        here({});
      } else {
        visit_background(index, tile, outlook, behind);
      }
      break;
    case Action::wait_access:
      behind(outlook.access(index, instruction.bytes));
      break;
    case Action::wait_copies:
      behind({Resumption::Kind::at, host_links_.end(index, instruction.bytes)});
      break;
    default:
      here({});
      break;
  }
}

}  // namespace tessera::executor
