#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "transformer/layers.hpp"

namespace tessera::workload {
namespace {

// Copied without arithmetic; the gradient of what heads share is summed over them.
constexpr VectorCost join_cost{0, 1, 0};

Operator rotary(const OperatorMaker& make, const char* name, Sharding sharding,
                std::uint64_t turned) {
  Operator op = make.vector(name, "elementwise", sharding, rotary_cost, turned, turned);
  op.kernel = Kernel::rotary;
  return op;
}

// To queries or values, which it keeps `kept` of.
Operator up_product(const OperatorMaker& make, const char* name, std::uint64_t tokens,
                    std::uint64_t inputs, std::uint64_t outputs, std::uint64_t kept) {
  Operator op = make.linear(name, Sharding::column, tokens, inputs, outputs, false);
  op.stored_cut += make.bytes(tokens * kept);
  return op;
}

}  // namespace

std::vector<Operator> latent_operators(const TransformerShape& shape, std::uint64_t tokens,
                                       bool causal) {
  const OperatorMaker make(shape.data_type, shape.dropout);
  const LatentShape& latent = *shape.latent;
  const std::uint64_t heads = shape.heads;
  const std::uint64_t queries = heads * latent.key_width();
  const std::uint64_t values = heads * latent.value_width;
  const bool turns = shape.positions == Positions::rotary && latent.rope_width > 0;
  const auto whole = Sharding::replicated;

  std::vector<Operator> operators;
  if (latent.q_rank > 0) {
    operators.push_back(make.linear("q_down", whole, tokens, shape.hidden, latent.q_rank, false));
    operators.push_back(
        make.norm("q_norm", shape.norm, whole, tokens * latent.q_rank, latent.q_rank));
    operators.push_back(up_product(make, "q_up", tokens, latent.q_rank, queries, queries));
  } else {
    operators.push_back(up_product(make, "q", tokens, shape.hidden, queries, queries));
  }
  operators.back().blocks = {{heads, latent.key_width()}};
  Operator down = make.linear("kv_down", whole, tokens, shape.hidden,
                              latent.kv_rank + latent.rope_width, false);
  down.stored_whole = Bytes();  // the queries keep the same input
  operators.push_back(std::move(down));
  operators.push_back(
      make.norm("kv_norm", shape.norm, whole, tokens * latent.kv_rank, latent.kv_rank));
  Operator up = up_product(make, "kv_up", tokens, latent.kv_rank,
                           heads * (latent.nope_width + latent.value_width), values);
  up.blocks = {{heads, latent.nope_width}, {heads, latent.value_width}};
  // With the part of the key that has the position, which every shard uses.
  up.backward_all_reduce_elements += tokens * latent.rope_width;
  operators.push_back(std::move(up));
  if (turns) {
    operators.push_back(
        rotary(make, "rotary", Sharding::heads, tokens * heads * latent.rope_width));
    operators.push_back(rotary(make, "rotary_key", whole, tokens * latent.rope_width));
  }
  Operator join = make.vector("join_keys", "elementwise", Sharding::heads, join_cost,
                              tokens * heads * latent.nope_width, tokens * queries);
  join.stored_cut = make.bytes(tokens * queries);
  operators.push_back(std::move(join));

  const AttentionShape attention{tokens,
                                 tokens,
                                 heads,
                                 heads,
                                 latent.key_width(),
                                 shape.attention,
                                 causal,
                                 0,
                                 latent.value_width};
  std::vector<Operator> inner = make.attention("", Sharding::heads, attention);
  operators.insert(operators.end(), std::make_move_iterator(inner.begin()),
                   std::make_move_iterator(inner.end()));
  operators.push_back(
      make.linear("attention_output", Sharding::row, tokens, values, shape.hidden, shape.biases));
  return operators;
}

}  // namespace tessera::workload
