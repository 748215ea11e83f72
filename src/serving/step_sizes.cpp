#include "tessera/serving/step_sizes.hpp"

#include "tessera/core/error.hpp"
#include "tessera/serving/language_model.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::serving {
namespace {

constexpr unsigned token_bits = 20;
constexpr unsigned sequence_bits = 11;
constexpr unsigned sum_bits = 32;          // of keys
constexpr unsigned pair_bits = 52;         // of twice_pairs
constexpr unsigned block_bits = 15;        // of a step
constexpr unsigned longest_key_bits = 19;  // of a sequence
constexpr unsigned wide_bits = 8;          // blocks of a prompt
constexpr unsigned block_key_bits = block_bits + longest_key_bits;
constexpr unsigned adapter_bits = 10;      // of a step
constexpr unsigned window_key_bits = 30;   // of all sequences of a step
constexpr unsigned window_pair_bits = 42;  // of twice_pairs
constexpr unsigned chunk_bits = 21;        // of a step
constexpr unsigned chunk_pair_bits = 34;
// In the third word: the fifth has `spread_tokens` in place of adapters.
constexpr std::uint64_t spread_flag = std::uint64_t{1} << 63U;
constexpr std::uint64_t block_rows = workload::AttentionSizes::block_rows;
static_assert(most_tokens / block_rows + most_sequences < 1U << block_bits);
static_assert(most_keys < 1U << longest_key_bits && most_queries / block_rows < 1U << wide_bits);
static_assert(2 * block_bits + longest_key_bits + wide_bits <= 64);
static_assert(block_key_bits + adapter_bits + token_bits == 64);
static_assert(pair_bits + sequence_bits < 64);
static_assert(most_sequences == 1U << adapter_bits);
static_assert(token_bits + 2 * sequence_bits == OperatorName::shape_bits);
static_assert(most_tokens == 1U << token_bits && most_sequences < 1U << sequence_bits);
static_assert(std::uint64_t{most_sequences} * most_keys < std::uint64_t{1} << sum_bits);
static_assert(2 * std::uint64_t{most_tokens} * most_keys < std::uint64_t{1} << pair_bits);
static_assert(std::uint64_t{most_sequences} * most_keys < std::uint64_t{1} << window_key_bits);
static_assert(2 * std::uint64_t{most_tokens} * most_keys < std::uint64_t{1} << window_pair_bits);
static_assert(most_tokens < 1U << chunk_bits);
static_assert(std::uint64_t{most_tokens} * most_queries < std::uint64_t{1} << chunk_pair_bits);
static_assert(2 * window_key_bits <= StepSizes::more_bits);
static_assert(window_pair_bits + block_bits <= StepSizes::more_bits);
static_assert(block_key_bits + longest_key_bits <= StepSizes::more_bits);
static_assert(chunk_bits + chunk_pair_bits <= StepSizes::more_bits);

constexpr std::uint64_t bits(std::uint64_t word, unsigned from, unsigned count) {
  return word >> from & ((std::uint64_t{1} << count) - 1);
}

}  // namespace

StepSizes StepSizes::in_window() const {
  StepSizes seen = *this;
  seen.generating_keys = windowed.generating_keys;
  seen.prompt_keys = windowed.prompt_keys;
  seen.twice_pairs = windowed.twice_pairs;
  seen.block_keys = windowed.block_keys;
  seen.longest_blocks = windowed.longest_blocks;
  seen.longest_keys = windowed.longest_keys;
  seen.windowed = {};
  return seen;
}

StepSizes::Words StepSizes::words() const {
  ensure(tokens > 0 && tokens <= most_tokens, "a step has tokens, and not too many");
  ensure(adapted < most_tokens, "a step has not too many tokens with adapters");
  ensure(spread_tokens <= most_tokens && (spread_tokens == 0 || adapters == 0),
         "a step whose experts are spread has no adapters, and not too many tokens");
  return {(tokens - 1) | emitting << token_bits | generating << (token_bits + sequence_bits),
          generating_keys | prompt_keys << sum_bits,
          twice_pairs | prompts << pair_bits | (spread_tokens > 0 ? spread_flag : 0),
          blocks | longest_blocks << block_bits | longest_keys << 2 * block_bits |
              most_blocks << (2 * block_bits + longest_key_bits),
          block_keys | (adapters > 0 ? (adapters - 1) << block_key_bits |
                                           adapted << (block_key_bits + adapter_bits)
                        : spread_tokens > 0 ? (spread_tokens - 1) << (block_key_bits + adapter_bits)
                                            : 0),
          windowed.generating_keys | windowed.prompt_keys << window_key_bits,
          windowed.twice_pairs | windowed.longest_blocks << window_pair_bits,
          windowed.block_keys | windowed.longest_keys << block_key_bits,
          chunks | chunk_pairs << chunk_bits};
}

StepSizes StepSizes::from(const Words& words) {
  StepSizes sizes;
  sizes.tokens = bits(words[0], 0, token_bits) + 1;
  sizes.emitting = bits(words[0], token_bits, sequence_bits);
  sizes.generating = bits(words[0], token_bits + sequence_bits, sequence_bits);
  sizes.generating_keys = bits(words[1], 0, sum_bits);
  sizes.prompt_keys = words[1] >> sum_bits;
  sizes.twice_pairs = bits(words[2], 0, pair_bits);
  sizes.prompts = bits(words[2], pair_bits, sequence_bits);
  sizes.blocks = bits(words[3], 0, block_bits);
  sizes.longest_blocks = bits(words[3], block_bits, block_bits);
  sizes.longest_keys = bits(words[3], 2 * block_bits, longest_key_bits);
  sizes.most_blocks = bits(words[3], 2 * block_bits + longest_key_bits, wide_bits);
  sizes.block_keys = bits(words[4], 0, block_key_bits);
  const bool is_spread = (words[2] & spread_flag) != 0;
  const std::uint64_t last = words[4] >> (block_key_bits + adapter_bits);
  sizes.spread_tokens = is_spread ? last + 1 : 0;
  sizes.adapted = is_spread ? 0 : last;
  sizes.adapters = sizes.adapted > 0 ? bits(words[4], block_key_bits, adapter_bits) + 1 : 0;
  sizes.windowed = {bits(words[5], 0, window_key_bits),  words[5] >> window_key_bits,
                    bits(words[6], 0, window_pair_bits), bits(words[7], 0, block_key_bits),
                    words[6] >> window_pair_bits,        words[7] >> block_key_bits};
  sizes.chunks = bits(words[8], 0, chunk_bits);
  sizes.chunk_pairs = words[8] >> chunk_bits;
  return sizes;
}

}  // namespace tessera::serving
