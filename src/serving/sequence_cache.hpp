// What sequences hold in the cache and in the tier behind it: blocks of their own, and beginnings
// that prompts share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sequence.hpp"
#include "tessera/pdes/state.hpp"
#include "tessera/serving/batcher.hpp"
#include "tessera/serving/cache.hpp"
#include "tessera/serving/cache_tier.hpp"

namespace tessera::serving {

class SequenceCache {
 public:
  // `requests`: as of make_sequence_batcher.
  SequenceCache(const BatchOptions& options, const RequestSource* requests);

  std::uint64_t taken() const { return cache_.taken(); }
  std::uint64_t most_taken() const { return cache_.most_taken(); }
  // Tokens, as whole blocks.
  std::uint64_t in_whole_blocks(std::uint64_t tokens) const {
    return cache_.blocks_of(tokens) * block_;
  }
  // Adds what is known here.
  void count(BatchCounts& counts) const;

  // Of a prompt, tokens until a place behind which states of layers are to be kept; the largest
  // number if there is none.
  std::uint32_t until_checkpoint(const Sequence& sequence) const;

  // Room for so many more tokens of a sequence; gives back what no window reaches any more. False:
  // there is none.
  bool take_room(Sequence& sequence, std::uint32_t queries);
  // Gives back all that it holds in the cache.
  void release(Sequence& sequence);

  // Has a sequence that begins use what is there of its prompt, in the cache or the tier. False:
  // something is in the tier and has no room in the cache yet.
  bool use_beginning(Sequence& sequence);
  // It has computed more: what others may use of it stays.
  void keep_beginning(Sequence& sequence);

  // A sequence that was released: its blocks go to the tier. False: there is no room, or no tier.
  bool store(Sequence& sequence);
  // They come back, once there is room for them in the cache.
  void fetch(Sequence& sequence);
  // Tells what has gone out and come in since it was asked last.
  void tell_moves(Batch& batch);

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);

 private:
  bool take(std::uint64_t blocks);
  // Its users have one more, on units of their own. False: there is no room for a copy.
  bool copy(PrefixKey prefix);
  // Of its own, with so many more tokens.
  std::uint64_t own_blocks(const Sequence& sequence, std::uint64_t queries) const;
  // Tokens up to which layers with a window have what it sees in a beginning that it shares.
  std::uint64_t seen_end(const Sequence& sequence) const {
    return !sequence.uses.is_none() ? sequence.shared
                                    : sequence.pieces * std::uint64_t{piece_tokens()};
  }
  void let_go_of_unseen(Sequence& sequence);
  std::uint32_t piece_tokens() const {
    return requests_ == nullptr ? 0 : requests_->piece_tokens();
  }
  // Tokens that it may use of a beginning, or a piece, of at most `tokens` behind what it has;
  // none: they are in the tier, and the cache has no room for them yet.
  std::optional<std::uint32_t> use(PrefixKey prefix, std::uint32_t tokens,
                                   const Sequence& sequence);
  std::optional<std::uint32_t> use_whole(PrefixKey prefix, std::uint32_t tokens,
                                         const Sequence& sequence);
  // Of its own that it begins with behind so many tokens more, of a beginning in the cache.
  std::uint64_t blocks_behind(PrefixKey prefix, std::uint32_t tokens,
                              const Sequence& sequence) const;
  // Of so many tokens that are in the cache, those that are not computed again.
  std::uint32_t usable(const Sequence& sequence, std::uint32_t tokens) const;
  bool use_prefix(Sequence& sequence);
  bool use_pieces(Sequence& sequence);
  bool use_kinds_of_pieces(Sequence& sequence);
  void give_back_last_block(Sequence& sequence);
  void keep_prefix(Sequence& sequence);
  void keep_pieces(Sequence& sequence);
  void keep_kinds_of_piece(Sequence& sequence, PrefixKey piece);
  void keep_state(Sequence& sequence, std::span<const std::uint32_t> pieces);
  // Pieces before the end of a beginning that layers with a window need.
  std::uint32_t seen_pieces() const;
  // Pieces of a prompt that are whole and within so many tokens.
  std::span<const std::uint32_t> pieces_of(const Sequence& sequence, std::uint32_t tokens) const;
  // By what a beginning of its prompt, or a piece, of that number is known.
  static PrefixKey key_of(const Sequence& sequence, std::uint32_t number) {
    return PrefixKey(number, sequence.what.adapter);
  }

  std::uint32_t block_;
  CacheLayout layout_;
  std::uint32_t step_tokens_;  // that a sequence begins with at most
  Cache cache_;
  std::optional<CacheTier> tier_;
  const RequestSource* requests_;  // null: nothing is known of pieces
  Cache::GivenUp given_up_;
  std::uint64_t swapped_out_ = 0;
  std::uint64_t swapped_in_ = 0;
  std::uint64_t out_ = 0;  // blocks, since they were told
  std::uint64_t in_ = 0;
};

}  // namespace tessera::serving
