#include "layers/state_space.hpp"

#include <algorithm>

#include "layers/narrow.hpp"
#include "tessera/core/quotient.hpp"

namespace tessera::serving {

using workload::Kernel;
using workload::Operation;

namespace {

Operation operation_of(DataType type, Kernel kernel, Wide flops, Wide bytes) {
  Operation made;
  made.data_type = type;
  made.kernel = kernel;
  made.flops = Flops(narrow(flops));
  made.bytes = Bytes(narrow(bytes));
  return made;
}

}  // namespace

StateSpace::StateSpace(const LanguageSetup& setup)
    : ssm_(*setup.shape.ssm),
      tensor_(setup.tensor),
      data_type_(setup.shape.data_type),
      element_(element_size(data_type_)),
      state_element_(element_size(setup.state_type.value_or(data_type_))),
      heads_(ssm_.heads / tensor_),
      groups_(std::max<std::uint64_t>(1, ssm_.groups / tensor_)) {}

Wide StateSpace::cut(std::uint64_t flops) const {
  return quotient_up(flops, tensor_);
}

// Reads and writes what it keeps of each sequence.
TileOperation StateSpace::convolution(const StepSizes& sizes, const LayerFlops& flops) const {
  TileOperation made;
  made.weights = element_ * convolution_weights();
  made.cached = made.appended = convolution_state() * sizes.sequences();
  const Wide moved = Wide{element_.count()} * 2 * sizes.tokens * convolved();
  made.operation = operation_of(
      data_type_, Kernel::activation, sizes.tokens * cut(flops.of_token("ssm_convolution")),
      moved + made.weights.count() + Wide{made.cached.count()} + made.appended.count());
  return made;
}

TileOperation StateSpace::scan(const StepSizes& sizes, const LayerFlops& flops) const {
  TileOperation made;
  made.weights = element_ * (2 * heads_);  // decay, and bias of the step
  made.cached = made.appended = state() * sizes.sequences();
  if (sizes.prompts > 0) {
    made.kernels = of_prompts(sizes, flops);
  }
  if (sizes.generating > 0) {
    made.kernels.push_back(of_generating(sizes, flops));
  }
  made.operation = operation_of(data_type_, Kernel::plain, 0, 0);
  for (const Operation& kernel : made.kernels) {
    made.operation.flops += kernel.flops;
    made.operation.bytes += kernel.bytes;
  }
  return made;
}

// As the operators of training (workload/transformer/ssm.cpp), but chunks are as full as they are.
std::vector<Operation> StateSpace::of_prompts(const StepSizes& sizes,
                                              const LayerFlops& flops) const {
  const std::uint64_t tokens = sizes.tokens - sizes.generating;
  const std::uint64_t rows = quotient_up(tokens, sizes.chunks);  // of a chunk, in the mean
  const Wide element = element_.count();
  const Wide scores = element * sizes.chunk_pairs * groups_;
  const Wide states = Wide{state().count()} * sizes.chunks;
  const Wide inputs = element * tokens * (inner() + shared());
  const Wide pairs = sizes.chunk_pairs;

  Operation score = operation_of(data_type_, Kernel::plain, 2 * pairs * ssm_.state * groups_,
                                 element * 2 * tokens * shared() + scores);
  score.product = {rows, rows, ssm_.state, groups_ * sizes.chunks};
  Operation into =
      operation_of(data_type_, Kernel::plain, 2 * Wide{tokens} * elements(), inputs + states);
  into.product = {ssm_.state, ssm_.head_width, rows, heads_ * sizes.chunks};
  const Operation passing = operation_of(
      data_type_, Kernel::sum,
      sizes.chunks * cut(flops.of_token("ssm_passing")) + tokens * cut(flops.of_token("ssm_steps")),
      2 * states + 2 * Wide{state().count()} * sizes.prompts + 2 * element * tokens * heads_);
  Operation out =
      operation_of(data_type_, Kernel::plain, 2 * pairs * inner() + 2 * Wide{tokens} * elements(),
                   scores + states + inputs + element * tokens * inner());
  out.product = {rows, ssm_.head_width, rows + ssm_.state, heads_ * sizes.chunks};
  return {score, into, passing, out};
}

Operation StateSpace::of_generating(const StepSizes& sizes, const LayerFlops& flops) const {
  const std::uint64_t sequences = sizes.generating;
  const Wide moved = Wide{element_.count()} * sequences * (2 * inner() + 2 * shared() + heads_);
  return operation_of(
      data_type_, Kernel::activation,
      sequences * (LayerFlops::of_update * Wide{elements()} + cut(flops.of_token("ssm_steps"))),
      2 * Wide{state().count()} * sequences + moved);
}

// With its norm, in one kernel.
TileOperation StateSpace::gate(std::uint64_t rows, const LayerFlops& flops) const {
  TileOperation made;
  made.weights = element_ * (inner() + heads_);  // gain, and what is skipped
  made.operation =
      operation_of(data_type_, Kernel::norm,
                   rows * (cut(flops.of_token("ssm_gate")) + cut(flops.of_token("ssm_norm"))),
                   Wide{element_.count()} * 3 * rows * inner() + made.weights.count());
  return made;
}

}  // namespace tessera::serving
