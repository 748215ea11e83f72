// What a sequence keeps in the cache where the layers of its model are of several kinds, in blocks
// of one pool. As in vLLM's hybrid cache manager (W. Kwon et al., v1/core/kv_cache_manager.py and
// single_type_kv_cache_manager.py) each kind of layers has blocks of its own:
//   full      of layers that attend to all tokens: for every `block` tokens, until the end
//   windowed  of layers with a window: the same, but those that no query can see any more are freed
//   states    of state-space layers: as many for a sequence, however long it is
// Where all layers attend to all tokens a block is that of all of them together; else it is that of
// one layer that attends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tessera::serving {

struct CacheLayout {
  std::uint64_t full = 1;      // for each `block` tokens
  std::uint64_t windowed = 0;  // for each `block` tokens that a window reaches
  std::uint32_t window = 0;    // tokens, the newest among them; 0: there are no such layers
  std::uint64_t states = 0;    // for each sequence

  bool is_plain() const { return windowed == 0 && states == 0; }

  // The first token that a query behind `cached` tokens sees in layers with a window.
  std::uint64_t first_seen(std::uint64_t cached) const {
    return window == 0 ? 0 : cached - std::min<std::uint64_t>(cached, window - 1);
  }
  // Of layers with a window, blocks that whoever goes on behind `tokens`, a multiple of `block`,
  // needs of them, for each of `windowed`.
  std::uint64_t last_blocks(std::uint64_t tokens, std::uint32_t block) const {
    return windowed == 0 ? 0 : tokens / block - first_seen(tokens) / block;
  }
  // That a sequence of so many tokens may hold at a time, of which at most `queries` go in
  // together. `piece`: of beginnings that it shares, RequestSource::piece_tokens; none: it shares
  // nothing.
  std::uint64_t most_of(std::uint64_t tokens, std::uint64_t queries, std::uint32_t block,
                        std::optional<std::uint32_t> piece) const {
    const std::uint64_t all = (tokens + block - 1) / block;
    const std::uint64_t seen = (queries + window + 2 * std::uint64_t{block} - 3) / block;
    if (!piece) {
      return full * all + windowed * std::min(all, seen) + states;
    }
    const std::uint64_t shared = (window + std::uint64_t{*piece}) / block + 1;
    // Of states one is a copy for others.
    return full * all + windowed * std::min(2 * all, seen + shared) + 2 * states;
  }
};

}  // namespace tessera::serving
