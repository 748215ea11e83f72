#include "sequence_cache.hpp"

#include <algorithm>
#include <limits>

#include "tessera/core/quotient.hpp"
#include "tessera/serving/language_model.hpp"
#include "tessera/serving/request_class.hpp"

namespace tessera::serving {
namespace {

static_assert(most_adapters < 1U << PrefixKey::adapter_bits);

// What else than the full blocks of a piece is kept.
PrefixKey windowed_of(PrefixKey piece) {
  return piece.of_kind(PrefixKey::Kind::windowed);
}
PrefixKey state_of(PrefixKey piece) {
  return piece.of_kind(PrefixKey::Kind::state);
}

}  // namespace

SequenceCache::SequenceCache(const BatchOptions& options, const RequestSource* requests)
    : block_(options.block),
      layout_(options.layout),
      step_tokens_(options.chunk > 0 ? options.chunk : options.tokens),
      cache_(options.block, options.blocks, options.units),
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
  for (const Cache::Left& left : given_up_) {
    out_ += tier_->store_prefix(left.prefix, left.blocks, left.tokens);
  }
  given_up_.clear();
  return is_there;
}

bool SequenceCache::copy(PrefixKey prefix) {
  const std::uint64_t blocks = cache_.lacking_copy(prefix);
  if (blocks == 0) {
    return true;
  }
  if (!take(blocks)) {
    return false;
  }
  cache_.add_copy(prefix);
  return true;
}

std::uint64_t SequenceCache::own_blocks(const Sequence& sequence, std::uint64_t queries) const {
  const std::uint64_t end = cache_.blocks_of(sequence.cached + queries);
  std::uint64_t own = layout_.full * (end - sequence.shared / block_) + layout_.states;
  if (layout_.windowed > 0) {
    const std::uint64_t begin =
        std::max(layout_.first_seen(sequence.cached), seen_end(sequence)) / block_;
    own += layout_.windowed * (end - std::min(begin, end));
  }
  return own;
}

bool SequenceCache::take_room(Sequence& sequence, std::uint32_t queries) {
  let_go_of_unseen(sequence);
  const std::uint64_t needed = own_blocks(sequence, queries);
  if (needed <= sequence.blocks) {
    if (layout_.windowed > 0) {
      cache_.give_back(sequence.blocks - needed);
      sequence.blocks = needed;
    }
    return true;
  }
  if (!take(needed - sequence.blocks)) {
    return false;
  }
  sequence.blocks = needed;
  return true;
}

void SequenceCache::let_go_of_unseen(Sequence& sequence) {
  const std::uint64_t seen = layout_.first_seen(sequence.cached);
  while (layout_.windowed > 0 && sequence.sees_from < sequence.pieces &&
         (sequence.sees_from + std::uint64_t{1}) * piece_tokens() <= seen) {
    const std::uint32_t piece = requests_->pieces(sequence.request)[sequence.sees_from++];
    cache_.let_go(windowed_of(key_of(sequence, piece)));
  }
}

std::uint32_t SequenceCache::until_checkpoint(const Sequence& sequence) const {
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  if (layout_.states == 0 || sequence.generated > 0) {
    return none;
  }
  const Request& what = sequence.what;
  std::uint32_t at = 0;
  if (what.prefix != 0) {
    const bool is_there =
        !sequence.uses.is_none() || cache_.has_prefix(key_of(sequence, what.prefix));
    at = is_there ? 0 : what.prefix_tokens / block_ * block_;
  } else if (requests_ != nullptr && sequence.keeps_pieces) {
    const auto pieces = pieces_of(sequence, what.prompt - 1);
    const bool is_there =
        pieces.empty() || cache_.has_prefix(state_of(key_of(sequence, pieces.back())));
    at = is_there ? 0 : static_cast<std::uint32_t>(pieces.size()) * piece_tokens();
  }
  return at > sequence.cached ? at - sequence.cached : none;
}

