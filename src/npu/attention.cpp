// Attention between queries, keys and values, by batches and heads of keys and values. The queries
// of all heads that share keys (grouped-query attention; with as many heads of keys as of queries,
// multi-head) are rows of one product, so that keys and values are loaded once for all of them.
//
// Keys are taken in steps, with a running largest value and sum of each row (T. Dao et al.,
// "FlashAttention", arXiv:2205.14135, algorithm 1): scores never leave the core. Queries are
// [batch][tokens][heads][width], keys and values, which are the cache, [batch][heads][tokens]
// [width]. `append` puts keys and values of new tokens into the cache. Masked parts are computed.
// A cache of few bits lies as weights do (stored_weights.hpp): it is packed in memory and in the
// scratchpad, and enters the array as elements, since keys and values are right operands.

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "compat/onnxim/whole_heads.hpp"
#include "cut.hpp"
#include "reading.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/npu/specs.hpp"

namespace tessera::npu {
namespace {

enum OperandPlace : std::uint8_t { queries, keys, values, output_place, appended };

struct AttentionTiles {
  std::uint64_t queries = 1;
  std::uint64_t keys = 1;
};

StoredWeights stored_as(const std::optional<StoredWeights>& stored, const Target& target) {
  return stored.value_or(StoredWeights::plain(target.element()));
}

// Keys of a step that fit beside so many rows of queries; 0: none.
std::uint64_t keys_beside(const AttentionSpec& spec, const Target& target, std::uint64_t rows) {
  const std::uint64_t e = target.element().count();
  const std::uint64_t pad = target.core.scratchpad_half().count();
  const std::uint64_t sums = target.core.accumulator_half().count() / sum_bytes;
  const std::uint64_t both = spec.width + spec.value_width;
  const std::uint64_t of_key = stored_as(spec.stored_keys, target).bytes_of(spec.width) +
                               stored_as(spec.stored_values, target).bytes_of(spec.value_width);
  const std::uint64_t fixed = rows * spec.width * e;
  const std::uint64_t of_sums = rows * spec.value_width;
  const std::uint64_t new_tokens = spec.append * both * e;
  if (pad <= fixed + new_tokens || sums <= of_sums) {
    return 0;
  }
  // Queries, keys, values, weights of attention; two sets of scores, for steps that overlap.
  const std::uint64_t most =
      std::min((pad - fixed - new_tokens) / (of_key + rows * e), (sums - of_sums) / (2 * rows));
  if (most >= spec.keys) {
    return spec.keys;
  }
  const std::uint64_t unit = target.core.columns;
  return most >= unit ? most / unit * unit : most;
}

std::optional<AttentionTiles> attention_tiles(const AttentionSpec& spec, const Target& target) {
  std::optional<AttentionTiles> found;
  std::tuple<Wide, Wide> best;
  for (const std::uint64_t part : lengths(spec.queries, 1)) {
    const std::uint64_t rows = part * spec.sharing();
    const std::uint64_t together = keys_beside(spec, target, rows);
    if (together == 0) {
      continue;
    }
    const Wide parts = Wide{spec.batch} * spec.kv_heads * quotient_up(spec.queries, part);
    const Wide of_core = (parts + target.cores - 1) / target.cores;
    const std::tuple<Wide, Wide> score(of_core * std::max(rows, target.core.rows), parts);
    if (!found || score < best) {
      const std::uint64_t steps = quotient_up(spec.keys, together);
      found = AttentionTiles{part, quotient_up(spec.keys, steps)};
      best = score;
    }
  }
  return found;
}

class TiledAttention final : public TiledOperator {
 public:
  TiledAttention(const AttentionSpec& spec, const AttentionTiles& tiles, const Target& target)
      : TiledOperator(target),
        spec_(spec),
        element_(target.element()),
        stored_keys_(stored_as(spec.stored_keys, target)),
        stored_values_(stored_as(spec.stored_values, target)),
        queries_{spec.queries, tiles.queries},
        keys_{spec.keys, tiles.keys} {
    const std::uint64_t of_queries = spec.batch * spec.queries * spec.heads;
    const std::uint64_t of_keys = spec.batch * spec.kv_heads * spec.keys;
    operands_ = {{"queries", element_ * (of_queries * spec.width)},
                 {"keys", Bytes(stored_keys_.bytes_of(Wide{of_keys} * spec.width))},
                 {"values", Bytes(stored_values_.bytes_of(Wide{of_keys} * spec.value_width))},
                 {"output", element_ * (of_queries * spec.value_width)},
                 {"appended", element_ * (spec.batch * spec.kv_heads * spec.append * both())}};
  }

