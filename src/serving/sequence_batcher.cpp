#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "sequence.hpp"
#include "sequence_cache.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/serving/batcher.hpp"
#include "tessera/serving/language_model.hpp"

namespace tessera::serving {
namespace {

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
        order_(options.priorities),
        cache_(options, requests),
        adapters_(1, options.adapter_slots) {}

  void arrive(std::uint64_t number, const Request& request) override {
    Sequence sequence;
    sequence.request = number;
    sequence.what = request;
    sequence.goal = request.prompt;
    line_up(sequence);
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
    line_up(sequence);
  }

  std::optional<Batch> next(std::uint32_t number, SimTime now) override {
    step_ = number;
    tokens_ = 0;
    picked_ = 0;
    carried_ = 0;
    lacks_room_ = false;
    if (!options_.continuous && running_.empty()) {
      filling_ = true;
      for (const Sequence& sequence : late_) {
        stand_in_line(sequence);
      }
      late_.clear();
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
        cache_.keep_beginning(sequence);
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
        waiting = {since, first, sequence.what.of_class};
      }
    }
    return waiting;
  }

  std::uint64_t unfinished() const override {
    return waiting_.size() + late_.size() + running_.size();
  }
  BatchLoad load() const override {
    return {running_.size(), waiting_.size() + late_.size(), cache_.taken()};
  }
  BatchLoad load_of(std::uint32_t of_class) const override {
    return of_class < loads_.size() ? loads_[of_class] : BatchLoad{};
  }
  bool end_with_steps() const override {
    return waiting_.empty() && late_.empty() &&
           std::all_of(running_.begin(), running_.end(), [this](const Sequence& sequence) {
             return sequence.step != no_step && ends_by(sequence, sequence.step);
           });
  }
  std::vector<std::uint64_t> ending(std::uint32_t number) const override {
    std::vector<std::uint64_t> requests;
    for (const Sequence& sequence : running_) {
      if (ends_by(sequence, number)) {
        requests.push_back(sequence.request);
      }
    }
    return requests;
  }
  std::uint64_t most_blocks() const override { return cache_.most_taken(); }
  BatchCounts counts() const override {
    BatchCounts counts = counts_;
    cache_.count(counts);
    return counts;
  }

  void save(pdes::StateWriter& writer) const override {
    writer.put_all(std::vector<Sequence>(waiting_.begin(), waiting_.end()));
    writer.put_all(late_);
    writer.put_all(running_);
    writer.put(filling_);
    writer.put(counts_);
    writer.put_all(loads_);
    cache_.save(writer);
    adapters_.save(writer);
    writer.put(loading_);
  }
  void restore(pdes::StateReader& reader) override {
    const auto waiting = reader.get_all<Sequence>();
    waiting_.assign(waiting.begin(), waiting.end());
    late_ = reader.get_all<Sequence>();
    running_ = reader.get_all<Sequence>();
    filling_ = reader.get<bool>();
    counts_ = reader.get<BatchCounts>();
    loads_ = reader.get_all<BatchLoad>();
    cache_.restore(reader);
    adapters_.restore(reader);
    loading_ = reader.get<std::uint32_t>();
  }

 private:
  static constexpr std::size_t nobody = ~std::size_t{0};

  // Requests of its class.
  BatchLoad& load_with(const Sequence& sequence) {
    loads_.resize(std::max<std::size_t>(loads_.size(), sequence.what.of_class + 1));
    return loads_[sequence.what.of_class];
  }

