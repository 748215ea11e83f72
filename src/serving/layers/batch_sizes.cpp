#include "layers/batch_sizes.hpp"

#include <algorithm>

#include "tessera/core/quotient.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::serving {
namespace {

// Blocks of queries of prompts that are alike. With a mask the last block looks at all keys, and
// each before it at `block_rows` fewer.
void add_blocks(const SequenceGroup& group, bool halves, StepSizes& sizes) {
  constexpr std::uint64_t rows = workload::AttentionSizes::block_rows;
  const std::uint64_t of_each = quotient_up(group.queries, rows);
  const std::uint64_t hidden = halves && group.queries > rows ? (group.queries - rows) / 2 : 0;
  const std::uint64_t keys = group.keys - hidden;
  const std::uint64_t all = group.sequences * of_each;
  sizes.blocks += all;
  sizes.block_keys += all * keys;
  sizes.most_blocks = std::max(sizes.most_blocks, of_each);
  if (keys > sizes.longest_keys) {
    sizes.longest_keys = keys;
    sizes.longest_blocks = all;
  }
}

// Twice the pairs of queries of a prompt and keys that a window leaves.
std::uint64_t twice_pairs_in(std::uint64_t window, const SequenceGroup& group, bool halves) {
  const std::uint64_t queries = group.queries;
  if (window >= group.keys) {
    return queries * (2 * std::uint64_t{group.keys} - (halves ? queries : 0));
  }
  const std::uint64_t before = group.keys - queries;
  const std::uint64_t whole = window > before ? std::min(queries, window - before) : 0;
  return 2 * whole * before + whole * (whole + 1) + 2 * window * (queries - whole);
}

// As add_blocks: a block sees at most the window of its first query, and its own ones.
void add_window_blocks(const SequenceGroup& group, std::uint64_t window, WindowSizes& sizes) {
  constexpr std::uint64_t rows = workload::AttentionSizes::block_rows;
  const std::uint64_t of_each = quotient_up(group.queries, rows);
  const std::uint64_t most = window + std::min<std::uint64_t>(rows, group.queries) - 1;
  std::uint64_t sum = 0;
  for (std::uint64_t block = 0; block < of_each; ++block) {
    sum += std::min<std::uint64_t>(most, group.keys - block * rows);
  }
  const std::uint64_t keys = quotient_up(sum, of_each);
  sizes.block_keys += group.sequences * sum;
  if (keys > sizes.longest_keys) {
    sizes.longest_keys = keys;
    sizes.longest_blocks = group.sequences * of_each;
  }
}

// A prompt's new tokens go through chunks from its first one on.
void add_chunks(const SequenceGroup& group, std::uint64_t chunk, StepSizes& sizes) {
  const std::uint64_t full = group.queries / chunk;
  const std::uint64_t rest = group.queries % chunk;
  sizes.chunks += group.sequences * (full + (rest > 0 ? 1 : 0));
  sizes.chunk_pairs += group.sequences * (full * chunk * chunk + rest * rest);
}

void add_window(const LayerShapes& shapes, const SequenceGroup& group, bool halves,
                WindowSizes& sizes) {
  const std::uint64_t window = shapes.model().window;
  const SequenceGroup seen = shapes.in_window(group);
  const std::uint64_t keys = std::uint64_t{seen.sequences} * seen.keys;
  if (group.queries == 1) {
    sizes.generating_keys += keys;
    return;
  }
  sizes.prompt_keys += keys;
  sizes.twice_pairs += group.sequences * twice_pairs_in(window, group, halves);
  add_window_blocks(group, window, sizes);
}

}  // namespace

StepSizes batch_sizes(const LayerShapes& shapes, const Batch& batch) {
  const workload::TransformerShape& shape = shapes.model();
  const bool halves = shape.causal && shape.attention == workload::AttentionKind::flash;
  StepSizes sizes;
  sizes.tokens = batch.tokens();
  sizes.emitting = batch.emitting;
  sizes.adapters = batch.adapters;
  sizes.adapted = batch.adapted;
  for (const SequenceGroup& group : batch.groups) {
    const std::uint64_t keys = std::uint64_t{group.sequences} * group.keys;
    if (group.queries == 1) {
      sizes.generating += group.sequences;
      sizes.generating_keys += keys;
    } else {
      sizes.prompts += group.sequences;
      sizes.prompt_keys += keys;
      const std::uint64_t pairs = 2 * std::uint64_t{group.keys} - (halves ? group.queries : 0);
      sizes.twice_pairs += group.sequences * group.queries * pairs;
      add_blocks(group, halves, sizes);
      if (shape.ssm) {
        add_chunks(group, shape.ssm->chunk, sizes);
      }
    }
    if (shape.window > 0) {
      add_window(shapes, group, halves, sizes.windowed);
    }
  }
  return sizes;
}

}  // namespace tessera::serving
