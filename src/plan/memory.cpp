#include "tessera/plan/memory.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/core/error.hpp"
#include "tessera/plan/cutter.hpp"

namespace tessera::plan {
namespace {

using workload::Operator;

Bytes working_forward(const Cutter& cutter, const Operator& op) {
  const Operands all = cutter.operands(op);
  // Inputs are those that an operator before has made, and are kept or counted as its outputs; the
  // logits are neither.
  return (op.kind == "loss" ? all.inputs : all.outputs) + cutter.passing_forward(op);
}

// A loss whose vocabulary is cut over a tensor group has its gradient in one copy more: what is
// subtracted from the probabilities, which other losses write in place (PyTorch,
// torch/distributed/tensor/parallel/loss.py, _nll_loss_and_log_softmax_backward).
Bytes working_backward(const Cutter& cutter, const Strategy& strategy, const Operator& op) {
  const Operands all = cutter.operands(op);
  const bool is_loss = op.kind == "loss";
  const Bytes gradients = is_loss ? Bytes() : all.inputs + all.outputs;
  const bool is_cut = is_loss && strategy.degrees.tensor > 1;
  return gradients + cutter.passing_backward(op) + (is_cut ? cutter.passing_forward(op) : Bytes());
}

// Replicas that gather and scatter, each time a layer is worked on.
bool gathers(const Strategy& strategy) {
  return strategy.zero == 3 && strategy.sharing() > 1;
}
bool scatters(const Strategy& strategy) {
  return strategy.zero >= 2 && strategy.sharing() > 1;
}

// Walks through the layers of one pass and keeps what is most.
class PassWalk {
 public:
  PassWalk(const Strategy& strategy, const std::vector<LayerMemory>& kinds,
           const std::vector<std::size_t>& kind_of, std::size_t first, std::size_t end)
      : strategy_(strategy), kinds_(kinds), kind_of_(kind_of), first_(first), end_(end) {}

  PassMemory forward() {
    Bytes kept;
    for (std::size_t index = first_; index < end_; ++index) {
      kept += layer(index).stored;
      if (is_corner(index)) {
        MemoryUse use;
        use[MemoryPart::activations] = kept;
        use[MemoryPart::gathered] =
            gathered(index, strategy_.prefetch != Prefetch::none && index + 1 < end_, index + 1);
        use[MemoryPart::working] = layer(index).working_forward;
        take(use);
      }
    }
    pass_.after = kept;
    return pass_;
  }

  PassMemory backward() {
    Bytes kept = sum([](const LayerMemory& layer) { return layer.stored; });
    pass_.before = kept;
    each_backward([&](std::size_t index) {
      if (is_corner(index)) {
        MemoryUse use = at_work_backward(index, kept);
        use[MemoryPart::scattered] = scattered(index);
        take(use);
      }
      kept = kept - layer(index).stored;
    });
    return pass_;
  }

  // What was computed again, and gradients of outputs, stay for the gradients of weights.
  PassMemory input_gradient() {
    Bytes kept = sum([](const LayerMemory& layer) { return layer.stored; });
    pass_.before = kept;
    each_backward([&](std::size_t index) {
      take(at_work_backward(index, kept));
      kept += layer(index).apart;
    });
    pass_.after = kept;
    return pass_;
  }

