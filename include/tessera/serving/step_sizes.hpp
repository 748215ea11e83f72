// What the operators of a step depend on where all its sequences go through each of them together,
// as one kernel of a GPU does: sums over the batch.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

namespace tessera::serving {

struct StepSizes {
  std::uint64_t tokens = 0;           // of all sequences; samples, of other models
  std::uint64_t emitting = 0;         // sequences that give a token
  std::uint64_t generating = 0;       // sequences that take one token in
  std::uint64_t generating_keys = 0;  // tokens that these look at, whole blocks of the cache
  std::uint64_t prompts = 0;          // other sequences
  std::uint64_t prompt_keys = 0;
  // Of prompts: tokens times those that each looks at, twice, since a mask leaves out halves.
  std::uint64_t twice_pairs = 0;
  // Of prompts, in blocks of workload::AttentionSizes::block_rows queries, each for itself.
  std::uint64_t blocks = 0;
  std::uint64_t block_keys = 0;      // tokens that queries of a block look at in the mean, added up
  std::uint64_t longest_blocks = 0;  // of the prompt that looks at most
  std::uint64_t longest_keys = 0;    // that each of these looks at
  std::uint64_t most_blocks = 0;     // of the prompt with most tokens
  // Of sequences with adapters (E. Hu et al., "LoRA"): different ones, and their tokens.
  std::uint64_t adapters = 0;
  std::uint64_t adapted = 0;

  std::uint64_t sequences() const { return generating + prompts; }
  std::uint64_t keys() const { return generating_keys + prompt_keys; }
  std::uint64_t all_twice_pairs() const { return 2 * generating_keys + twice_pairs; }

  // As messages carry them; the first has OperatorName::shape_bits. Steps are of at least one
  // token.
  std::array<std::uint64_t, 5> words() const;
  static StepSizes from(const std::array<std::uint64_t, 5>& words);

  friend auto operator<=>(const StepSizes&, const StepSizes&) = default;
};

}  // namespace tessera::serving