void SequenceCache::release(Sequence& sequence) {
  cache_.give_back(sequence.blocks);
  if (!sequence.uses.is_none()) {
    cache_.let_go(sequence.uses);
  }
  // The last ones first, so that they are given up before those that they need.
  const auto pieces =
      sequence.pieces > 0 ? requests_->pieces(sequence.request) : std::span<const std::uint32_t>();
  for (std::uint32_t piece = sequence.pieces; piece > 0; --piece) {
    const PrefixKey key = key_of(sequence, pieces[piece - 1]);
    cache_.let_go(key);
    if (layout_.windowed > 0 && piece > sequence.sees_from) {
      cache_.let_go(windowed_of(key));
    }
  }
  sequence.blocks = 0;
  sequence.shared = 0;
  sequence.uses = {};
  sequence.pieces = 0;
  sequence.sees_from = 0;
  sequence.keeps_pieces = true;
}

bool SequenceCache::use_beginning(Sequence& sequence) {
  return use_prefix(sequence) && use_pieces(sequence);
}

void SequenceCache::keep_beginning(Sequence& sequence) {
  give_back_last_block(sequence);
  keep_prefix(sequence);
  keep_pieces(sequence);
}

std::uint64_t SequenceCache::blocks_behind(PrefixKey prefix, std::uint32_t tokens,
                                           const Sequence& sequence) const {
  Sequence next = sequence;
  next.cached = usable(sequence, sequence.cached + tokens);
  next.shared = next.cached;
  next.uses = prefix;
  return own_blocks(next, std::min(next.goal - next.cached, step_tokens_));
}

// The block with the last token of a beginning that was there: it has computed that for itself.
void SequenceCache::give_back_last_block(Sequence& sequence) {
  const std::uint64_t there = !sequence.uses.is_none()
                                  ? cache_.tokens_of(sequence.uses)
                                  : sequence.pieces * std::uint64_t{piece_tokens()};
  if (there > sequence.shared && sequence.cached >= there) {
    const std::uint64_t blocks = layout_.full * ((there - sequence.shared) / block_);
    cache_.give_back(blocks);
    sequence.blocks -= blocks;
    sequence.shared = there;
  }
}

// Who computes the last block again needs room for it beside, or computes all.
std::optional<std::uint32_t> SequenceCache::use(PrefixKey prefix, std::uint32_t tokens,
                                                const Sequence& sequence) {
  const std::optional<std::uint32_t> there = use_whole(prefix, tokens, sequence);
  if (sequence.cached + tokens / block_ * block_ < sequence.goal) {
    return there;
  }
  if (there.value_or(0) > 0 && !cache_.has_room(blocks_behind(prefix, *there, sequence))) {
    cache_.let_go(prefix);
    return 0;
  }
  return there.value_or(0);
}

std::optional<std::uint32_t> SequenceCache::use_whole(PrefixKey prefix, std::uint32_t tokens,
                                                      const Sequence& sequence) {
  const std::uint32_t there = cache_.use_prefix(prefix, tokens);
  if (there > 0 && !copy(prefix)) {  // it is computed again
    cache_.let_go(prefix);
    return 0;
  }
  const bool is_far = there == 0 && !prefix.is_none() && tier_ && !cache_.has_prefix(prefix);
  const std::uint64_t blocks = is_far ? tier_->blocks_of(prefix) : 0;
  if (blocks == 0 || tier_->tokens_of(prefix) > tokens) {
    return there;
  }
  const std::uint32_t fetched = tier_->tokens_of(prefix);
  if (!cache_.has_room(blocks + blocks_behind(prefix, fetched, sequence))) {
    return std::nullopt;
  }
  tier_->use_prefix(prefix);
  take(blocks);
  cache_.keep_prefix(prefix, fetched, blocks);
  in_ += blocks;
  return fetched;
}

// The last token of a prompt is computed in any case, into a block of the sequence's own.
std::uint32_t SequenceCache::usable(const Sequence& sequence, std::uint32_t tokens) const {
  return std::min(tokens, (sequence.goal - 1) / block_ * block_);
}

