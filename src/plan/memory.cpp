#include "tessera/plan/memory.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/core/error.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::plan {
namespace {

using workload::Operator;

// Inputs gathered along the tokens, which are kept cut.
Bytes gathered_inputs(const Sharder& sharder, const Strategy& strategy, const Operator& op) {
  const bool is_gathered = strategy.sequence_parallel && strategy.degrees.tensor > 1 &&
                           op.sharding == workload::Sharding::column;
  const bool is_kept = strategy.software.keeps_gathered_inputs && sharder.trains();
  return is_gathered && !is_kept ? sharder.operands(op).inputs : Bytes();
}

Bytes working_forward(const Sharder& sharder, const Strategy& strategy, const Operator& op) {
  const Operands all = sharder.operands(op);
  if (op.kind == "loss") {  // the logits, which are neither kept nor an output
    return all.inputs + sharder.passing_forward(op);
  }
  // Inputs are those that an operator before has made. They are kept or counted as its outputs,
  // but where they are computed again.
  const bool recomputes = sharder.recomputes(op);
  return all.outputs - std::min(all.outputs, sharder.kept_results(op)) +
         sharder.passing_forward(op) + sharder.gathered_keys(op) +
         (recomputes ? all.inputs + sharder.repeated_keys(op)
                     : gathered_inputs(sharder, strategy, op));
}

// A loss whose vocabulary is cut over a tensor group has its gradient in one copy more: what is
// subtracted from the probabilities, which other losses write in place (PyTorch,
// torch/distributed/tensor/parallel/loss.py, _nll_loss_and_log_softmax_backward).
Bytes working_backward(const Sharder& sharder, const Strategy& strategy, const Operator& op) {
  const Operands all = sharder.operands(op);
  const bool is_loss = op.kind == "loss";
  // The input is gathered for gradients of weights once that of the input has been scattered, or
  // while it is; in pieces (`async_tensor`) neither is whole beside the other.
  const bool both = strategy.overlap_tensor && !strategy.async_tensor;
  const Bytes gathered = both ? gathered_inputs(sharder, strategy, op) : Bytes();
  const Bytes gradients = is_loss ? Bytes() : all.inputs + all.outputs + gathered;
  // Made one by one, gradients of the gathered input are whole twice where they are added up.
  const bool is_added = strategy.software.keeps_gathered_inputs && op.parts > 1;
  const bool is_cut = is_loss && strategy.degrees.tensor > 1;
  // Keys and values are gathered again; their copies have gradients of their own.
  return gradients + sharder.repeated_keys(op) + sharder.gathered_keys(op) +
         sharder.key_gradients(op) + (is_added ? all.inputs : Bytes()) +
         sharder.passing_backward(op) + (is_cut ? sharder.passing_forward(op) : Bytes());
}

// Gathered and reduced operator by operator: those of one at a time. Weights that are computed with
// again within `reuse_distance` stay for it, and as many lie between, once each way.
void hold_one_operator(const Sharder& sharder, const Strategy& strategy,
                       const workload::Layer& layer, Bytes element, LayerMemory& memory) {
  Bytes largest;
  Bytes largest_gradients;
  bool computes_again = false;
  for (const Operator& op : layer.operators) {
    largest = std::max(largest, sharder.held_weights(op));
    largest_gradients = std::max(largest_gradients, sharder.operands(op).gradients);
    computes_again = computes_again || sharder.computes_again(op);
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
  const Sharder sharder(workload, strategy);
  const LayerBytes bytes = sharder.bytes_of(layer);
  LayerMemory memory;
  memory.stored = bytes.stored;
  memory.weights = bytes.used_weights;
  memory.gradients = bytes.dense_gradients + bytes.expert_gradients;
  memory.new_gradients = bytes.used_weights;  // in the data type
  for (const Operator& op : layer.operators) {
    memory.working_forward =
        std::max(memory.working_forward, working_forward(sharder, strategy, op));
    memory.repeats = memory.repeats || op.recomputed_fully;
    memory.has_loss = memory.has_loss || op.kind == "loss";
    if (!workload.training) {
      continue;
    }
    memory.working_backward =
        std::max(memory.working_backward, working_backward(sharder, strategy, op));
    if (strategy.recompute == Recompute::alternate ? op.recomputed_fully : sharder.recomputes(op)) {
      memory.recomputed += sharder.stored(op);
    }
    if (op.kind == "loss" && strategy.software.reuses_fitting_blocks_only) {
      memory.copy = sharder.passing_forward(op);
      memory.copied = sharder.operands(op).inputs;
    }
    if (op.exchange_elements > 0 && strategy.expert > 1) {
      ++memory.exchanges_forward;
      memory.exchanges_backward += sharder.recomputes(op) ? 2 : 1;
    }
    if (op.weight_gradient_flops > Flops(0)) {
      memory.apart += sharder.operands(op).outputs;
    }
  }
  if (strategy.recompute == Recompute::alternate) {
    // What is kept are inputs of the next operators, and among what they need.
    const Bytes kept = std::min(memory.recomputed, memory.stored);
    memory.recomputed = memory.recomputed - kept;
  }
  memory.apart += memory.recomputed;
  if (strategy.zero == 3 && strategy.gather == GatherUnit::operators) {
    hold_one_operator(sharder, strategy, layer, element_size(workload.data_type), memory);
  }
  return memory;
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

void keep_pools(TurnMemory& passes) {
  std::vector<PassMemory*> all;
  for (PhaseMemory& chunk : passes.chunks) {
    for (PassMemory& pass : chunk) {
      all.push_back(&pass);
    }
  }
  for (PassMemory& pair : passes.pairs) {
    all.push_back(&pair);
  }
  Bytes gathered;
  Bytes scattered;
  for (const PassMemory* const pass : all) {
    gathered = std::max(gathered, pass->gathered);
    scattered = std::max(scattered, pass->scattered);
  }
  for (PassMemory* const pass : all) {
    pass->most = pass->most_else;
    pass->most[MemoryPart::gathered] += gathered;
    pass->most[MemoryPart::scattered] += scattered;
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