  PassMemory weight_gradient() {
    Bytes kept = sum([](const LayerMemory& layer) { return layer.stored + layer.apart; });
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

 private:
  const LayerMemory& layer(std::size_t index) const { return kinds_[kind_of_[index]]; }

  // Inside a run of layers of one kind the second and the last but one have the same neighbours as
  // those between, and the latter holds most.
  bool is_corner(std::size_t index) const {
    if (index < first_ + 2 || index + 2 >= end_) {
      return true;
    }
    const std::size_t kind = kind_of_[index];
    return kind_of_[index - 2] != kind || kind_of_[index - 1] != kind ||
           kind_of_[index + 1] != kind || kind_of_[index + 2] != kind;
  }

  template <class Of>
  Bytes sum(const Of& of) const {
    Bytes all;
    for (std::size_t index = first_; index < end_; ++index) {
      all += of(layer(index));
    }
    return all;
  }

  template <class Visit>
  void each_backward(const Visit& visit) const {
    for (std::size_t index = end_; index > first_; --index) {
      visit(index - 1);
    }
  }

  Bytes gathered(std::size_t index, bool ahead, std::size_t next) const {
    if (!gathers(strategy_)) {
      return {};
    }
    return layer(index).weights + (ahead ? layer(next).weights : Bytes());
  }

  MemoryUse at_work_backward(std::size_t index, Bytes kept) const {
    MemoryUse use;
    use[MemoryPart::activations] = kept;
    use[MemoryPart::recomputed] = layer(index).recomputed;
    use[MemoryPart::gathered] =
        gathered(index, strategy_.prefetch == Prefetch::both && index > first_, index - 1);
    use[MemoryPart::working] = layer(index).working_backward;
    return use;
  }

  // Those of the layer before are on their way while sums go on beside.
  Bytes scattered(std::size_t index) const {
    if (!scatters(strategy_)) {
      return {};
    }
    const bool another = strategy_.overlap_gradients && index + 1 < end_;
    return layer(index).gradients + (another ? layer(index + 1).gradients : Bytes());
  }

  void take(const MemoryUse& use) {
    if (use.total() > pass_.most.total()) {
      pass_.most = use;
    }
    pass_.gathered = std::max(pass_.gathered, use[MemoryPart::gathered]);
    pass_.scattered = std::max(pass_.scattered, use[MemoryPart::scattered]);
    MemoryUse others = use;
    others[MemoryPart::gathered] = others[MemoryPart::scattered] = Bytes();
    if (others.total() > pass_.most_else.total()) {
      pass_.most_else = others;
    }
  }

  const Strategy& strategy_;
  const std::vector<LayerMemory>& kinds_;
  const std::vector<std::size_t>& kind_of_;
  std::size_t first_;
  std::size_t end_;
  PassMemory pass_;
};

// Gathered and reduced operator by operator: those of one at a time. Weights that are computed with
// again within `reuse_distance` stay for it, and as many lie between, once each way.
void hold_one_operator(const Cutter& cutter, const Strategy& strategy, const workload::Layer& layer,
                       Bytes element, LayerMemory& memory) {
  Bytes largest;
  Bytes largest_gradients;
  bool computes_again = false;
  for (const Operator& op : layer.operators) {
    largest = std::max(largest, cutter.held_weights(op));
    largest_gradients = std::max(largest_gradients, cutter.operands(op).gradients);
    computes_again = computes_again || cutter.recomputes(op);
  }
  const std::uint64_t all = memory.weights.count() / element.count();
  const Bytes kept =
      computes_again ? element * std::min(all, strategy.reuse_distance / 2) : Bytes();
  memory.weights = std::min(memory.weights, largest + kept);
  memory.gradients = std::min(memory.gradients, largest_gradients);
}

}  // namespace

std::string to_string(MemoryPart part) {
  switch (part) {
    case MemoryPart::weights:
      return "weights";
    case MemoryPart::gradients:
      return "gradients";
    case MemoryPart::optimizer:
      return "optimizer";
    case MemoryPart::activations:
      return "activations";
    case MemoryPart::recomputed:
      return "recomputed";
    case MemoryPart::gathered:
      return "gathered";
    case MemoryPart::scattered:
      return "scattered";
    case MemoryPart::working:
      return "working";
    case MemoryPart::communicators:
      return "communicators";
    case MemoryPart::context:
      return "context";
    case MemoryPart::reserve:
      return "reserve";
  }
  throw InternalError("a part of memory outside its list");
}

Bytes MemoryUse::total() const {
  return std::accumulate(parts.begin(), parts.end(), Bytes());
}

Bytes MemoryUse::tensors() const {
  return std::accumulate(parts.begin(),
                         parts.begin() + static_cast<std::ptrdiff_t>(MemoryPart::communicators),
                         Bytes());
}

MemoryUse& MemoryUse::operator+=(const MemoryUse& other) {
  for (std::size_t part = 0; part < memory_parts; ++part) {
    parts[part] += other.parts[part];
  }
  return *this;
}

LayerMemory memory_of_layer(const workload::Workload& workload, const Strategy& strategy,
                            const workload::Layer& layer) {
  const Cutter cutter(workload, strategy);
  const LayerBytes bytes = cutter.bytes_of(layer);
  LayerMemory memory;
  memory.stored = bytes.stored;
  memory.weights = bytes.used_weights;
  memory.gradients = bytes.dense_gradients + bytes.expert_gradients;
  for (const Operator& op : layer.operators) {
    memory.working_forward = std::max(memory.working_forward, working_forward(cutter, op));
    if (!workload.training) {
      continue;
    }
    memory.working_backward =
        std::max(memory.working_backward, working_backward(cutter, strategy, op));
    if (strategy.recompute == Recompute::alternate ? op.recomputed_fully : cutter.recomputes(op)) {
      memory.recomputed += cutter.stored(op);
    }
    if (op.weight_gradient_flops > Flops(0)) {
      memory.apart += cutter.operands(op).outputs;
    }
  }
  if (strategy.recompute == Recompute::alternate) {
    // What is kept are inputs of the next operators, and among what they need.
    const Bytes kept = std::min(memory.recomputed, memory.stored);
    memory.recomputed = memory.recomputed - kept;
  }
  memory.apart += memory.recomputed;
  if (strategy.gather == GatherUnit::operators) {
    hold_one_operator(cutter, strategy, layer, element_size(workload.data_type), memory);
  }
  return memory;
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

PhaseMemory memory_of_passes(const Strategy& strategy, const std::vector<LayerMemory>& kinds,
                             const std::vector<std::size_t>& kind_of, std::size_t first,
                             std::size_t end) {
  PhaseMemory passes;
  for (std::size_t phase = 0; phase < phases; ++phase) {
    passes[phase] = memory_of_pass(strategy, static_cast<Phase>(phase), kinds, kind_of, first, end);
  }
  return passes;
}

void keep_pools(std::vector<PhaseMemory>& chunks) {
  Bytes gathered;
  Bytes scattered;
  for (const PhaseMemory& chunk : chunks) {
    for (const PassMemory& pass : chunk) {
      gathered = std::max(gathered, pass.gathered);
      scattered = std::max(scattered, pass.scattered);
    }
  }
  for (PhaseMemory& chunk : chunks) {
    for (PassMemory& pass : chunk) {
      pass.most = pass.most_else;
      pass.most[MemoryPart::gathered] = gathered;
      pass.most[MemoryPart::scattered] = scattered;
    }
  }
}

bool ties_weights(const workload::Workload& workload) {
  return workload.training &&
         std::any_of(workload.layers.begin(), workload.layers.end(),
                     [](const workload::Layer& layer) { return layer.shared_parameters() > 0; });
}

std::uint32_t communicators_of(const Strategy& strategy, std::uint32_t stage, bool ties) {
  const Degrees& degrees = strategy.degrees;
  const std::uint32_t last = strategy.last_stage();
  const bool at_end = last != 0 && (stage == 0 || stage == last);
  std::uint32_t groups = 0;
  for (const bool there :
       {degrees.tensor > 1, degrees.data > 1, strategy.context > 1, strategy.expert > 1,
        strategy.expert > 1 && degrees.data > strategy.expert, degrees.pipeline > 1,
        degrees.pipeline > 1 && ((at_end && ties) || strategy.mirrored)}) {
    groups += there ? 1 : 0;
  }
  return groups;
}

MemoryUse with_framework(const machine::Framework& framework, std::uint32_t communicators,
                         MemoryUse tensors) {
  const Bytes held = tensors.tensors();
  tensors[MemoryPart::communicators] = framework.communicator * communicators;
  tensors[MemoryPart::context] = framework.context;
  tensors[MemoryPart::reserve] = framework.reserved(held) - held;
  return tensors;
}

MemoryUse MemoryWalk::take(const Pass& pass, const PassMemory& memory) {
  ensure(activations_ >= memory.before, "a pass that frees more than is held");
  const Bytes others = activations_ - memory.before;
  MemoryUse use = state_;
  use += memory.most;
  use[MemoryPart::activations] += others;
  activations_ = others + memory.after;
  if (!begun_ || use.total() > peak_.use.total()) {
    peak_ = {use, pass};
    begun_ = true;
  }
  return use;
}

PhaseMemory largest_passes(const std::vector<PhaseMemory>& chunks) {
  PhaseMemory largest;
  for (const PhaseMemory& chunk : chunks) {
    for (std::size_t phase = 0; phase < phases; ++phase) {
      if (chunk[phase].most.total() > largest[phase].most.total()) {
        largest[phase] = chunk[phase];
      }
    }
  }
  return largest;
}

Bytes mean_apart(const std::vector<PhaseMemory>& chunks) {
  Bytes sum;
  for (const PhaseMemory& chunk : chunks) {
    const PassMemory& pass = chunk[static_cast<std::size_t>(Phase::input_gradient)];
    sum += pass.after - pass.before;
  }
  return Bytes(divided_up(sum.count(), std::max<std::size_t>(1, chunks.size())));
}

MemoryUse peak_in_closed_form(const StageForm& form, const MemoryUse& state, Bytes stored,
                              Bytes apart, const PhaseMemory& passes) {
  MemoryUse peak;
  const auto consider = [&](Phase phase, std::uint64_t whole, std::uint64_t halves) {
    MemoryUse use = state;
    use += passes[static_cast<std::size_t>(phase)].most;
    use[MemoryPart::activations] += stored * whole + (stored + apart) * halves;
    peak = use.total() > peak.total() ? use : peak;
  };
  if (form.schedule != "zb-h1") {
    const std::uint64_t others = std::max(form.in_flight, 1U) - 1;
    consider(Phase::forward, others, 0);
    consider(Phase::backward, others, 0);
    return peak;
  }
  // Gradients of weights are `stage` micro-batches behind those of inputs.
  const std::uint64_t count = form.micro_batches;
  const std::uint64_t stage = form.stage;
  const std::uint64_t ahead = form.stages - stage;
  const bool steady = count >= ahead;
  consider(Phase::forward, std::min(ahead, count) - 1, steady ? std::min(stage, count - ahead) : 0);
  const std::uint64_t behind = std::min(stage, count - 1);
  const std::uint64_t whole = std::min(ahead + behind, count) - behind - 1;
  consider(Phase::input_gradient, whole, behind);
  consider(Phase::weight_gradient, whole, behind);
  return peak;
}

}  // namespace tessera::plan