// Of layers with windows or states nothing before the end of a beginning can be used.
bool SequenceCache::use_prefix(Sequence& sequence) {
  const std::uint32_t tokens = sequence.what.prefix_tokens;
  const std::uint32_t most = layout_.is_plain() ? tokens : std::min(tokens, sequence.goal - 1);
  const PrefixKey prefix = key_of(sequence, sequence.what.prefix);
  const std::optional<std::uint32_t> there = use(prefix, most, sequence);
  if (there.value_or(0) > 0) {
    sequence.uses = prefix;
    sequence.cached = usable(sequence, *there);
    sequence.shared = sequence.cached;
  }
  return there.has_value();
}

// Layers with a window have its last blocks as long as the step that went beyond it has just ended,
// and state-space layers have its state where a step ended at it; what is kept is a copy.
void SequenceCache::keep_prefix(Sequence& sequence) {
  const Request& what = sequence.what;
  const PrefixKey prefix = key_of(sequence, what.prefix);
  const std::uint32_t whole = what.prefix_tokens / block_ * block_;
  const std::uint32_t computed = layout_.states > 0 ? whole : what.prefix_tokens;
  if (prefix.is_none() || !sequence.uses.is_none() || sequence.cached < computed ||
      cache_.has_prefix(prefix)) {
    return;
  }
  const bool is_there = layout_.is_plain() ||
                        (sequence.generated == 0 && sequence.cached - sequence.queries <= whole);
  const bool has_state = layout_.states == 0 || sequence.cached == whole;
  if (whole == 0 || !is_there || !has_state || !take(layout_.states)) {
    return;
  }
  const std::uint64_t own =
      layout_.full * (whole / block_) + layout_.windowed * layout_.last_blocks(whole, block_);
  cache_.keep_prefix(prefix, whole, own + layout_.states);
  sequence.uses = prefix;
  sequence.shared = whole;
  sequence.blocks -= own;
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
  if (!layout_.is_plain()) {
    return use_kinds_of_pieces(sequence);
  }
  for (const std::uint32_t piece : pieces_of(sequence, sequence.what.prompt)) {
    const std::optional<std::uint32_t> there =
        use(key_of(sequence, piece), requests_->piece_tokens(), sequence);
    if (!there) {
      return false;
    }
    if (*there == 0) {
      break;
    }
    ++sequence.pieces;
    sequence.cached = usable(sequence, sequence.pieces * requests_->piece_tokens());
    sequence.shared = sequence.cached;
  }
  return true;
}

std::uint32_t SequenceCache::seen_pieces() const {
  return static_cast<std::uint32_t>(
      layout_.windowed == 0 ? 0 : quotient_up(layout_.window - 1, piece_tokens()));
}

// As far as all full blocks are there, those that windows reach from the end, and the state there.
// These are kept of ends of pieces alone, so that the last piece is computed with the last token.
bool SequenceCache::use_kinds_of_pieces(Sequence& sequence) {
  const auto pieces = pieces_of(sequence, sequence.what.prompt - 1);
  const auto key = [&](std::uint32_t piece) { return key_of(sequence, pieces[piece]); };
  std::uint32_t best = 0;
  std::uint32_t seen = 0;  // in a row
  for (std::uint32_t piece = 0; piece < pieces.size(); ++piece) {
    if (!cache_.has_prefix(key(piece))) {
      break;
    }
    seen = layout_.windowed > 0 && cache_.has_prefix(windowed_of(key(piece))) ? seen + 1 : 0;
    const bool has_state = layout_.states == 0 || cache_.has_prefix(state_of(key(piece)));
    if (has_state && seen >= std::min(piece + 1, seen_pieces())) {
      best = piece + 1;
    }
  }
  sequence.pieces = best;
  sequence.sees_from = layout_.windowed > 0 ? best - std::min(best, seen_pieces()) : 0;
  for (std::uint32_t piece = 0; piece < best; ++piece) {
    cache_.use_prefix(key(piece), piece_tokens());
    if (layout_.windowed > 0 && piece >= sequence.sees_from) {
      cache_.use_prefix(windowed_of(key(piece)), piece_tokens());
    }
  }
  for (std::uint32_t piece = 0; piece < best; ++piece) {  // now that none of them is given up
    copy(key(piece));
    if (layout_.windowed > 0 && piece >= sequence.sees_from) {
      copy(windowed_of(key(piece)));
    }
  }
  if (best > 0 && layout_.states > 0) {  // it is copied
    cache_.use_prefix(state_of(key(best - 1)), piece_tokens());
    cache_.let_go(state_of(key(best - 1)));
  }
  if (best > 0) {
    sequence.cached = best * piece_tokens();
    sequence.shared = sequence.cached;
  }
  return true;
}

