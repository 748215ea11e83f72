#include "program/host_links.hpp"

#include <algorithm>

namespace tessera::executor {
namespace {

bool copies(const plan::Plan& plan) {
  return std::any_of(plan.stages.begin(), plan.stages.end(), [](const plan::Stage& stage) {
    const auto& pieces = stage.program.pieces;
    return std::any_of(pieces.begin(), pieces.end(), [](const auto& piece) {
      return std::any_of(piece.begin(), piece.end(), [](const plan::Instruction& instruction) {
        return instruction.action == plan::Action::start_copy;
      });
    });
  });
}

}  // namespace

HostLinks::HostLinks(const plan::Plan& plan, std::size_t tiles)
    : links_(copies(plan) ? tiles : 0) {}

// A copy out begins when those before are over (PieceWriter::copy_out): where the last one is of
// another pass, what comes in has gone out.
void HostLinks::start(std::uint32_t index, SimTime now, const plan::Instruction& instruction,
                      const plan::Pass& pass) {
  Link& link = links_[index];
  const bool comes_in = plan::copies_in(instruction.slot);
  SimTime& free = link.free[comes_in ? 1 : 0];
  SimTime begin = std::max(now, free);
  if (comes_in) {
    const std::uint8_t out = plan::copy_out_of(instruction.slot);
    const Origin& from = link.origin[out];
    if (from.micro_batch == pass.micro_batch && from.chunk == pass.chunk) {
      begin = std::max(begin, link.over[out]);
    }
  } else {
    link.origin[instruction.slot] = {pass.micro_batch, pass.chunk};
  }
  free = begin + SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes));
  link.over[instruction.slot] = free;
}

SimTime HostLinks::end(std::uint32_t index, std::uint64_t mask) const {
  SimTime end;
  for (std::size_t slot = 0; slot < plan::copy_slots; ++slot) {
    if ((mask >> slot & 1) != 0) {
      end = std::max(end, links_[index].over[slot]);
    }
  }
  return end;
}

void HostLinks::save(std::uint32_t index, pdes::StateWriter& writer) const {
  if (!links_.empty()) {
    writer.put(links_[index].free);
    writer.put(links_[index].over);
    writer.put(links_[index].origin);
  }
}

void HostLinks::restore(std::uint32_t index, pdes::StateReader& reader) {
  if (!links_.empty()) {
    links_[index].free = reader.get<std::array<SimTime, 2>>();
    links_[index].over = reader.get<std::array<SimTime, plan::copy_slots>>();
    links_[index].origin = reader.get<std::array<Origin, plan::copy_slots / 2>>();
  }
}

}  // namespace tessera::executor
