// What two passes that take turns hold together.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "pass_walk.hpp"

namespace tessera::plan {
namespace {

// Of one of the two: its layers in order, by turn. A turn goes up to the next exchange, in which
// the pass waits while the other has its turn.
class Side {
 public:
  // `before` and `after`: what it holds where it has not begun, and where it is over.
  Side(std::vector<LayerUse> layers, Bytes before, Bytes after) : layers_(std::move(layers)) {
    before_[MemoryPart::activations] = before;
    after_[MemoryPart::activations] = after;
    turns_.emplace_back();
    for (std::size_t number = 0; number < layers_.size(); ++number) {
      turns_.back().end = number + 1;
      for (std::uint32_t exchange = 0; exchange < layers_[number].exchanges; ++exchange) {
        turns_.push_back({number, number + 1});
      }
    }
  }

  std::size_t turns() const { return turns_.size(); }
  // While it waits after so many turns.
  const MemoryUse& after_turns(std::size_t count) const {
    if (count == 0) {
      return before_;
    }
    return count < turns_.size() ? layers_[turns_[count].first].use : after_;
  }
  // Each layer that it works on in a turn.
  template <class Take>
  void visit(std::size_t turn, const Take& take) const {
    for (std::size_t number = turn < turns_.size() ? turns_[turn].first : layers_.size();
         number < layers_.size() && number < turns_[turn].end; ++number) {
      take(layers_[number].use);
    }
  }

 private:
  struct Layers {
    std::size_t first = 0;
    std::size_t end = 0;
  };
  std::vector<LayerUse> layers_;
  std::vector<Layers> turns_;
  MemoryUse before_;
  MemoryUse after_;
};

}  // namespace

PassMemory memory_of_pair(const Strategy& strategy, const std::vector<LayerMemory>& kinds,
                          const std::vector<std::size_t>& kind_of,
                          const std::pair<std::size_t, std::size_t>& forward,
                          const std::pair<std::size_t, std::size_t>& backward) {
  PassWalk there(strategy, kinds, kind_of, forward.first, forward.second);
  PassWalk back(strategy, kinds, kind_of, backward.first, backward.second);
  PassMemory pair;
  pair.after = there.forward().after;
  pair.before = back.backward().before;
  const Side first(there.forward_layers(), Bytes(), pair.after);
  const Side second(back.backward_layers(), pair.before, Bytes());
  const auto together = [&](MemoryUse use, const MemoryUse& other) {
    keep_most(strategy, use += other, pair);
  };
  for (std::size_t turn = 0; turn < std::max(first.turns(), second.turns()); ++turn) {
    first.visit(turn, [&](const MemoryUse& use) { together(use, second.after_turns(turn)); });
    second.visit(turn, [&](const MemoryUse& use) { together(use, first.after_turns(turn + 1)); });
  }
  return pair;
}

namespace {

// Whole gradients of the run that is open, of the chunk that has most: as if there always were one.
Bytes run_gradients(const Strategy& strategy, const std::vector<LayerMemory>& kinds,
                    const std::vector<std::size_t>& kind_of,
                    const std::vector<std::pair<std::size_t, std::size_t>>& chunks) {
  Bytes most;
  for (const auto& [first, end] : chunks) {
    Bytes gradients;
    for (std::size_t layer = first; layer < end; ++layer) {
      gradients += kinds[kind_of[layer]].gradients;
    }
    most = std::max(most, gradients);
  }
  return strategy.scatters_runs() && strategy.sharing() > 1 ? most : Bytes();
}

void hold_run(const Strategy& strategy, Bytes gradients, PassMemory& pass) {
  pass.most[MemoryPart::scattered] += gradients;
  if (strategy.has_units()) {  // whose memory serves all else as well
    pass.most_else[MemoryPart::scattered] += gradients;
  } else {
    pass.scattered += gradients;
  }
}

}  // namespace

TurnMemory memory_of_turns(const Strategy& strategy, const std::vector<LayerMemory>& kinds,
                           const std::vector<std::size_t>& kind_of,
                           const std::vector<std::pair<std::size_t, std::size_t>>& chunks) {
  TurnMemory passes;
  for (const auto& [first, end] : chunks) {
    passes.chunks.push_back(memory_of_passes(strategy, kinds, kind_of, first, end));
  }
  if (strategy.overlap_passes && chunks.size() == 2) {
    for (const std::size_t chunk : {0, 1}) {
      passes.pairs.push_back(
          memory_of_pair(strategy, kinds, kind_of, chunks[chunk], chunks[1 - chunk]));
    }
  }
  const Bytes gradients = run_gradients(strategy, kinds, kind_of, chunks);
  for (PhaseMemory& phases_of : passes.chunks) {
    for (PassMemory& pass : phases_of) {
      hold_run(strategy, gradients, pass);
    }
  }
  for (PassMemory& pair : passes.pairs) {
    hold_run(strategy, gradients, pair);
  }
  return passes;
}

}  // namespace tessera::plan
