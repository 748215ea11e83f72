// What the operators of a step depend on where all its sequences go through each of them together,
// as one kernel of a GPU does: sums over the batch.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace tessera::serving {

// Where layers see the tokens of a window alone: what they look at of the same sequences, as of
// StepSizes.
struct WindowSizes {
  std::uint64_t generating_keys = 0;
  std::uint64_t prompt_keys = 0;
  std::uint64_t twice_pairs = 0;
  std::uint64_t block_keys = 0;
  std::uint64_t longest_blocks = 0;
  std::uint64_t longest_keys = 0;
  friend auto operator<=>(const WindowSizes&, const WindowSizes&) = default;
};

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
  WindowSizes windowed{};  // of models whose layers have windows
  // Of prompts, in models with state-space layers: chunks that these go through, and the squares of
  // their tokens.
  std::uint64_t chunks = 0;
  std::uint64_t chunk_pairs = 0;
  // Of all units, where experts are spread over several and `tokens` are of one; 0: else.
  std::uint64_t spread_tokens = 0;

  // As layers with a window see them.
  StepSizes in_window() const;

  std::uint64_t sequences() const { return generating + prompts; }
  std::uint64_t keys() const { return generating_keys + prompt_keys; }
  std::uint64_t all_twice_pairs() const { return 2 * generating_keys + twice_pairs; }

  // As messages carry them; the first has OperatorName::shape_bits, the last `more` ones
  // `more_bits`. Steps are of at least one token.
  static constexpr std::size_t more = 4;
  static constexpr unsigned more_bits = 62;
  // Bits of those that models with windows and with state-space layers need of `more`.
  static constexpr unsigned more_of_windows = 0b0111;
  static constexpr unsigned more_of_states = 0b1000;
  using Words = std::array<std::uint64_t, 5 + more>;
  Words words() const;
  static StepSizes from(const Words& words);

  friend auto operator<=>(const StepSizes&, const StepSizes&) = default;
};

}  // namespace tessera::serving
