#include "layers/operations.hpp"

#include <algorithm>

#include "layers/narrow.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/workload/transformer/model.hpp"

namespace tessera::serving {
namespace {

bool is_of_states(Part part) {
  return part == ssm_convolution || part == ssm_scan || part == ssm_gate;
}

bool is_of_adapters(Part part) {
  return adapted_part(part) != part;
}

bool is_of_head(Part part) {
  return part == last_norm || part == head || part == softmax;
}

// Of a row.
std::uint64_t elements_of(const npu::StreamInput& input) {
  return quotient_up((input.end - input.begin) * input.per, input.of);
}

}  // namespace

StepSizes LayerOperations::needed(Part part, const StepSizes& sizes) {
  StepSizes needed;
  if (is_of_adapters(part)) {
    needed.adapters = sizes.adapters;
    needed.adapted = sizes.adapted;
  } else if (part == serving::attention || part == local_attention) {
    needed = sizes;
    if (part == local_attention) {
      needed.generating_keys = needed.prompt_keys = needed.twice_pairs = 0;
      needed.block_keys = needed.longest_blocks = needed.longest_keys = 0;
    } else {
      needed.windowed = {};
    }
    needed.emitting = 0;
    needed.adapters = needed.adapted = 0;
    needed.chunks = needed.chunk_pairs = needed.spread_tokens = 0;
  } else if (part == ssm_scan || part == ssm_convolution) {
    needed.tokens = sizes.tokens;
    needed.generating = sizes.generating;
    needed.prompts = sizes.prompts;
    needed.chunks = part == ssm_scan ? sizes.chunks : 0;
    needed.chunk_pairs = part == ssm_scan ? sizes.chunk_pairs : 0;
  } else if (is_of_head(part)) {
    needed.emitting = sizes.emitting;
  } else {
    needed.tokens = sizes.tokens;
  }
  return needed;
}

TileOperation LayerOperations::make(Part part, const StepSizes& sizes) const {
  const std::uint64_t own = is_of_head(part) ? sizes.emitting : sizes.tokens;
  const std::uint64_t rows =
      is_of_experts(part) && sizes.spread_tokens > 0 ? sizes.spread_tokens : own;
  TileOperation made = is_of_adapters(part)         ? of_adapters(part, sizes)
                       : part == cache_write        ? write_cache(sizes.tokens)
                       : part == serving::attention ? attention(sizes)
                       : part == local_attention    ? attention(sizes.in_window())
                       : is_of_states(part)         ? of_state_space(part, sizes)
                       : shapes_.is_product(part)   ? product(part, rows)
                                                    : stream(part, rows);
  made.operation.data_type = multiplied_in(part);
  return made;
}

DataType LayerOperations::multiplied_in(Part part) const {
  const bool is_product = shapes_.is_product(part) && !is_of_adapters(part);
  const bool is_narrow = is_product && shapes_.sources().products_of(part).front().narrow;
  const workload::TransformerShape& model = shapes_.model();
  return is_narrow && model.products ? model.products->type : model.data_type;
}

// Of the model's operators that have no product, what is cut with the units' heads or columns.
Wide LayerOperations::vector_flops(Part part, std::uint64_t rows, bool adds_skipped) const {
  const std::uint64_t tensor = shapes_.setup().tensor;
  const PartSources& sources = shapes_.sources();
  if (part == softmax) {  // of the step alone
    const std::uint64_t logits = quotient_up(shapes_.model().vocabulary, tensor);
    return Wide{rows} * workload::softmax_flops(logits).count();
  }
  const std::uint64_t worked = is_of_experts(part) ? shapes_.own(rows) : rows;
  std::uint64_t of_token = adds_skipped ? sources.skip_flops() : 0;
  for (const workload::Operator& op : sources.others_of(part)) {
    const bool is_cut = op.sharding == workload::Sharding::heads;
    const std::uint64_t flops = op.forward_flops.count();
    of_token += is_cut ? quotient_up(flops, tensor) : flops;
  }
  return Wide{worked} * of_token;
}

TileOperation LayerOperations::of_state_space(Part part, const StepSizes& sizes) const {
  const StateSpace& layer = *shapes_.state_space();
  return part == ssm_convolution ? layer.convolution(sizes, flops_)
         : part == ssm_scan      ? layer.scan(sizes, flops_)
                                 : layer.gate(sizes.tokens, flops_);
}

TileOperation LayerOperations::product(Part part, std::uint64_t rows) const {
  const npu::ProductSpec spec = shapes_.product_of(part, rows);
  const npu::ProductShape& s = spec.shape;
  const bool of_experts = is_of_experts(part);
  const bool bias = spec.bias || (of_experts && shapes_.model().biases);
  const Bytes element = shapes_.element();
  const npu::StoredWeights stored = spec.stored.value_or(npu::StoredWeights::plain(element));
  TileOperation made;
  made.weights = Bytes(stored.bytes_of(Wide{s.depth} * s.columns * s.count)) +
                 element * (bias ? s.columns * s.count : 0);
  made.operation.product = {s.rows, s.columns, s.depth, s.count};
  // Of experts, rows that only fill up the last copies are no work.
  const Wide worked = of_experts ? Wide{shapes_.own(rows * shapes_.model().experts->top_k)}
                                 : Wide{s.rows} * s.count;
  made.operation.flops = Flops(
      narrow(2 * worked * s.columns * s.depth + vector_flops(part, rows, spec.residuals > 0)));
  made.operation.bytes = made.weights + Bytes(narrow(Wide{element.count()} * s.rows * s.count *
                                                     (s.depth + s.columns * (1 + spec.residuals))));
  if (multiplied_in(part) != shapes_.model().data_type) {  // a kernel of its own casts the inputs
    const std::uint64_t inputs = narrow(Wide{s.rows} * s.count * s.depth);
    made.operation.added = element * inputs + shapes_.model().products->bytes_of(inputs);
  }
  return made;
}

// Rows of sequences with the same adapter are a product of their own; all of them are one
// operation.
TileOperation LayerOperations::of_adapters(Part part, const StepSizes& sizes) const {
  const Part base = adapted_part(part);
  const npu::ProductShape whole = shapes_.product_of(base, sizes.adapted).shape;
  const std::uint64_t rank = shapes_.setup().adapter_rank;
  const std::uint64_t low = rank * shapes_.joined(base);
  const bool shrinks =
      part == qkv_shrink || part == out_shrink || part == up_shrink || part == down_shrink;
  // Each column of what is joined comes from the rank of its own matrix.
  const std::uint64_t columns = shrinks ? low : whole.columns;
  const std::uint64_t depth = shrinks ? whole.depth : rank;
  const Wide element = shapes_.element().count();
  TileOperation made;
  made.weights = Bytes(narrow(element * sizes.adapters * columns * depth));
  made.operation.product = {quotient_up(sizes.adapted, sizes.adapters), columns, depth,
                            sizes.adapters};
  const Wide sums = shrinks ? 0 : columns;
  made.operation.flops = Flops(narrow(sizes.adapted * (2 * Wide{columns} * depth + sums)));
  const Wide moved = shrinks ? Wide{depth} + columns : Wide{low} + 2 * Wide{columns};
  made.operation.bytes = made.weights + Bytes(narrow(element * sizes.adapted * moved));
  return made;
}

TileOperation LayerOperations::stream(Part part, std::uint64_t rows) const {
  const npu::StreamSpec spec = shapes_.stream_of(part, rows);
  const Bytes element = shapes_.element();
  TileOperation made;
  Wide moved = Wide{element.count()} * spec.rows *
               quotient_up(spec.columns * spec.stored_per, spec.stored_of);
  bool adds_skipped = false;
  for (const npu::StreamInput& input : spec.inputs) {
    const npu::StoredWeights stored = input.stored.value_or(npu::StoredWeights::plain(element));
    const Wide of_row = stored.bytes_of(elements_of(input));
    const Wide loaded = of_row * (input.for_all_rows ? 1 : spec.rows);
    if (input.for_all_rows || part == embedding) {
      made.weights += Bytes(narrow(loaded));
    }
    adds_skipped = adds_skipped || input.name == "skip";
    moved += loaded;
  }
  const std::vector<workload::Operator>& sources = shapes_.sources().others_of(part);
  made.operation.kernel = sources.empty() ? workload::Kernel::plain : sources.front().kernel;
  made.operation.flops = Flops(narrow(vector_flops(part, rows, adds_skipped)));
  made.operation.bytes = Bytes(narrow(moved));
  if (made.operation.kernel != workload::Kernel::plain) {
    const std::uint64_t of_token =
        part == query_key_norm ? shapes_.heads() + shapes_.kv_heads() : 1;
    made.operation.row = Bytes(quotient_up(made.operation.bytes.count(), spec.rows * of_token));
  }
  return made;
}

// Read as they were made, written as the cache keeps them.
TileOperation LayerOperations::write_cache(std::uint64_t tokens) const {
  TileOperation made;
  made.appended = Bytes(narrow(Wide{shapes_.cache_of_token().count()} * tokens));
  const Wide read = Wide{shapes_.made_for_cache().count()} * tokens;
  made.operation.bytes = Bytes(narrow(read + made.appended.count()));
  return made;
}

TileOperation LayerOperations::attention(const StepSizes& sizes) const {
  const Wide of_token = shapes_.cache_of_token().count();
  TileOperation made;
  made.cached = Bytes(narrow(of_token * sizes.keys()));
  made.operation = attention_of(sizes);
  if (sizes.generating > 0 && sizes.prompts > 0) {
    StepSizes prompts = sizes;
    prompts.tokens -= sizes.generating;
    prompts.generating = prompts.generating_keys = 0;
    StepSizes generating;
    generating.tokens = generating.generating = sizes.generating;
    generating.generating_keys = sizes.generating_keys;
    made.apart = {attention_of(prompts), attention_of(generating)};
  }
  return made;
}

// The queries of a sequence's heads that share keys are rows of one product with these, which go
// through the array twice: for scores and for values; of both widths the mean.
workload::Operation LayerOperations::attention_of(const StepSizes& sizes) const {
  const std::uint64_t widths = shapes_.key_width() + shapes_.gathered_width();
  const std::uint64_t sharing = shapes_.heads() / shapes_.kv_heads();
  const Wide of_token = shapes_.cache_of_token().count();
  workload::Operation made;
  made.kernel = workload::Kernel::fused_attention;
  made.data_type = shapes_.model().data_type;
  made.product = {sharing * quotient_up(sizes.tokens, sizes.sequences()), quotient_up(widths, 2),
                  quotient_up(sizes.all_twice_pairs(), sizes.tokens),
                  sizes.sequences() * shapes_.kv_heads()};
  made.twice_keys = made.product.depth;
  made.flops = Flops(narrow(flops_.of_attention(sizes, shapes_.heads())));
  const Wide queries = Wide{shapes_.element().count()} * sizes.tokens * shapes_.heads() * widths;
  made.bytes = Bytes(narrow(queries + of_token * sizes.keys()));
  made.attention = {shapes_.heads(),    shapes_.kv_heads(), sizes.generating, sizes.generating_keys,
                    sizes.prompts,      sizes.blocks,       sizes.block_keys, sizes.longest_blocks,
                    sizes.longest_keys, sizes.most_blocks};
  return made;
}

}  // namespace tessera::serving
