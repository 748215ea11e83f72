#include "pass_walk.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::plan {
namespace {

// Replicas that gather and scatter, each time a layer is worked on.
bool gathers(const Strategy& strategy) {
  return strategy.zero == 3 && strategy.sharing() > 1;
}
bool scatters(const Strategy& strategy) {
  return strategy.zero >= 2 && strategy.sharing() > 1;
}

}  // namespace

PassWalk::PassWalk(const Strategy& strategy, const std::vector<LayerMemory>& kinds,
                   const std::vector<std::size_t>& kind_of, std::size_t first, std::size_t end)
    : strategy_(strategy), kinds_(kinds), kind_of_(kind_of), first_(first), end_(end) {
  if (strategy_.has_units()) {
    find_units();
  }
}

void PassWalk::find_units() {
  Bytes largest;
  for (std::size_t index = first_; index < end_; ++index) {
    const LayerMemory& of = layer(index);
    if (of.repeats) {
      units_.last = of.weights;
      units_.end = index + 1;
      largest = std::max(largest, of.weights);
    } else {
      units_.once += of.weights;
      units_.once_new += of.new_gradients;
    }
  }
  if (units_.end == 0) {
    units_.end = layer(end_ - 1).has_loss ? end_ - 1 : end_;
  }
  // The unit that is gathered first beside the next one, or two layers, each copied from while the
  // next is on its way, or as many as are.
  units_.buffers =
      std::max(units_.once, largest) + largest * std::max(1U, strategy_.gathered_ahead_forward());
  units_.gathers = gathers(strategy_);
}

PassMemory PassWalk::forward() {
  Bytes kept;
  for (std::size_t index = first_; index < end_; ++index) {
    kept += resident(index);
    if (is_corner(index)) {
      take(at_work_forward(index, kept));
    }
  }
  pass_.after = kept;
  return pass_;
}

PassMemory PassWalk::backward() {
  Bytes kept = sum([this](std::size_t index) { return resident(index); });
  pass_.before = kept;
  each_backward([&](std::size_t index) {
    if (is_corner(index)) {
      take(at_work_whole(index, kept));
    }
    kept = kept - resident(index);
  });
  return pass_;
}

std::vector<LayerUse> PassWalk::forward_layers() const {
  std::vector<LayerUse> layers;
  Bytes kept;
  for (std::size_t index = first_; index < end_; ++index) {
    kept += resident(index);
    layers.push_back({at_work_forward(index, kept), layer(index).exchanges_forward});
  }
  return layers;
}

std::vector<LayerUse> PassWalk::backward_layers() const {
  std::vector<LayerUse> layers;
  Bytes kept = sum([this](std::size_t index) { return resident(index); });
  each_backward([&](std::size_t index) {
    layers.push_back({at_work_whole(index, kept), layer(index).exchanges_backward});
    kept = kept - resident(index);
  });
  return layers;
}

// What was offloaded is back from then on.
PassMemory PassWalk::input_gradient() {
  Bytes kept = sum([this](std::size_t index) { return resident(index); });
  pass_.before = kept;
  each_backward([&](std::size_t index) {
    take(at_work_backward(index, kept + beside(index)));
    kept += layer(index).apart + offloaded(index);
  });
  pass_.after = kept;
  return pass_;
}

PassMemory PassWalk::weight_gradient() {
  Bytes kept = sum([this](std::size_t index) { return layer(index).stored + layer(index).apart; });
  pass_.before = kept;
  each_backward([&](std::size_t index) {
    MemoryUse use;
    use[MemoryPart::activations] = kept;
    use[MemoryPart::scattered] = scattered(index);
    take(use);
    kept = kept - layer(index).stored - layer(index).apart;
  });
  return pass_;
}

// Inside a run of layers of one kind all that have the same neighbours, up to those behind what is
// gathered ahead, hold as much but for what is kept, and the last of them most.
bool PassWalk::is_corner(std::size_t index) const {
  const std::size_t reach = strategy_.prefetch_layers + 1;
  if (index < first_ + reach || index + reach >= end_ || strategy_.offload.is_on()) {
    return true;
  }
  const auto begin = kind_of_.begin() + static_cast<std::ptrdiff_t>(index - reach);
  return std::any_of(begin, begin + static_cast<std::ptrdiff_t>(2 * reach + 1),
                     [&](std::size_t kind) { return kind != kind_of_[index]; });
}

template <class Of>
Bytes PassWalk::sum(const Of& of) const {
  Bytes all;
  for (std::size_t index = first_; index < end_; ++index) {
    all += of(index);
  }
  return all;
}

// Copies that are computed with, and the buffers that they are copied from.
Bytes PassWalk::unit_gathered(std::size_t index) const {
  if (!units_.gathers) {
    return units_.buffers;  // copies are held all the time
  }
  const LayerMemory& of = layer(index);
  const Bytes own = of.repeats ? of.weights : index + 1 > units_.end ? units_.last : Bytes();
  return units_.buffers + units_.once + own;
}

