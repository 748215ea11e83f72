#include <algorithm>
#include <deque>
#include <map>
#include <span>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/serving/batcher.hpp"
#include "tessera/serving/cache.hpp"
#include "tessera/serving/language_model.hpp"

namespace tessera::serving {
namespace {

constexpr std::uint32_t no_step = 0xFFFFFFFF;

struct Sequence {
  std::uint64_t request = 0;
  Request what;
  std::uint32_t goal = 0;       // tokens that go in before the next one comes out
  std::uint32_t cached = 0;     // tokens in the cache
  std::uint32_t generated = 0;  // tokens given
  std::uint32_t again = 0;
  std::uint32_t step = no_step;  // that it is in
  std::uint32_t queries = 0;     // in that step
  std::uint32_t uses = 0;        // prefix in the cache that it uses; 0: none
  std::uint64_t blocks = 0;      // its own
  std::uint64_t shared = 0;      // blocks of the prefix or the pieces that it uses
  std::uint32_t pieces = 0;      // of its prompt that are in the cache and it uses
  std::uint32_t credit = 0;      // millionths of a token, that drafts have gained and not given
  bool keeps_pieces = true;      // as it computes them; no more, once another one was faster
  SimTime begun = SimTime::never();
  SimTime first;
  SimTime last;  // token

  bool generates() const { return cached + 1 == goal && generated > 0; }
};

constexpr std::uint64_t millionths = 1'000'000;

// Tokens that a step gives with so many drafts [millionths], by their number.
std::vector<std::uint64_t> gains_of(const BatchOptions& options) {
  std::vector<std::uint64_t> gains;
  double sum = 0;
  double power = 1;
  for (std::uint32_t drafts = 0; drafts <= options.drafts; ++drafts) {
    sum += power;
    power *= options.acceptance;
    gains.push_back(static_cast<std::uint64_t>(sum * millionths));
  }
  return gains;
}

class SequenceBatcher final : public Batcher {
 public:
  SequenceBatcher(const BatchOptions& options, const RequestSource* requests)
      : options_(options),
        gains_(gains_of(options)),
        cache_(options.block, options.blocks),
        requests_(requests != nullptr && requests->piece_tokens() > 0 ? requests : nullptr) {}

  void arrive(std::uint64_t number, const Request& request) override {
    Sequence sequence;
    sequence.request = number;
    sequence.what = request;
    sequence.goal = request.prompt;
    waiting_.push_back(sequence);
  }

  void take_over(const Carried& carried) override {
    Sequence sequence;
    sequence.request = carried.request;
    sequence.what = carried.what;
    sequence.again = carried.again;
    sequence.begun = carried.begun;
    sequence.first = sequence.last = carried.first;
    sequence.cached = carried.what.prompt;
    sequence.generated = 1;
    sequence.goal = carried.what.prompt + 1;
    waiting_.push_back(sequence);
  }

  std::optional<Batch> next(std::uint32_t number, SimTime now) override {
    step_ = number;
    tokens_ = 0;
    picked_ = 0;
    carried_ = 0;
    if (!options_.continuous && running_.empty()) {
      filling_ = true;
    }
    if (options_.chunk > 0) {
      pick_generating(options_.chunk);
      pick_prompts(options_.chunk);
      admit(options_.chunk);
    } else {
      pick_prompts(options_.tokens);
      admit(options_.tokens);
      if (picked_ == carried_) {
        pick_generating(options_.tokens);
      }
    }
    if (picked_ == 0) {
      return std::nullopt;
    }
    return batch_of(number, now);
  }

  void end(std::uint32_t number, SimTime now, BatchListener& listener) override {
    for (Sequence& sequence : running_) {
      if (sequence.step == number) {
        sequence.step = no_step;
        if (drafts_in(sequence) > 0) {
          end_drafts(sequence, now, listener);
          continue;
        }
        sequence.cached += sequence.queries;
        keep_prefix(sequence);
        keep_pieces(sequence);
        if (sequence.cached == sequence.goal) {
          give_token(sequence, now, listener);
        }
      }
    }
    std::erase_if(running_, [](const Sequence& sequence) {
      return sequence.generated == sequence.what.generate;
    });
  }

  Waiting waiting(std::uint32_t number) const override {
    Waiting waiting;
    for (const Sequence& sequence : running_) {
      if (sequence.step != number || sequence.cached + sequence.queries < sequence.goal) {
        continue;
      }
      const bool first = sequence.generated == 0;
      const SimTime since = first ? sequence.what.arrival : sequence.last;
      // Tokens that follow others are more urgent than first ones.
      if (std::pair(first, since) < std::pair(waiting.first, waiting.since)) {
        waiting = {since, first};
      }
    }
    return waiting;
  }