  const std::vector<Operand>& operands() const override { return operands_; }
  std::array<std::uint64_t, output_dimensions> output() const override {
    return {spec_.batch, spec_.kv_heads, spec_.queries, spec_.sharing() * spec_.value_width};
  }
  std::uint64_t depth() const override { return spec_.keys; }
  std::uint64_t macs() const override {
    return spec_.batch * spec_.heads * spec_.queries * spec_.keys * both();
  }
  std::uint64_t groups() const override { return spec_.batch * spec_.kv_heads * queries_.parts(); }
  std::uint64_t steps() const override { return keys_.parts(); }
  double vector_flops() const override { return flops_of_scores(spec_); }
  VectorWork vector_passes() const override {
    return vector_work("softmax") + vector_work("mul") + vector_work("div");
  }

  OperatorTile tile(std::uint64_t group, std::uint64_t step) const override {
    const std::uint64_t part = group % queries_.parts();
    const std::uint64_t head = group / queries_.parts() % spec_.kv_heads;
    const std::uint64_t number = group / queries_.parts() / spec_.kv_heads;
    const std::uint64_t e = element_.count();
    OperatorTile tile;
    tile.shape = (queries_.is_last(part) ? 1U : 0U) | (step == 0 ? 2U : 0U) |
                 (keys_.is_last(step) ? 4U : 0U) | (step % 2 == 1 ? 8U : 0U) |
                 (part == 0 && step == 0 && spec_.append > 0 ? 16U : 0U);
    tile.output = {Range{number, number + 1}, Range{head, head + 1}, queries_.range(part),
                   Range{0, spec_.sharing() * spec_.value_width}};
    tile.depth = keys_.range(step);
    const std::uint64_t first_query =
        (number * spec_.queries + queries_.begin(part)) * spec_.heads + head * spec_.sharing();
    const std::uint64_t of_head = number * spec_.kv_heads + head;
    const std::uint64_t first_key = of_head * spec_.keys + tile.depth.begin;
    tile.origins[queries] = first_query * spec_.width * e;
    tile.origins[keys] = stored_keys_.begin_of(first_key * spec_.width);
    tile.origins[values] = stored_values_.begin_of(first_key * spec_.value_width);
    tile.origins[output_place] = first_query * spec_.value_width * e;
    tile.origins[appended] = of_head * spec_.append * both() * e;
    return tile;
  }

  TileProgram program(std::uint64_t shape) const override {
    const bool is_last_part = (shape & 1) != 0;
    const bool is_first_step = (shape & 2) != 0;
    const bool is_last_step = (shape & 4) != 0;
    const bool is_odd = (shape & 8) != 0;
    const bool appends = (shape & 16) != 0;
    ProgramWriter out(target());
    const std::uint64_t e = element_.count();
    const std::uint64_t tokens = queries_.size_at(is_last_part);
    const std::uint64_t rows = tokens * spec_.sharing();
    const std::uint64_t count = keys_.size_at(is_last_step);
    const std::uint64_t width = spec_.width;
    const std::uint64_t value_width = spec_.value_width;

    const BufferId q = out.scratchpad(Bytes(rows * width * e));
    const std::uint64_t key_bytes = stored_keys_.bytes_of(count * width);
    const std::uint64_t value_bytes = stored_values_.bytes_of(count * value_width);
    const BufferId k = out.scratchpad(Bytes(key_bytes));
    const BufferId v = out.scratchpad(Bytes(value_bytes));
    const BufferId attention = out.scratchpad(Bytes(rows * count * e));
    const bool in_steps = keys_.parts() > 1;
    const Bytes of_scores(rows * keys_.length * sum_bytes);
    std::vector<BufferId> scores{out.accumulator(of_scores)};
    if (in_steps) {
      scores.push_back(out.accumulator(of_scores));
    }
    const BufferId sums = out.accumulator(Bytes(rows * value_width * sum_bytes));
    const BufferId own_scores = scores[is_odd && in_steps ? 1 : 0];

    out.mvin(queries, of_tokens(tokens, width), q);
    out.mvin(keys, {0, key_bytes, 1, key_bytes}, k);
    out.mvin(values, {0, value_bytes, 1, value_bytes}, v);
    multiply(out, q, k, own_scores, rows, width, count);
    out.vector(vector_cycles(core(), vector_work("softmax"), rows, count), own_scores, BufferId(),
               attention);
    if (!is_first_step) {  // what was summed up so far counts less
      out.vector(vector_cycles(core(), vector_work("mul"), rows, value_width), sums, attention,
                 sums);
    }
    multiply(out, attention, v, sums, rows, count, value_width);
    if (is_last_step) {
      out.vector(vector_cycles(core(), vector_work("div"), rows, value_width), sums, BufferId(),
                 sums);
      out.mvout(output_place, of_tokens(tokens, value_width), sums);
    }
    if (appends) {
      append(out);
    }
    return out.take();
  }

 private:
  std::uint64_t both() const { return spec_.width + spec_.value_width; }

