#include "tessera/serving/step_sizes.hpp"

#include "tessera/core/error.hpp"
#include "tessera/serving/language_model.hpp"

namespace tessera::serving {
namespace {

constexpr unsigned token_bits = 20;
constexpr unsigned sequence_bits = 11;
constexpr unsigned sum_bits = 32;   // of keys
constexpr unsigned pair_bits = 52;  // of twice_pairs
static_assert(token_bits + 2 * sequence_bits == OperatorName::shape_bits);
static_assert(most_tokens == 1U << token_bits && most_sequences < 1U << sequence_bits);
static_assert(std::uint64_t{most_sequences} * most_keys < std::uint64_t{1} << sum_bits);
static_assert(2 * std::uint64_t{most_tokens} * most_keys < std::uint64_t{1} << pair_bits);

constexpr std::uint64_t bits(std::uint64_t word, unsigned from, unsigned count) {
  return word >> from & ((std::uint64_t{1} << count) - 1);
}

}  // namespace

std::array<std::uint64_t, 3> StepSizes::words() const {
  ensure(tokens > 0 && tokens <= most_tokens, "a step has tokens, and not too many");
  return {(tokens - 1) | emitting << token_bits | generating << (token_bits + sequence_bits),
          generating_keys | prompt_keys << sum_bits, twice_pairs | prompts << pair_bits};
}

StepSizes StepSizes::from(const std::array<std::uint64_t, 3>& words) {
  StepSizes sizes;
  sizes.tokens = bits(words[0], 0, token_bits) + 1;
  sizes.emitting = bits(words[0], token_bits, sequence_bits);
  sizes.generating = bits(words[0], token_bits + sequence_bits, sequence_bits);
  sizes.generating_keys = bits(words[1], 0, sum_bits);
  sizes.prompt_keys = words[1] >> sum_bits;
  sizes.twice_pairs = bits(words[2], 0, pair_bits);
  sizes.prompts = words[2] >> pair_bits;
  return sizes;
}

}  // namespace tessera::serving