  std::uint64_t unfinished() const override { return waiting_.size() + running_.size(); }
  BatchLoad load() const override { return {running_.size(), waiting_.size(), cache_.taken()}; }
  bool is_last(std::uint32_t number) const override {
    return waiting_.empty() &&
           std::all_of(running_.begin(), running_.end(), [this, number](const Sequence& sequence) {
             return sequence.step == number &&
                    sequence.cached + sequence.queries >= sequence.goal &&
                    sequence.generated + given(sequence) == sequence.what.generate;
           });
  }
  std::uint64_t most_blocks() const override { return cache_.most_taken(); }
  BatchCounts counts() const override {
    BatchCounts counts = counts_;
    counts.blocks_taken = cache_.taken();
    counts.blocks_of_prefixes = cache_.of_prefixes();
    counts.blocks_beyond = cache_.beyond();
    return counts;
  }

  void save(pdes::StateWriter& writer) const override {
    writer.put_all(std::vector<Sequence>(waiting_.begin(), waiting_.end()));
    writer.put_all(running_);
    writer.put(filling_);
    writer.put(counts_);
    cache_.save(writer);
  }
  void restore(pdes::StateReader& reader) override {
    const auto waiting = reader.get_all<Sequence>();
    waiting_.assign(waiting.begin(), waiting.end());
    running_ = reader.get_all<Sequence>();
    filling_ = reader.get<bool>();
    counts_ = reader.get<BatchCounts>();
    cache_.restore(reader);
  }

 private:
  // Sequences that a step may take, so that all steps in flight get some.
  std::uint32_t most_picked() const {
    const auto all = static_cast<std::uint32_t>(running_.size());
    return std::max<std::uint32_t>(
        1, static_cast<std::uint32_t>(quotient_up(all, options_.in_flight)));
  }

  void pick(Sequence& sequence, std::uint32_t queries) {
    sequence.step = step_;
    sequence.queries = queries;
    tokens_ += queries;
    ++picked_;
  }

  // Room in the cache for so many more tokens of a sequence.
  bool take_room(Sequence& sequence, std::uint32_t queries) {
    const std::uint64_t needed = cache_.blocks_of(sequence.cached + queries);
    const std::uint64_t held = sequence.blocks + sequence.shared;
    if (needed <= held) {
      return true;
    }
    if (!cache_.take(needed - held)) {
      return false;
    }
    sequence.blocks += needed - held;
    return true;
  }

  void pick_generating(std::uint32_t budget) {
    const std::uint32_t most = most_picked();
    for (std::size_t i = 0; i < running_.size() && tokens_ < budget && picked_ < most; ++i) {
      if (running_[i].step != no_step || !running_[i].generates()) {
        continue;
      }
      const std::uint32_t queries =
          std::min({1 + options_.drafts, running_[i].what.generate - running_[i].generated,
                    budget - tokens_});
      while (!take_room(running_[i], queries)) {
        if (!drop_last(i)) {
          return;
        }
      }
      pick(running_[i], queries);
    }
  }

  // Gives up the sequence that came last and is in no step, behind `keep`; it is computed again.
  // False: there is none.
  bool drop_last(std::size_t keep) {
    for (std::size_t i = running_.size(); i-- > keep + 1;) {
      if (running_[i].step != no_step) {
        continue;
      }
      Sequence sequence = running_[i];
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      release(sequence);
      counts_.dropped += sequence.cached;
      sequence.cached = 0;
      ++sequence.again;
      waiting_.push_front(sequence);
      return true;
    }
    return false;
  }

