#include "search/pass_walks.hpp"

#include <algorithm>

namespace tessera::explore {
namespace {

// Whatever the sizes: what is put off keeps its activations, and more.
bool is_as_much(const HeldBeside& a, const HeldBeside& b) {
  const auto of_chunk = [&](std::size_t chunk) {
    return a.apart[chunk] >= b.apart[chunk] &&
           a.whole[chunk] + a.apart[chunk] >= b.whole[chunk] + b.apart[chunk];
  };
  return a.phase == b.phase && a.chunk == b.chunk && a.pairs == b.pairs && of_chunk(0) &&
         of_chunk(1);
}

void note(const HeldBeside& held, std::vector<HeldBeside>& most) {
  if (std::any_of(most.begin(), most.end(),
                  [&](const HeldBeside& other) { return is_as_much(other, held); })) {
    return;
  }
  std::erase_if(most, [&](const HeldBeside& other) { return is_as_much(held, other); });
  most.push_back(held);
}

Bytes after(const plan::PhaseMemory& chunk, plan::Phase phase) {
  return chunk[static_cast<std::size_t>(phase)].after;
}

}  // namespace

StageWalk walk_of(const std::vector<plan::Turn>& turns) {
  StageWalk walk;
  HeldBeside held;
  for (const plan::Turn& turn : turns) {
    const plan::Pass& pass = turn.pass;
    held.phase = pass.phase;
    held.chunk = pass.chunk;
    held.pairs = turn.beside.has_value();
    if (turn.beside) {
      --held.whole[turn.beside->chunk];
      ++walk.pairs[pass.chunk];
    }
    std::uint32_t& whole = held.whole[pass.chunk];
    std::uint32_t& apart = held.apart[pass.chunk];
    // What the pass itself works on is not held beside it.
    const bool is_inputs = pass.phase == plan::Phase::input_gradient;
    whole -= is_inputs || pass.phase == plan::Phase::backward ? 1U : 0U;
    apart -= pass.phase == plan::Phase::weight_gradient ? 1U : 0U;
    note(held, walk.most);
    whole += pass.phase == plan::Phase::forward ? 1U : 0U;
    apart += is_inputs ? 1U : 0U;
  }
  return walk;
}

plan::MemoryUse StageWalk::peak(const plan::MemoryUse& state,
                                const plan::TurnMemory& passes) const {
  const std::vector<plan::PhaseMemory>& chunks = passes.chunks;
  plan::MemoryUse peak;
  for (const HeldBeside& held : most) {
    plan::MemoryUse use = state;
    use += held.pairs ? passes.pairs[held.chunk].most
                      : chunks[held.chunk][static_cast<std::size_t>(held.phase)].most;
    for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
      use[plan::MemoryPart::activations] +=
          after(chunks[chunk], plan::Phase::forward) * held.whole[chunk] +
          after(chunks[chunk], plan::Phase::input_gradient) * held.apart[chunk];
    }
    peak = use.total() > peak.total() ? use : peak;
  }
  return peak;
}

const std::vector<StageWalk>& PassWalks::of(const std::string& schedule,
                                            const plan::PipelineShape& shape, bool pairs) {
  plan::PipelineShape filled = shape;
  filled.micro_batches = std::min(shape.micro_batches, 2 * shape.stages + 2);
  const auto [entry, fresh] =
      known_.try_emplace({schedule, filled.stages, filled.micro_batches, pairs});
  for (std::uint32_t stage = 0; fresh && stage < filled.stages; ++stage) {
    const std::vector<plan::Pass> passes = plan::schedules().at(schedule).passes(filled, stage);
    StageWalk& walk =
        entry->second.emplace_back(walk_of(plan::turns_of(passes, filled, stage, pairs)));
    walk.in_flight = plan::most_in_flight(passes);
    walk.micro_batches = filled.micro_batches;
  }
  return entry->second;
}

}  // namespace tessera::explore