void SequenceCache::keep_pieces(Sequence& sequence) {
  const bool is_computed = layout_.is_plain() || sequence.generated == 0;
  if (requests_ == nullptr || !sequence.keeps_pieces || !is_computed) {
    return;
  }
  const auto pieces = pieces_of(sequence, std::min(sequence.cached, sequence.what.prompt));
  while (sequence.pieces < pieces.size()) {
    const PrefixKey piece = key_of(sequence, pieces[sequence.pieces]);
    const std::uint64_t blocks = layout_.full * (piece_tokens() / block_);
    // Windows have left what a sequence that came back computed before.
    const bool is_behind = !layout_.is_plain() && (sequence.pieces + 1) * piece_tokens() <
                                                      sequence.cached - sequence.queries;
    if (cache_.has_prefix(piece) || is_behind) {
      sequence.keeps_pieces = false;  // another one has computed it meanwhile, or it is gone
      return;
    }
    cache_.keep_prefix(piece, piece_tokens(), blocks);
    sequence.blocks -= blocks;
    keep_kinds_of_piece(sequence, piece);
    ++sequence.pieces;
    sequence.shared += piece_tokens();
  }
  keep_state(sequence, pieces);
}

// Of layers with a window, those of its blocks that whoever goes on behind it needs.
void SequenceCache::keep_kinds_of_piece(Sequence& sequence, PrefixKey piece) {
  if (layout_.windowed == 0) {
    return;
  }
  if (cache_.has_prefix(windowed_of(piece))) {
    cache_.use_prefix(windowed_of(piece), piece_tokens());  // and its own go before the next step
    return;
  }
  const std::uint64_t last =
      std::min<std::uint64_t>(piece_tokens() / block_, quotient_up(layout_.window - 1, block_));
  cache_.keep_prefix(windowed_of(piece), piece_tokens(), layout_.windowed * last);
  sequence.blocks -= layout_.windowed * last;
}

// A copy, if there is room, behind the last piece of a prompt.
void SequenceCache::keep_state(Sequence& sequence, std::span<const std::uint32_t> pieces) {
  const bool is_last = layout_.states > 0 && !pieces.empty() &&
                       sequence.cached == pieces.size() * piece_tokens() &&
                       pieces.size() == pieces_of(sequence, sequence.what.prompt - 1).size();
  if (!is_last) {
    return;
  }
  const PrefixKey state = state_of(key_of(sequence, pieces.back()));
  if (!cache_.has_prefix(state) && take(layout_.states)) {
    cache_.keep_prefix(state, piece_tokens(), layout_.states);
    cache_.let_go(state);
  }
}

bool SequenceCache::store(Sequence& sequence) {
  const std::uint64_t blocks = own_blocks(sequence, 0);
  if (!tier_ || !tier_->swaps() || sequence.cached == 0 || blocks == 0 || !tier_->store(blocks)) {
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

std::uint64_t most_blocks_of(const BatchOptions& options, std::uint64_t tokens,
                             std::optional<std::uint32_t> piece) {
  const std::uint64_t of_step = options.chunk > 0 ? options.chunk : options.tokens;
  return options.layout.most_of(tokens, std::min({tokens, of_step, std::uint64_t{most_queries}}),
                                options.block, piece);
}

}  // namespace tessera::serving