  // Who has come waits behind those that go before it.
  void line_up(const Sequence& sequence) {
    ++load_with(sequence).waiting;
    if (options_.continuous) {
      stand_in_line(sequence);
    } else {
      late_.push_back(sequence);
    }
  }
  void stand_in_line(const Sequence& sequence) {
    if (order_.by_priority()) {
      put_in_order(sequence);
    } else {
      waiting_.push_back(sequence);
    }
  }
  void put_in_order(const Sequence& sequence) {
    const auto place = std::upper_bound(
        waiting_.begin(), waiting_.end(), sequence,
        [this](const Sequence& a, const Sequence& b) { return order_.before(a, b); });
    waiting_.insert(place, sequence);
  }

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
  // False: the cache is full.
  bool try_to_pick(Sequence& sequence, std::uint32_t queries) {
    if (!cache_.take_room(sequence, queries)) {
      return false;
    }
    pick(sequence, queries);
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
      if (!pick_with_room(i, queries)) {
        return;
      }
    }
  }

  // Prompts that have begun.
  void pick_prompts(std::uint32_t budget) {
    for (std::size_t i = 0; i < running_.size() && tokens_ < budget; ++i) {
      if (running_[i].step != no_step || running_[i].generates()) {
        continue;
      }
      if (!pick_with_room(i, queries_of_prompt(running_[i], budget))) {
        return;
      }
    }
  }

  std::uint32_t queries_of_prompt(const Sequence& sequence, std::uint32_t budget) const {
    return std::min({sequence.goal - sequence.cached, budget - tokens_, most_queries,
                     cache_.until_checkpoint(sequence)});
  }

  // Picks running_[i], for which others give their blocks back; `i` stays the place of the one that
  // was looked at last, which was the one before where it gave way itself. False: there is no room.
  bool pick_with_room(std::size_t& i, std::uint32_t queries) {
    while (!try_to_pick(running_[i], queries)) {
      const std::size_t last = order_.by_priority() ? last_in_order(i) : last_behind(i);
      if (last == nobody) {
        lacks_room_ = true;
        return false;
      }
      give_up(last);
      if (last == i) {
        --i;  // below 0 the loop goes on at 0
        return true;
      }
      if (last < i) {
        --i;
      }
    }
    return true;
  }

  // In no step, or in the one that is put together.
  bool is_free(const Sequence& sequence) const {
    return sequence.step == no_step || sequence.step == step_;
  }
  // Who came last of those behind `keep` that are free.
  std::size_t last_behind(std::size_t keep) const {
    for (std::size_t i = running_.size(); i-- > keep + 1;) {
      if (is_free(running_[i])) {
        return i;
      }
    }
    return nobody;
  }
  // By priority, of those that are free. Who needs room does not give way itself
  // while one behind it is in another step: that one is asked once it is back.
  std::size_t last_in_order(std::size_t needs) const {
    std::size_t last = nobody;
    bool goes_before_one = false;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      const bool may_give_way = is_free(running_[i]);
      if (may_give_way && (last == nobody || order_.before(running_[last], running_[i]))) {
        last = i;
      }
      goes_before_one =
          goes_before_one || (!may_give_way && order_.before(running_[needs], running_[i]));
    }
    return last == needs && goes_before_one ? nobody : last;
  }

  // It waits again, to be fetched from the tier or computed again.
  void give_up(std::size_t place) {
    Sequence sequence = running_[place];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(place));
    if (sequence.step == step_) {
      tokens_ -= sequence.queries;
      --picked_;
      sequence.step = no_step;
    }
    lacks_room_ = true;
    let_go_of_adapter(sequence);
    cache_.release(sequence);
    if (!cache_.store(sequence)) {
      counts_.dropped += sequence.cached;
      sequence.cached = 0;
    }
    ++sequence.again;
    --load_with(sequence).running;
    ++load_with(sequence).waiting;
    if (order_.by_priority()) {
      put_in_order(sequence);
    } else {
      waiting_.push_front(sequence);
    }
  }

  void admit(std::uint32_t budget) {
    if (!options_.continuous && !filling_) {
      return;
    }
    if (lacks_room_) {
      return;
    }
    filling_ = false;
    while (!waiting_.empty() && running_.size() < options_.sequences && tokens_ < budget) {
      Sequence sequence = waiting_.front();
      const bool is_cached = sequence.cached > 0;  // handed over, or in the tier
      const bool has_come = is_cached || cache_.use_beginning(sequence);
      const std::uint32_t left = sequence.goal - sequence.cached;
      // Whole prompts go together while they fit; one that never fits goes in parts.
      const bool waits = options_.chunk == 0 && picked_ > 0 && left > budget - tokens_;
      if (!has_come || waits || !use_adapter(sequence)) {
        cache_.release(sequence);
        filling_ = waits;
        return;
      }
      if (!try_to_pick(sequence, queries_of_prompt(sequence, budget))) {
        let_go_of_adapter(sequence);
        cache_.release(sequence);
        return;
      }
      if (sequence.stored > 0) {
        cache_.fetch(sequence);
      } else {
        // What it has not computed was there.
        counts_.reused += sequence.cached;
      }
      carried_ += is_cached && sequence.generates() ? 1 : 0;
      waiting_.pop_front();
      --load_with(sequence).waiting;
      ++load_with(sequence).running;
      running_.push_back(sequence);
    }
    // Who else is there goes in with the next step.
    filling_ = !waiting_.empty() && running_.size() < options_.sequences;
  }

  Batch batch_of(std::uint32_t number, SimTime now) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> counts;
    std::set<std::uint32_t> adapters;
    Batch batch;
    for (Sequence& sequence : running_) {
      if (sequence.step != number) {
        continue;
      }
      sequence.begun = std::min(sequence.begun, now);
      const auto keys =
          static_cast<std::uint32_t>(cache_.in_whole_blocks(sequence.cached + sequence.queries));
      ++counts[{sequence.queries, keys}];
      if (sequence.what.adapter != 0) {
        adapters.insert(sequence.what.adapter);
        batch.adapted += sequence.queries;
      }
      batch.drafts = std::max(batch.drafts, drafts_in(sequence));
      if (sequence.generates()) {
        batch.emitting += sequence.queries;
      } else if (sequence.cached + sequence.queries == sequence.goal) {
        ++batch.emitting;
      }
    }
    for (const auto& [sizes, sequences] : counts) {
      batch.groups.push_back({sequences, sizes.first, sizes.second});
    }
    cache_.tell_moves(batch);
    batch.adapters = static_cast<std::uint32_t>(adapters.size());
    batch.adapters_in = std::exchange(loading_, 0U);
    return batch;
  }

  // False: it is not loaded, and all slots have those of sequences that run.
  bool use_adapter(const Sequence& sequence) {
    const std::uint32_t adapter = sequence.what.adapter;
    if (adapter == 0 || options_.adapters_stay || adapters_.use_prefix(PrefixKey(adapter), 1) > 0) {
      return true;
    }
    if (!adapters_.take(1)) {
      return false;
    }
    adapters_.keep_prefix(PrefixKey(adapter), 1);
    ++loading_;
    return true;
  }
  void let_go_of_adapter(const Sequence& sequence) {
    if (sequence.what.adapter != 0 && !options_.adapters_stay) {
      adapters_.let_go(PrefixKey(sequence.what.adapter));
    }
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

  // Whether it gets its last token by a step under way.
  bool ends_by(const Sequence& sequence, std::uint32_t number) const {
    return sequence.step == number && sequence.cached + sequence.queries >= sequence.goal &&
           sequence.generated + given(sequence) == sequence.what.generate;
  }

  // What was wrong leaves the cache again.
  void end_drafts(Sequence& sequence, SimTime now, BatchListener& listener) {
    const std::uint32_t tokens = given(sequence);
    sequence.credit = static_cast<std::uint32_t>(std::min(
        sequence.credit + gains_[drafts_in(sequence)] - tokens * millionths, millionths - 1));
    counts_.dropped += sequence.queries - tokens;
    sequence.cached += tokens;
    cache_.keep_beginning(sequence);
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
      let_go_of_adapter(sequence);
      --load_with(sequence).running;
      cache_.release(sequence);
      listener.on_served(
          {sequence.request, sequence.what, sequence.begun, sequence.first, now, sequence.again});
    }
  }

  BatchOptions options_;
  std::vector<std::uint64_t> gains_;  // [drafts]
  SequenceOrder order_;
  SequenceCache cache_;
  Cache adapters_;                // each a prefix of one block, of as many as there are slots
  std::uint32_t loading_ = 0;     // adapters, since a step was told
  BatchCounts counts_;            // all but the blocks
  std::vector<BatchLoad> loads_;  // [classes, after none] but for blocks
  std::deque<Sequence> waiting_;
  std::vector<Sequence> late_;     // not continuous: since the batch began
  std::vector<Sequence> running_;  // in order of admission
  bool filling_ = false;           // not continuous: a batch is being put together
  // Of the step under construction.
  std::uint32_t step_ = no_step;
  std::uint32_t tokens_ = 0;
  std::uint32_t picked_ = 0;
  std::uint32_t carried_ = 0;  // of these, whose keys and values were handed over
  // Some gave their blocks back for it, or one that runs goes without room until others are back.
  bool lacks_room_ = false;
};

}  // namespace

std::unique_ptr<Batcher> make_sequence_batcher(const BatchOptions& options,
                                               const RequestSource* requests) {
  return std::make_unique<SequenceBatcher>(options, requests);
}

}  // namespace tessera::serving