  void release(Sequence& sequence) {
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

  // Prompts that have begun.
  void pick_prompts(std::uint32_t budget) {
    for (std::size_t i = 0; i < running_.size() && tokens_ < budget; ++i) {
      if (running_[i].step != no_step || running_[i].generates()) {
        continue;
      }
      while (!pick_prompt(running_[i], budget)) {
        if (!drop_last(i)) {
          return;
        }
      }
    }
  }

  // False: the cache is full.
  bool pick_prompt(Sequence& sequence, std::uint32_t budget) {
    const std::uint32_t left = sequence.goal - sequence.cached;
    const std::uint32_t queries = std::min({left, budget - tokens_, most_queries});
    if (!take_room(sequence, queries)) {
      return false;
    }
    pick(sequence, queries);
    return true;
  }

  void admit(std::uint32_t budget) {
    if (!options_.continuous && !filling_) {
      return;
    }
    filling_ = false;
    while (!waiting_.empty() && running_.size() < options_.sequences && tokens_ < budget) {
      Sequence sequence = waiting_.front();
      const bool is_carried = sequence.cached > 0;
      if (!is_carried) {
        use_prefix(sequence);
        use_pieces(sequence);
      }
      const std::uint32_t left = sequence.goal - sequence.cached;
      // Whole prompts go together while they fit; one that never fits goes in parts.
      const bool waits = options_.chunk == 0 && picked_ > 0 && left > budget - tokens_;
      if (waits || !pick_prompt(sequence, budget)) {
        release(sequence);
        return;
      }
      carried_ += is_carried ? 1 : 0;
      // What it has not computed was there.
      counts_.reused += sequence.cached;
      waiting_.pop_front();
      running_.push_back(sequence);
      filling_ = true;
    }
  }

  // The last token of a prompt is computed in any case.
  void use_prefix(Sequence& sequence) {
    const std::uint32_t most = std::min(sequence.what.prefix_tokens, sequence.goal - 1);
    const std::uint32_t there = cache_.use_prefix(sequence.what.prefix, most);
    if (there == 0) {
      return;
    }
    sequence.uses = sequence.what.prefix;
    sequence.cached = there;
    sequence.shared = there / options_.block;
  }

  void keep_prefix(Sequence& sequence) {
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

  // Pieces of a prompt that are whole and are not its last token.
  std::span<const std::uint32_t> pieces_of(const Sequence& sequence, std::uint32_t tokens) const {
    const auto all = requests_->pieces(sequence.request);
    return all.first(std::min<std::size_t>(all.size(), tokens / requests_->piece_tokens()));
  }

  void use_pieces(Sequence& sequence) {
    if (requests_ == nullptr) {
      return;
    }
    for (const std::uint32_t piece : pieces_of(sequence, sequence.what.prompt - 1)) {
      if (cache_.use_prefix(piece, requests_->piece_tokens()) == 0) {
        break;
      }
      ++sequence.pieces;
    }
    sequence.cached = sequence.pieces * requests_->piece_tokens();
    sequence.shared = sequence.cached / options_.block;
  }

  void keep_pieces(Sequence& sequence) {
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

  Batch batch_of(std::uint32_t number, SimTime now) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> counts;
    Batch batch;
    for (Sequence& sequence : running_) {
      if (sequence.step != number) {
        continue;
      }
      sequence.begun = std::min(sequence.begun, now);
      const auto keys = static_cast<std::uint32_t>(
          cache_.blocks_of(sequence.cached + sequence.queries) * options_.block);
      ++counts[{sequence.queries, keys}];
      if (sequence.generates()) {
        batch.emitting += sequence.queries;
      } else if (sequence.cached + sequence.queries == sequence.goal) {
        ++batch.emitting;
      }
    }
    for (const auto& [sizes, sequences] : counts) {
      batch.groups.push_back({sequences, sizes.first, sizes.second});
    }
    return batch;
  }

  // Of a sequence in a step: tokens that go in behind the one that is sure.
  static std::uint32_t drafts_in(const Sequence& sequence) {
    return sequence.generates() ? sequence.queries - 1 : 0;
  }
  // Tokens that come out of it at the end of the step.
  std::uint32_t given(const Sequence& sequence) const {
    const std::uint32_t drafts = drafts_in(sequence);
    const auto whole = static_cast<std::uint32_t>((sequence.credit + gains_[drafts]) / millionths);
    return std::min(whole, drafts + 1);
  }

  // What was wrong leaves the cache again.
  void end_drafts(Sequence& sequence, SimTime now, BatchListener& listener) {
    const std::uint32_t tokens = given(sequence);
    sequence.credit = static_cast<std::uint32_t>(std::min(
        sequence.credit + gains_[drafts_in(sequence)] - tokens * millionths, millionths - 1));
    counts_.dropped += sequence.queries - tokens;
    sequence.cached += tokens;
    keep_prefix(sequence);
    keep_pieces(sequence);
    for (std::uint32_t token = 0; token < tokens; ++token) {
      give_token(sequence, now, listener);
    }
  }

  void give_token(Sequence& sequence, SimTime now, BatchListener& listener) {
    const bool is_first = sequence.generated == 0;
    listener.on_token(sequence.request, is_first ? std::nullopt : std::optional(sequence.last));
    if (is_first) {
      sequence.first = now;
    }
    sequence.last = now;
    ++sequence.generated;
    ++sequence.goal;
    if (sequence.generated == sequence.what.generate) {
      counts_.held += sequence.cached;
      release(sequence);
      listener.on_served(
          {sequence.request, sequence.what, sequence.begun, sequence.first, now, sequence.again});
    }
  }

  BatchOptions options_;
  std::vector<std::uint64_t> gains_;  // [drafts]
  Cache cache_;
  const RequestSource* requests_;  // null: nothing is known of pieces
  BatchCounts counts_;             // all but the blocks
  std::deque<Sequence> waiting_;
  std::vector<Sequence> running_;  // in order of admission
  bool filling_ = false;           // not continuous: a batch is being put together
  // Of the step under construction.
  std::uint32_t step_ = no_step;
  std::uint32_t tokens_ = 0;
  std::uint32_t picked_ = 0;
  std::uint32_t carried_ = 0;  // of these, whose keys and values were handed over
};

}  // namespace

std::unique_ptr<Batcher> make_sequence_batcher(const BatchOptions& options,
                                               const RequestSource* requests) {
  return std::make_unique<SequenceBatcher>(options, requests);
}

}  // namespace tessera::serving
