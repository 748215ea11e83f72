#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/core/quotient.hpp"
#include "transformer/layers.hpp"

namespace tessera::workload {
namespace {

// x / (1 + e^-x); backward the sigmoid again 4, its derivative and the product with the gradient 5.
constexpr VectorCost silu_cost{4, 9, 0};
// Of a head's time step: bias 1, softplus 3, times the decay 1, sum over the chunk 1. Backward: sum
// 1, gradient of the decay 2, of the step 1, sigmoid 3, product 1, sum for the bias 1.
constexpr VectorCost step_cost{6, 9, 3};
// From chunk to chunk: decay 1, sum 1; backward alike, and the gradient of the decay 2.
constexpr VectorCost passing_cost{2, 4, 0};
// With the skipped input: times D 1, sum 1, SiLU of the gate 4, product 1. Backward: the sum again
// 2, SiLU as above 9, the other factor 1, product 1, gradients of D 2 and of the input 1.
constexpr VectorCost gate_cost{7, 16, 2};

// A sum over `kernel` tokens of each channel, then SiLU.
VectorCost convolution_cost(std::uint64_t kernel) {
  const std::uint64_t sums = 2 * kernel;
  return {sums + silu_cost.forward, 2 * sums + silu_cost.backward, sums};
}

// A product without weights whose backward pass makes it again.
Operator made_again(Operator op) {
  op.backward_flops = Flops(3 * op.forward_flops.count());
  return op;
}

}  // namespace

std::vector<Operator> ssm_operators(const TransformerShape& shape, std::uint64_t tokens) {
  const OperatorMaker make(shape.data_type, shape.dropout);
  const SsmShape& ssm = *shape.ssm;
  const std::uint64_t inner = ssm.inner();
  const std::uint64_t shared = ssm.groups * ssm.state;  // what goes into states, or out of them
  const std::uint64_t chunk = std::min(ssm.chunk, tokens);
  const std::uint64_t chunks = quotient_up(tokens, chunk);
  const std::uint64_t states = ssm.heads * ssm.state * ssm.head_width * chunks;
  const auto cut = Sharding::heads;

  // Gate, channels, inputs and outputs of the state, time steps.
  const std::uint64_t projected = inner + ssm.convolved() + ssm.heads;
  Operator in = make.linear("ssm_input", Sharding::column, tokens, shape.hidden, projected, false);
  in.stored_cut += make.bytes(in.output_elements);
  const ColumnBlock channels{ssm.heads, ssm.head_width};
  const ColumnBlock of_groups{ssm.groups, ssm.state};
  in.blocks = {channels, channels, of_groups, of_groups, {ssm.heads, 1}};

  const std::uint64_t convolved = tokens * ssm.convolved();
  Operator convolution = make.vector("ssm_convolution", "ssm", cut, convolution_cost(ssm.kernel),
                                     convolved, convolved);
  convolution.kernel = Kernel::activation;
  convolution.blocks = {channels, of_groups, of_groups};
  convolution.parameters = ssm.convolved() * (ssm.kernel + 1);
  keep(convolution, make.bytes(convolved));  // what goes into the scan

  const std::uint64_t steps = tokens * ssm.heads;
  Operator step = make.vector("ssm_steps", "ssm", cut, step_cost, steps, steps);
  step.parameters = 2 * ssm.heads;  // decay, and bias of the step

  Operator scores = made_again(
      make.product("ssm_scores", "ssm", cut, {chunk, chunk, ssm.state, ssm.groups * chunks}));
  scores.input_elements = 2 * tokens * shared;
  scores.kv_heads = ssm.groups;
  Operator into = made_again(make.product("ssm_states", "ssm", cut,
                                          {ssm.state, ssm.head_width, chunk, ssm.heads * chunks}));
  into.input_elements = tokens * (inner + shared);
  into.kv_heads = ssm.groups;
  Operator passing = make.vector("ssm_passing", "ssm", cut, passing_cost, states, states);
  passing.kernel = Kernel::sum;
  Operator out = make.product("ssm_outputs", "ssm", cut,
                              {chunk, ssm.head_width, chunk + ssm.state, ssm.heads * chunks});
  out.input_elements = scores.output_elements + states + tokens * (inner + shared);
  out.output_elements = tokens * inner;

  Operator gate =
      make.vector("ssm_gate", "ssm", cut, gate_cost, 3 * tokens * inner, tokens * inner);
  gate.kernel = Kernel::activation;
  gate.parameters = ssm.heads;  // what is skipped
  keep(gate, make.bytes(tokens * inner));

  std::vector<Operator> operators;
  for (Operator* op : {&in, &convolution, &step, &scores, &into, &passing, &out, &gate}) {
    operators.push_back(std::move(*op));
  }
  operators.push_back(make.norm("ssm_norm", Norm::rms, cut, tokens * inner, inner));
  operators.push_back(make.linear("ssm_output", Sharding::row, tokens, inner, shape.hidden, false));
  return operators;
}

}  // namespace tessera::workload