  // The heads that share keys, of some tokens.
  Region of_tokens(std::uint64_t tokens, std::uint64_t width) const {
    const std::uint64_t e = element_.count();
    return {0, spec_.sharing() * width * e, tokens, spec_.heads * width * e};
  }

  void multiply(ProgramWriter& out, BufferId a, BufferId b, BufferId to, std::uint64_t rows,
                std::uint64_t depth, std::uint64_t columns) const {
    const Cut heights{depth, std::min(depth, target().array_depth())};
    const Cut widths{columns, std::min(columns, core().columns)};
    for (std::uint64_t w = 0; w < widths.parts(); ++w) {
      for (std::uint64_t h = 0; h < heights.parts(); ++h) {
        out.gemm(true, a, b, to, rows, heights.size(h), widths.size(w));
      }
    }
  }

  void append(ProgramWriter& out) const {
    const std::uint64_t e = element_.count();
    const std::uint64_t bytes = spec_.append * both() * e;
    const std::uint64_t before = spec_.keys - std::min(spec_.append, spec_.keys);
    const BufferId tokens = out.scratchpad(Bytes(bytes));
    out.mvin(appended, {0, bytes, 1, bytes}, tokens);
    store(out, keys, stored_keys_, before * spec_.width, spec_.append * spec_.width, tokens);
    store(out, values, stored_values_, before * spec_.value_width, spec_.append * spec_.value_width,
          tokens);
  }

  // New elements behind those `before`.
  static void store(ProgramWriter& out, OperandPlace cache, const StoredWeights& stored,
                    std::uint64_t before, std::uint64_t elements, BufferId tokens) {
    const std::uint64_t bytes = stored.bytes_of(elements);
    out.mvout(cache, {stored.begin_of(before), bytes, 1, bytes}, tokens);
  }

  AttentionSpec spec_;
  Bytes element_;
  StoredWeights stored_keys_;
  StoredWeights stored_values_;
  Cut queries_;
  Cut keys_;
  std::vector<Operand> operands_;
};

const auto batch_key = extent_key("batch", 1, "number of sequences");
const auto heads_key = extent_key("heads", "heads of queries");
const auto kv_heads_key = derived_extent_key("kv_heads", "as heads",
                                             "heads of keys and values; fewer than heads: "
                                             "grouped-query attention");
const auto queries_key = extent_key("queries", "tokens that have queries");
const auto keys_key = extent_key("keys", "tokens that have keys, including those appended");
const auto head_width_key = extent_key("head_width", "elements of a head");
const config::Key<std::uint64_t> append_key{"append", 0,
                                            "tokens whose keys and values are appended to the "
                                            "cache"};
const config::Key<bool> whole_heads_key{"whole_heads", false,
                                        "one operator tile for each head, as in ONNXim for ONNX "
                                        "models"};

std::unique_ptr<TiledOperator> make(config::Section& section, const Target& target) {
  AttentionSpec spec;
  spec.batch = batch_key.read(section);
  spec.heads = heads_key.read(section);
  spec.kv_heads = kv_heads_key.read(section, std::max<std::uint64_t>(spec.heads, 1));
  spec.queries = queries_key.read(section);
  spec.keys = keys_key.read(section);
  spec.width = spec.value_width = head_width_key.read(section);
  spec.append = append_key.read(section);
  spec.whole_heads = whole_heads_key.read(section);
  if (!is_countable(section, {spec.batch, spec.heads, spec.queries, spec.keys, spec.width})) {
    return nullptr;
  }
  if (spec.heads % spec.kv_heads != 0) {
    section.error("kv_heads", "must divide heads");
    return nullptr;
  }
  if (spec.append > spec.keys) {
    section.error("append", "is more than there are keys");
    return nullptr;
  }
  auto made = lower(spec, target);
  if (!made && spec.whole_heads) {
    section.error("whole_heads", "heads share keys, or a head does not fit in the core");
  } else if (!made) {
    section.error("head_width", "one query of each head and one key do not fit in the core");
  }
  return made;
}

const Registration registration(
    operators(),
    {"attention",
     "attention with any number of key-value heads and a key-value cache",
     {batch_key, heads_key, kv_heads_key, queries_key, keys_key, head_width_key, append_key,
      whole_heads_key}},
    make);

}  // namespace

std::unique_ptr<TiledOperator> lower(const AttentionSpec& spec, const Target& target) {
  if (spec.whole_heads) {
    ensure(!spec.stored_keys && !spec.stored_values, "whole heads have caches of plain elements");
    return make_whole_heads(spec, target);
  }
  const auto tiles = attention_tiles(spec, target);
  return tiles ? std::make_unique<TiledAttention>(spec, *tiles, target) : nullptr;
}

}  // namespace tessera::npu
