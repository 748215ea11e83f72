#include <string>
#include <utility>

#include "tessera/core/wide.hpp"
#include "transformer/layers.hpp"

namespace tessera::workload {
namespace {

// Of an element of the copies: times the gate 1, sum 1. Backward: times the gate 1, inner product
// for the gate's gradient 2.
constexpr VectorCost combine_cost{2, 3, 0};
// Copied without arithmetic; gradients of the copies are summed.
constexpr VectorCost dispatch_cost{0, 1, 0};

// One linear operator of each expert.
Operator of_all_experts(Operator op, std::uint64_t experts) {
  op.product.count = experts;
  op.forward_flops = op.product.flops();
  op.backward_flops = op.forward_flops + op.forward_flops;
  op.weight_gradient_flops = op.forward_flops;
  op.parameters *= experts;
  op.replicated_parameters *= experts;
  op.input_elements *= experts;
  op.output_elements *= experts;
  op.stored_cut = op.stored_cut * experts;
  op.stored_whole = op.stored_whole * experts;
  op.forward_all_reduce_elements *= experts;
  op.backward_all_reduce_elements *= experts;
  op.experts = experts;
  return op;
}

}  // namespace

std::uint64_t expert_capacity(const ExpertShape& experts, std::uint64_t tokens) {
  const Wide wanted = Wide{tokens} * experts.top_k * experts.capacity_millionths;
  const Wide each = Wide{experts.count} * 1'000'000;
  return static_cast<std::uint64_t>((wanted + each - 1) / each);
}

std::vector<Operator> router_operators(const TransformerShape& shape, std::uint64_t tokens) {
  const OperatorMaker make(shape.data_type, shape.dropout);
  const std::uint64_t count = shape.experts->count;
  return {make.linear("router", Sharding::replicated, tokens, shape.hidden, count, false),
          make.softmax("router_softmax", Sharding::replicated, tokens * count)};
}

std::vector<Operator> expert_operators(const TransformerShape& shape, std::uint64_t tokens,
                                       std::uint64_t layer) {
  const OperatorMaker make(shape.data_type, shape.dropout);
  const ExpertShape& experts = *shape.experts;
  const std::uint64_t h = shape.hidden;
  const std::uint64_t f = experts.ffn;
  const std::uint64_t activation = tokens * h;
  const std::uint64_t per_expert = expert_capacity(experts, tokens);
  const std::uint64_t copies = per_expert * experts.count * h;
  const std::uint64_t gate_and_up = shape.mlp == Activation::swiglu ? 2 : 1;
  const std::string name = to_string(shape.mlp);

  Operator dispatch = make.vector("dispatch", "elementwise", Sharding::replicated, dispatch_cost,
                                  activation, copies);
  dispatch.exchange_elements = copies;
  Operator combine =
      make.vector("combine", "elementwise", Sharding::replicated, combine_cost, copies, copies);
  combine.output_elements = activation;
  combine.stored_whole = make.bytes(copies);

  Operator down = of_all_experts(
      make.linear("expert_down", Sharding::row, per_expert, f, h, shape.biases), experts.count);
  down.exchange_elements = copies;

  Operator up = of_all_experts(
      make.linear("expert_up", Sharding::column, per_expert, h, gate_and_up * f, shape.biases),
      experts.count);
  up.blocks = up_blocks(shape.mlp, f);

  std::vector<Operator> operators = router_operators(shape, tokens);
  operators.push_back(std::move(dispatch));
  operators.push_back(std::move(up));
  operators.push_back(make.activation("expert_" + name, shape.mlp, Sharding::heads,
                                      per_expert * experts.count * f));
  operators.push_back(std::move(down));
  if (experts.shared > 0) {
    const std::uint64_t wide = experts.shared * f;
    Operator shared =
        make.linear("shared_up", Sharding::column, tokens, h, gate_and_up * wide, shape.biases);
    shared.blocks = up_blocks(shape.mlp, wide);
    shared.stored_whole = Bytes();  // the router keeps the same input
    operators.push_back(std::move(shared));
    operators.push_back(
        make.activation("shared_" + name, shape.mlp, Sharding::heads, tokens * wide));
    operators.push_back(make.linear("shared_down", Sharding::row, tokens, wide, h, shape.biases));
    combine.input_elements += activation;
    combine.forward_flops += Flops(activation);
    combine.backward_flops += Flops(activation);
  }
  operators.push_back(std::move(combine));
  if (experts.room != ExpertRoom::padded) {
    const std::vector<std::uint64_t> copies_of = expert_copies(experts, tokens, layer);
    for (Operator& op : operators) {
      const bool takes = op.experts > 0 || op.name == "expert_" + name || op.name == "combine";
      const bool gives = op.experts > 0 || op.name == "expert_" + name || op.name == "dispatch";
      if (takes || gives) {
        op.loads = {copies_of, per_expert, takes, gives};
      }
    }
  }
  return operators;
}

}  // namespace tessera::workload
