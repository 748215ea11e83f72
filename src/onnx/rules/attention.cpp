// Attention as one operator: that of the standard set from 23 on, those of com.microsoft, and the
// one that the optimiser makes of its parts.
//
// Source: Operators.md of ONNX and onnxruntime's ContribOperators.md for inputs, attributes and
// shapes. With a cache the keys are those before and the new ones.
#include <algorithm>
#include <array>

#include "operators.hpp"

namespace tessera::onnx {
namespace {

void require(const Operands& node, bool holds, std::size_t at) {
  if (!holds) {
    node.fail("input " + std::to_string(at) + " of the shape " + to_string(node.shape(at)));
  }
}

std::int64_t heads_of(const Operands& node, const char* name, std::int64_t width) {
  const std::int64_t heads = node.integer(name);
  if (heads < 1 || width % heads != 0) {
    node.fail(std::to_string(heads) + " heads of a width of " + std::to_string(width));
  }
  return heads;
}

void check(const Operands& node, const Attention& work) {
  node.times(
      {2, work.batch, work.heads, work.queries, work.keys, work.key_width + work.value_width});
}

// Sides that all of them give: work, and the caches [batch, kv heads, keys, width].
struct Plan {
  Attention work;
  Shape output;
  Shape present_key;
  Shape present_value;
};

Plan plan_of(const Operands& node, const Attention& work) {
  check(node, work);
  const auto side = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  const std::int64_t width = side(node.times({work.heads, work.value_width}));
  return {work,
          {side(work.batch), side(work.queries), width},
          {side(work.batch), side(work.kv_heads), side(work.keys), side(work.key_width)},
          {side(work.batch), side(work.kv_heads), side(work.keys), side(work.value_width)}};
}

// Keys before the new ones: of a cache [batch, heads, keys, width].
std::int64_t past_of(const Operands& node, std::size_t at, std::size_t axis) {
  if (!node.has(at)) {
    return 0;
  }
  const Shape& past = node.shape(at);
  require(node, past.size() == axis + 2, at);
  return past[axis];
}

// query [b, s, w], key and value [b, l, w] or [b, heads, l, w]; or key packed [b, l, heads, 2, w],
// query packed [b, s, heads, 3, w].
Plan multi_head(const Operands& node) {
  const Shape& query = node.shape(0);
  Attention work;
  work.causal = node.flag("unidirectional");
  require(node, query.size() == 3 || query.size() == 5, 0);
  work.batch = count(query[0]);
  work.queries = count(query[1]);
  if (query.size() == 5) {
    work.heads = work.kv_heads = count(query[2]);
    work.keys = work.queries;
    work.key_width = work.value_width = count(query[4]);
    return plan_of(node, work);
  }
  const std::int64_t heads = heads_of(node, "num_heads", query[2]);
  work.heads = work.kv_heads = count(heads);
  work.key_width = work.value_width = count(query[2] / heads);
  const Shape& key = node.shape(1);
  require(node, key.size() >= 3 && key.size() <= 5, 1);
  const std::int64_t past = past_of(node, 6, 2);
  work.keys = count((key.size() == 4 ? key[2] : key[1]) + past);
  work.past = count(past);
  if (key.size() != 5) {
    const Shape& value = node.shape(2);
    require(node, value.size() == 3 || value.size() == 4, 2);
    if (value.size() == 3 && value[2] % heads != 0) {
      node.fail(std::to_string(heads) + " heads of a width of " + std::to_string(value[2]));
    }
    work.value_width = count(value.size() == 4 ? value[3] : value[2] / heads);
  }
  return plan_of(node, work);
}

// query [b, s, heads * w], key and value [b, s, kv heads * w], or all three in the query; caches
// 3, 4.
Plan grouped(const Operands& node) {
  const Shape& query = node.shape(0);
  require(node, query.size() == 3, 0);
  const std::int64_t heads = node.integer("num_heads");
  const std::int64_t kv_heads = node.integer("kv_num_heads");
  const bool packed = !node.has(1);
  constexpr std::int64_t most_heads = 1 << 20;
  if (heads < 1 || kv_heads < 1 || heads > most_heads || kv_heads > most_heads ||
      heads % kv_heads != 0 || query[2] % (packed ? heads + 2 * kv_heads : heads) != 0) {
    node.fail(std::to_string(heads) + " heads of queries and " + std::to_string(kv_heads) +
              " of keys and values of a query of the shape " + to_string(query));
  }
  Attention work;
  work.batch = count(query[0]);
  work.heads = count(heads);
  work.kv_heads = count(kv_heads);
  work.queries = count(query[1]);
  work.key_width = work.value_width = count(query[2] / (packed ? heads + 2 * kv_heads : heads));
  work.past = count(past_of(node, 3, 2));
  work.keys = work.queries + work.past;
  work.causal = true;
  const std::int64_t window = node.integer("local_window_size", -1);
  if (window == 0 || window < -1) {
    node.fail("attribute 'local_window_size' should be above 0, or -1; got " +
              std::to_string(window));
  }
  work.window = window > 0 ? count(window) : 0;
  Plan plan = plan_of(node, work);
  if (work.window > 0 && work.keys > work.window - 1 + work.queries) {
    // Earlier keys are in the cache, and seen by none.
    plan.work.keys = work.window - 1 + work.queries;
    plan.work.past = work.window - 1;
  }
  return plan;
}

void set_plan(Operands& node, const Plan& plan) {
  node.set(0, node.type(0), plan.output);
  node.set(1, node.type(0), plan.present_key);
  node.set(2, node.type(0), plan.present_value);
}

void shape_multi_head(Operands& node) {
  set_plan(node, multi_head(node));
}
void shape_grouped(Operands& node) {
  set_plan(node, grouped(node));
}
Work multi_head_attention(const Operands& node, std::uint64_t) {
  return multi_head(node).work;
}
Work grouped_attention(const Operands& node, std::uint64_t) {
  return grouped(node).work;
}

// A standard operand [b, heads, l, w], or [b, l, heads * w] with so many heads.
struct Sides {
  std::int64_t heads = 0;
  std::int64_t length = 0;
  std::int64_t width = 0;
};
Sides standard_sides(const Operands& node, std::size_t at, const char* heads_name) {
  const Shape& shape = node.shape(at);
  require(node, shape.size() == 3 || shape.size() == 4, at);
  if (shape.size() == 4) {
    return {shape[1], shape[2], shape[3]};
  }
  const std::int64_t heads = heads_of(node, heads_name, shape[2]);
  return {heads, shape[1], shape[2] / heads};
}

// Of the keys of a cache that is as long as the longest context, those that are there: their mean
// over the batch, rounded up, where input 6 is known (operator set 24).
std::uint64_t keys_there(const Operands& node, const Attention& work) {
  const Values* const lengths = node.has(6) ? node.values(6) : nullptr;
  if (lengths == nullptr || lengths->real || lengths->size() != work.batch || work.batch == 0) {
    return work.keys;
  }
  std::uint64_t sum = 0;
  for (const std::int64_t length : lengths->integers) {
    if (length < 0 || count(length) > work.keys) {
      node.fail(std::to_string(length) + " keys of " + std::to_string(work.keys));
    }
    sum += count(length);
  }
  return (sum + work.batch - 1) / work.batch;
}

// Q, K, V, mask, caches 4 and 5, lengths 6.
Plan standard(const Operands& node) {
  const Sides query = standard_sides(node, 0, "q_num_heads");
  const Sides key = standard_sides(node, 1, "kv_num_heads");
  const Sides value = standard_sides(node, 2, "kv_num_heads");
  if (query.heads < 1 || key.heads < 1 || query.heads % key.heads != 0 ||
      value.heads != key.heads || key.width != query.width) {
    node.fail("queries of " + to_string(node.shape(0)) + ", keys of " + to_string(node.shape(1)) +
              " and values of " + to_string(node.shape(2)));
  }
  Attention work;
  work.batch = count(node.shape(0)[0]);
  work.heads = count(query.heads);
  work.kv_heads = count(key.heads);
  work.queries = count(query.length);
  work.keys = count(key.length + past_of(node, 4, 2));
  work.key_width = count(key.width);
  work.value_width = count(value.width);
  work.causal = node.flag("is_causal");
  work.past = count(past_of(node, 4, 2));
  Plan plan = plan_of(node, work);
  if (node.shape(0).size() == 4) {
    plan.output = {node.shape(0)[0], query.heads, query.length, value.width};
  }
  plan.work.keys = keys_there(node, work);
  if (node.has(6)) {  // the new ones are the last of those that are there
    plan.work.past = plan.work.keys - std::min(plan.work.keys, work.queries);
  }
  return plan;
}

void shape_standard(Operands& node) {
  const Plan plan = standard(node);
  if (node.has(6) && node.values(6) == nullptr) {
    node.note("the number of keys depends on data: all that fit count");
  }
  set_plan(node, plan);
  node.set(3, node.type(0),
           {plan.present_key[0], static_cast<std::int64_t>(plan.work.heads),
            static_cast<std::int64_t>(plan.work.queries), plan.present_key[2]});
}
Work standard_attention(const Operands& node, std::uint64_t) {
  return standard(node).work;
}

// input [b, s, w], weights [w, 3 * heads * h]; the cache [2, b, heads, keys, h] in input 4.
Plan with_projection(const Operands& node, std::size_t past_at) {
  const Shape& input = node.shape(0);
  const Shape& weights = node.shape(1);
  require(node, input.size() == 3, 0);
  require(node, weights.size() == 2 && weights[0] == input[2] && weights[1] % 3 == 0, 1);
  Shape widths = node.integers("qkv_hidden_sizes");
  if (widths.empty()) {
    widths = Shape(3, weights[1] / 3);
  }
  if (widths.size() != 3) {
    node.fail("attribute 'qkv_hidden_sizes' should be three numbers");
  }
  const std::int64_t heads = heads_of(node, "num_heads", widths[0]);
  if (widths[0] < 0 || widths[2] < 0 || widths[2] % heads != 0) {
    node.fail(std::to_string(heads) + " heads of a width of " + std::to_string(widths[2]));
  }
  Attention work;
  work.batch = count(input[0]);
  work.heads = work.kv_heads = count(heads);
  work.queries = count(input[1]);
  work.past = count(past_of(node, past_at, 3));
  work.keys = work.queries + work.past;
  work.key_width = count(widths[0] / heads);
  work.value_width = count(widths[2] / heads);
  work.projection_flops =
      node.times({2, work.batch, work.queries, count(input[2]), count(weights[1])});
  work.causal = node.flag("unidirectional");
  return plan_of(node, work);
}

void set_with_projection(Operands& node, std::size_t past_at) {
  const Plan plan = with_projection(node, past_at);
  node.set(0, node.type(0), plan.output);
  Shape present = plan.present_key;
  present.insert(present.begin(), 2);
  node.set(1, node.type(0), present);
}

void shape_attention(Operands& node) {
  set_with_projection(node, 4);
}
void shape_quantized_attention(Operands& node) {
  set_with_projection(node, 8);
  node.set(0, ElementType::float32, node.output_shape(0));
}
Work attention(const Operands& node, std::uint64_t) {
  return with_projection(node, 4).work;
}
Work quantized_attention(const Operands& node, std::uint64_t) {
  return with_projection(node, 8).work;
}

// The optimiser's: it knew the shapes and wrote them down.
Work found_attention(const Operands& node, std::uint64_t) {
  Attention work;
  work.batch = count(node.integer("batch"));
  work.heads = count(node.integer("heads"));
  work.kv_heads = count(node.integer("kv_heads"));
  work.queries = count(node.integer("queries"));
  work.keys = count(node.integer("keys"));
  work.key_width = count(node.integer("key_width"));
  work.value_width = count(node.integer("value_width"));
  check(node, work);
  return work;
}

// Cache, new rows.
Work append(const Operands& node, std::uint64_t) {
  return Append{elements_of(node.shape(1))};
}

// The cache as it was, with new rows along an axis (the last but one by default) in place of some.
void shape_tensor_scatter(Operands& node) {
  const Shape& cache = node.shape(0);
  const Shape& rows = node.shape(1);
  if (cache.empty() || rows.size() != cache.size()) {
    node.fail("a cache of the shape " + to_string(cache) + " and new rows of " + to_string(rows));
  }
  const std::size_t axis = node.axis(node.integer("axis", -2), cache.size());
  for (std::size_t i = 0; i < cache.size(); ++i) {
    if (i == axis ? rows[i] > cache[i] : rows[i] != cache[i]) {
      node.fail("a cache of the shape " + to_string(cache) + " and new rows of " + to_string(rows));
    }
  }
  node.set(0, node.type(0), cache);
}

constexpr std::array attention_list{
    OperatorRule{"Attention", shape_standard, standard_attention, 0},
    OperatorRule{"TensorScatter", shape_tensor_scatter, append, 0},
    OperatorRule{"com.microsoft.Attention", shape_attention, attention, 0},
    OperatorRule{"com.microsoft.GroupQueryAttention", shape_grouped, grouped_attention, 0},
    OperatorRule{"com.microsoft.MultiHeadAttention", shape_multi_head, multi_head_attention, 0},
    OperatorRule{"com.microsoft.QAttention", shape_quantized_attention, quantized_attention, 0},
    OperatorRule{"tessera.AppendToCache", nullptr, append, 0},
    OperatorRule{"tessera.Attention", nullptr, found_attention, 0},
};

}  // namespace

std::span<const OperatorRule> attention_rules() {
  return attention_list;
}

}  // namespace tessera::onnx
