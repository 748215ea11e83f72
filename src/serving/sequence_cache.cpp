#include "sequence_cache.hpp"

#include <algorithm>

namespace tessera::serving {

SequenceCache::SequenceCache(const BatchOptions& options, const RequestSource* requests)
    : block_(options.block),
      step_tokens_(options.chunk > 0 ? options.chunk : options.tokens),
      cache_(options.block, options.blocks),
      requests_(requests != nullptr && requests->piece_tokens() > 0 ? requests : nullptr) {
  if (options.tier) {
    tier_.emplace(*options.tier);
  }
}

void SequenceCache::count(BatchCounts& counts) const {
  counts.blocks_taken = cache_.taken();
  counts.blocks_of_prefixes = cache_.of_prefixes();
  counts.blocks_beyond = cache_.beyond();
  counts.swapped_out = swapped_out_;
  counts.swapped_in = swapped_in_;
  if (tier_) {
    counts.tier_taken = tier_->taken();
    counts.tier_of_prefixes = tier_->of_prefixes();
    counts.tier_beyond = tier_->beyond();
  }
}

// Beginnings that are given up for it go to the tier.
bool SequenceCache::take(std::uint64_t blocks) {
  const bool is_there = cache_.take(blocks, tier_ ? &given_up_ : nullptr);
  for (const auto& [prefix, of_prefix] : given_up_) {
    out_ += tier_->store_prefix(prefix, of_prefix);
  }
  given_up_.clear();
  return is_there;
}

bool SequenceCache::take_room(Sequence& sequence, std::uint32_t queries) {
  const std::uint64_t needed = cache_.blocks_of(sequence.cached + queries);
  const std::uint64_t held = sequence.blocks + sequence.shared;
  if (needed <= held) {
    return true;
  }
  if (!take(needed - held)) {
    return false;
  }
  sequence.blocks += needed - held;
  return true;
}

void SequenceCache::release(Sequence& sequence) {
  cache_.give_back(sequence.blocks);
  if (sequence.uses != 0) {
    cache_.let_go(sequence.uses);
  }
  // The last ones first, so that they are given up before those that they need.
  for (std::uint32_t piece = sequence.pieces; piece > 0; --piece) {
    cache_.let_go(requests_->pieces(sequence.request)[piece - 1]);
  }
  sequence.blocks = 0;
  sequence.shared = 0;
  sequence.uses = 0;
  sequence.pieces = 0;
  sequence.keeps_pieces = true;
}

bool SequenceCache::use_beginning(Sequence& sequence) {
  return !shares(sequence) || (use_prefix(sequence) && use_pieces(sequence));
}

void SequenceCache::keep_beginning(Sequence& sequence) {
  if (shares(sequence)) {
    keep_prefix(sequence);
    keep_pieces(sequence);
  }
}

std::optional<std::uint32_t> SequenceCache::use(std::uint32_t prefix, std::uint32_t tokens,
                                                const Sequence& sequence) {
  const std::uint32_t there = cache_.use_prefix(prefix, tokens);
  const bool is_far = there == 0 && prefix != 0 && tier_ && !cache_.has_prefix(prefix);
  const std::uint64_t blocks = is_far ? tier_->blocks_of(prefix) : 0;
  if (blocks == 0 || blocks * block_ > tokens) {
    return there;
  }
  const auto fetched = static_cast<std::uint32_t>(blocks * block_);
  const std::uint32_t step = std::min(sequence.goal - sequence.cached - fetched, step_tokens_);
  if (!cache_.has_room(blocks + cache_.blocks_of(step))) {
    return std::nullopt;
  }
  tier_->use_prefix(prefix);
  take(blocks);
  cache_.keep_prefix(prefix, fetched);
  in_ += blocks;
  return fetched;
}

// The last token of a prompt is computed in any case.
bool SequenceCache::use_prefix(Sequence& sequence) {
  const std::uint32_t most = std::min(sequence.what.prefix_tokens, sequence.goal - 1);
  const std::optional<std::uint32_t> there = use(sequence.what.prefix, most, sequence);
  if (there.value_or(0) > 0) {
    sequence.uses = sequence.what.prefix;
    sequence.cached = *there;
    sequence.shared = *there / block_;
  }
  return there.has_value();
}

void SequenceCache::keep_prefix(Sequence& sequence) {
  const Request& what = sequence.what;
  if (what.prefix == 0 || sequence.uses != 0 || sequence.cached < what.prefix_tokens) {
    return;
  }
  const std::uint64_t blocks = cache_.keep_prefix(what.prefix, what.prefix_tokens);
  if (blocks > 0) {
    sequence.uses = what.prefix;
    sequence.shared = blocks;
    sequence.blocks -= blocks;
  }
}

std::span<const std::uint32_t> SequenceCache::pieces_of(const Sequence& sequence,
                                                        std::uint32_t tokens) const {
  const auto all = requests_->pieces(sequence.request);
  return all.first(std::min<std::size_t>(all.size(), tokens / requests_->piece_tokens()));
}

bool SequenceCache::use_pieces(Sequence& sequence) {
  if (requests_ == nullptr) {
    return true;
  }
  for (const std::uint32_t piece : pieces_of(sequence, sequence.what.prompt - 1)) {
    const std::optional<std::uint32_t> there = use(piece, requests_->piece_tokens(), sequence);
    if (!there) {
      return false;
    }
    if (*there == 0) {
      break;
    }
    ++sequence.pieces;
    sequence.cached = sequence.pieces * requests_->piece_tokens();
    sequence.shared = sequence.cached / block_;
  }
  return true;
}

void SequenceCache::keep_pieces(Sequence& sequence) {
  if (requests_ == nullptr || !sequence.keeps_pieces) {
    return;
  }
  const auto pieces = pieces_of(sequence, std::min(sequence.cached, sequence.what.prompt));
  while (sequence.pieces < pieces.size()) {
    const std::uint64_t blocks =
        cache_.keep_prefix(pieces[sequence.pieces], requests_->piece_tokens());
    if (blocks == 0) {
      sequence.keeps_pieces = false;  // another one has computed it meanwhile
      return;
    }
    ++sequence.pieces;
    sequence.shared += blocks;
    sequence.blocks -= blocks;
  }
}

bool SequenceCache::store(Sequence& sequence) {
  const std::uint64_t blocks = cache_.blocks_of(sequence.cached);
  if (!tier_ || !tier_->swaps() || blocks == 0 || !tier_->store(blocks)) {
    return false;
  }
  sequence.stored = blocks;
  swapped_out_ += blocks;
  out_ += blocks;
  return true;
}

void SequenceCache::fetch(Sequence& sequence) {
  tier_->give_back(sequence.stored);
  swapped_in_ += sequence.stored;
  in_ += sequence.stored;
  sequence.stored = 0;
}

void SequenceCache::tell_moves(Batch& batch) {
  batch.blocks_out = out_;
  batch.blocks_in = in_;
  out_ = in_ = 0;
}

void SequenceCache::save(pdes::StateWriter& writer) const {
  cache_.save(writer);
  if (tier_) {
    tier_->save(writer);
  }
  for (const std::uint64_t count : {swapped_out_, swapped_in_, out_, in_}) {
    writer.put(count);
  }
}

void SequenceCache::restore(pdes::StateReader& reader) {
  cache_.restore(reader);
  if (tier_) {
    tier_->restore(reader);
  }
  for (std::uint64_t* const count : {&swapped_out_, &swapped_in_, &out_, &in_}) {
    *count = reader.get<std::uint64_t>();
  }
}

}  // namespace tessera::serving
