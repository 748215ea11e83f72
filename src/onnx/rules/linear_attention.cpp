// Linear attention and the causal convolution before it: operator set 27.
//
// Source: Operators.md of ONNX 1.22, LinearAttention and CausalConvWithState, for inputs,
// attributes and shapes. FLOPs are those of the recurrence as it is written there, one token after
// the other: a kernel that goes over chunks of tokens on matrix units does more.
#include <algorithm>
#include <array>
#include <string>

#include "operators.hpp"

namespace tessera::onnx {
namespace {

struct LinearSides {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_width = 0;
  std::int64_t value_width = 0;
};

// Query [b, t, heads * k], key [b, t, kv heads * k], value [b, t, kv heads * v].
LinearSides linear_sides(const Operands& node) {
  constexpr std::int64_t most_heads = 1 << 20;
  const Shape& query = node.shape(0);
  const Shape& key = node.shape(1);
  const Shape& value = node.shape(2);
  LinearSides sides;
  sides.heads = node.integer("q_num_heads");
  sides.kv_heads = node.integer("kv_num_heads");
  const bool are_heads = sides.heads >= 1 && sides.heads <= most_heads && sides.kv_heads >= 1 &&
                         sides.heads % sides.kv_heads == 0;
  const bool are_packed = query.size() == 3 && key.size() == 3 && value.size() == 3 &&
                          key[0] == query[0] && value[0] == query[0] && key[1] == query[1] &&
                          value[1] == query[1];
  if (!are_heads || !are_packed || query[2] % sides.heads != 0 || key[2] % sides.kv_heads != 0 ||
      value[2] % sides.kv_heads != 0 || query[2] / sides.heads != key[2] / sides.kv_heads) {
    node.fail("queries of " + to_string(query) + " in " + std::to_string(sides.heads) +
              " heads, keys of " + to_string(key) + " and values of " + to_string(value) + " in " +
              std::to_string(sides.kv_heads));
  }
  sides.batch = query[0];
  sides.tokens = query[1];
  sides.key_width = query[2] / sides.heads;
  sides.value_width = value[2] / sides.kv_heads;
  return sides;
}

void shape_linear(Operands& node) {
  const LinearSides sides = linear_sides(node);
  const Shape state{sides.batch, sides.kv_heads, sides.key_width, sides.value_width};
  if (node.has(3) && node.shape(3) != state) {
    node.fail("a state of " + to_string(node.shape(3)) + ", and should be " + to_string(state));
  }
  const std::uint64_t width = node.times({count(sides.heads), count(sides.value_width)});
  node.set(0, node.type(0), {sides.batch, sides.tokens, static_cast<std::int64_t>(width)});
  node.set(1, node.has(3) ? node.type(3) : node.type(0), state);
}

// Of a token and head of keys: k v^T and a sum over the state; with a decay (input 4) a product
// over it; with a step size (input 5) what the state gives for k, a difference and a product of a
// value's width. Of a head of queries: q^T S, and its scale.
Work linear(const Operands& node, std::uint64_t) {
  const LinearSides sides = linear_sides(node);
  const std::uint64_t tokens = node.times({count(sides.batch), count(sides.tokens)});
  const std::uint64_t values = count(sides.value_width);
  const std::uint64_t state = node.times({count(sides.key_width), values});
  const std::uint64_t over_state = 2 + (node.has(4) ? 1U : 0U) + (node.has(5) ? 2U : 0U);
  const std::uint64_t over_values = node.has(5) ? 2 : 0;
  std::uint64_t flops = node.times({tokens, count(sides.kv_heads), over_state, state});
  flops += node.times({tokens, count(sides.kv_heads), over_values, values});
  flops += node.times({tokens, count(sides.heads), 2, state});
  flops += node.times({tokens, count(sides.heads), values});
  return Other{flops};
}

// Input [b, channels, length], weights [channels, 1, kernel]; the state [b, channels, kernel - 1].
void shape_causal(Operands& node) {
  const Shape& input = node.shape(0);
  const Shape& weights = node.shape(1);
  if (input.size() != 3 || weights.size() != 3 || weights[0] != input[1] || weights[1] != 1 ||
      weights[2] < 1) {
    node.fail("an input of the shape " + to_string(input) + " and weights of " +
              to_string(weights));
  }
  const Shape state{input[0], input[1], weights[2] - 1};
  if (node.has(3) && node.shape(3) != state) {
    node.fail("a state of " + to_string(node.shape(3)) + ", and should be " + to_string(state));
  }
  const std::string activation = node.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    node.fail("attribute 'activation' should be none, silu or swish");
  }
  if (activation != "none") {
    node.note("its activation takes no time of its own");
  }
  node.set(0, node.type(0), input);
  node.set(1, node.type(0), state);
}

// Each channel by itself, padded before its beginning.
Work causal(const Operands& node, std::uint64_t) {
  const Shape& input = node.shape(0);
  const std::int64_t kernel = node.shape(1)[2];
  Convolution work;
  work.batch = count(input[0]);
  work.groups = work.input_channels = work.output_channels = count(input[1]);
  work.input = work.output = {input[2]};
  work.kernel = {kernel};
  work.strides = work.dilations = {1};
  work.pads = {kernel - 1, 0};
  node.times({2, elements_of(input), count(kernel)});
  return work;
}

constexpr std::array linear_attention_list{
    OperatorRule{"CausalConvWithState", shape_causal, causal, 0},
    OperatorRule{"LinearAttention", shape_linear, linear, 0},
};

}  // namespace

std::span<const OperatorRule> linear_attention_rules() {
  return linear_attention_list;
}

}  // namespace tessera::onnx