// Gradients as they come, and the copies that are summed up or scattered: of the layer at work, of
// the one behind it whose are under way, and, as they come, of what is not repeated. Of a head,
// gradients are fewer than the copies of its logits, which come before.
Bytes PassWalk::unit_scattered(std::size_t index) const {
  const LayerMemory& of = layer(index);
  if (strategy_.scatters_runs()) {
    return units_.once_new + (of.repeats ? of.new_gradients : Bytes());
  }
  if (!of.repeats) {
    return index >= units_.end ? Bytes() : units_.once_new + of.gradients;
  }
  const bool another = units_.gathers && strategy_.overlap_gradients && index + 1 < units_.end &&
                       layer(index + 1).repeats;
  return of.new_gradients + of.gradients + units_.once_new +
         (another ? layer(index + 1).gradients : Bytes());
}

Bytes PassWalk::gathered(std::size_t index, std::size_t from, std::size_t end) const {
  if (strategy_.has_units()) {
    return unit_gathered(index);
  }
  if (!gathers(strategy_)) {
    return {};
  }
  Bytes all;
  for (std::size_t other = from; other < end; ++other) {
    all += layer(other).weights;
  }
  return all;
}

// Those of the layer before are on their way while sums go on beside.
Bytes PassWalk::scattered(std::size_t index) const {
  if (strategy_.has_units()) {
    return unit_scattered(index);
  }
  if (!scatters(strategy_) || strategy_.scatters_runs()) {  // see run_gradients
    return {};
  }
  const bool another = strategy_.overlap_gradients && index + 1 < end_;
  return layer(index).gradients + (another ? layer(index + 1).gradients : Bytes());
}

Bytes PassWalk::offloaded(std::size_t index) const {
  return strategy_.offload.covers(index - first_, end_ - first_)
             ? strategy_.offload.share_of(layer(index).stored)
             : Bytes();
}

// Of what is offloaded, what the layer at work and the one before it have on the device.
Bytes PassWalk::beside(std::size_t index) const {
  return offloaded(index) + (index > first_ ? offloaded(index - 1) : Bytes());
}

// What was freed and is too small for copies of logits: the logits themselves, and what the layers
// before worked with.
Bytes PassWalk::unfit(std::size_t index) const {
  const LayerMemory& of = layer(index);
  Bytes others;
  for (std::size_t other = first_; of.copy > Bytes(0) && other < index; ++other) {
    others = std::max(others, layer(other).working_forward);
  }
  return of.copy > others ? others : Bytes();
}

MemoryUse PassWalk::at_work_forward(std::size_t index, Bytes kept) const {
  MemoryUse use;
  use[MemoryPart::activations] = kept + beside(index);
  use[MemoryPart::gathered] =
      gathered(index, index, std::min(index + strategy_.gathered_ahead_forward() + 1, end_));
  use[MemoryPart::working] = layer(index).working_forward + unfit(index);
  return use;
}

MemoryUse PassWalk::at_work_backward(std::size_t index, Bytes kept) const {
  MemoryUse use;
  use[MemoryPart::activations] = kept;
  use[MemoryPart::recomputed] = layer(index).recomputed;
  use[MemoryPart::gathered] = gathered(
      index, index - std::min<std::size_t>(strategy_.gathered_ahead_backward(), index - first_),
      index + 1);
  use[MemoryPart::working] = layer(index).working_backward + layer(index).copied + unfit(index);
  return use;
}

// With gradients of inputs and of weights.
MemoryUse PassWalk::at_work_whole(std::size_t index, Bytes kept) const {
  MemoryUse use = at_work_backward(index, kept + beside(index));
  use[MemoryPart::scattered] = scattered(index);
  return use;
}

void keep_most(const Strategy& strategy, const MemoryUse& use, PassMemory& pass) {
  if (use.total() > pass.most.total()) {
    pass.most = use;
  }
  pass.gathered = std::max(pass.gathered, use[MemoryPart::gathered]);
  MemoryUse others = use;
  others[MemoryPart::gathered] = Bytes();
  // Units are scattered from memory that serves all else as well.
  if (!strategy.has_units()) {
    pass.scattered = std::max(pass.scattered, use[MemoryPart::scattered]);
    others[MemoryPart::scattered] = Bytes();
  }
  if (others.total() > pass.most_else.total()) {
    pass.most_else = others;
  }
}

PassMemory memory_of_pass(const Strategy& strategy, Phase phase,
                          const std::vector<LayerMemory>& kinds,
                          const std::vector<std::size_t>& kind_of, std::size_t first,
                          std::size_t end) {
  PassWalk walk(strategy, kinds, kind_of, first, end);
  switch (phase) {
    case Phase::forward:
      return walk.forward();
    case Phase::backward:
      return walk.backward();
    case Phase::input_gradient:
      return walk.input_gradient();
    case Phase::weight_gradient:
      return walk.weight_gradient();
    case Phase::update:
      return {};
  }
  throw InternalError("a phase outside its list");
}

}  // namespace tessera::plan
