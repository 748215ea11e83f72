// Puts requests of one tenant together to batches, step by step.
//
// Language models (continuous batching: G. Yu et al., "Orca", OSDI 2022; cache in blocks: W. Kwon
// et al., arXiv:2309.06180; prompts in chunks beside generation: A. Agrawal et al.,
// "Sarathi-Serve", arXiv:2403.02310):
//   whole prompts   waiting requests are admitted as long as there is room, and their prompts go
//                   first, as many together as `tokens` allow; else all running sequences generate
//   chunks          every running sequence generates; what is left of `chunk` tokens is filled with
//                   prompts, in parts
//   not continuous  a batch is admitted when the one before is over, to its last token
// When the cache is full, the sequence that came last gives its blocks back and is computed again
// later. A prompt's beginning that is in the cache is not computed again: one with a name as a
// whole, of one that is told by its blocks as many as are there from the first on; what nobody uses
// goes when room is needed, that which was used longest ago first.
//
// With priorities of classes those that wait are in order of (priority, arrival), the smallest
// first, and who gives its blocks back is the last one in that order of all that are in no other
// step, also one that this step has just taken, or the very one that needs them; none gives
// way itself while one behind it in that order is in another step. Nothing is admitted where one
// that runs lacked room, whether or not others gave way (vLLM's `--scheduling-policy priority`,
// v1/core/sched/scheduler.py of W. Kwon et al.). Who runs is not displaced by who waits.
//
// Layers of several kinds keep different things (serving/cache_layout.hpp): blocks that no window
// reaches any more are given back as a sequence goes on. Of a beginning that others use, layers
// with a window keep the last blocks alone. The state of state-space layers is not known behind
// each token: it is kept behind a beginning with a name, and behind the last whole block that a
// prompt has in common with others (of prompts that are told by their blocks); parts of prompts end
// there, and others go on from there alone (vLLM's `--mamba-cache-mode align`).
//
// Sequences with an adapter are admitted while it is loaded, or a slot is free or has one that
// nobody uses (the one that was used longest ago goes); a step says how many adapters are loaded
// before it. They share beginnings with those of the same adapter alone, and so do those without
// one.
//
// With a tier (serving/cache_tier.hpp) blocks that are given back go to another memory as long as
// there is room, and are fetched in place of being computed again; so do beginnings of prompts that
// nobody uses. A step says how many go each way before it begins.
//
// With drafts of d tokens that are accepted with probability a, a step gives a sequence
//     1 + a + … + a^d = (1 - a^(d+1)) / (1 - a)
// tokens in the mean (Y. Leviathan et al., "Fast inference from transformers via speculative
// decoding", ICML 2023, equation 1). Each sequence gets whole tokens that come to that over its
// steps.
//
// Other models: waiting requests go together as long as their samples are at most `samples`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/pdes/state.hpp"
#include "tessera/serving/cache_layout.hpp"
#include "tessera/serving/cache_tier.hpp"
#include "tessera/serving/request.hpp"
#include "tessera/serving/served_model.hpp"

namespace tessera::serving {

struct BatchOptions {
  bool continuous = true;
  std::uint32_t sequences = 256;        // running at a time, at most
  std::uint32_t tokens = 8192;          // of a step, at most
  std::uint32_t chunk = 0;              // tokens of a step with parts of prompts; 0: whole prompts
  std::uint32_t block = 16;             // tokens of a block of the cache
  CacheLayout layout{};                 // blocks of sequences
  std::optional<std::uint64_t> blocks;  // of the cache; none: any number
  std::uint32_t samples = 1;            // of other models
  std::uint32_t in_flight = 1;          // steps under way at a time
  // Speculative decoding: a sequence that generates takes so many more tokens in, which a draft
  // proposes and each of which is right with this probability; it gets those before the first wrong
  // one, and one more.
  std::uint32_t drafts = 0;
  double acceptance = 0;
  // Of each class of requests; the smallest goes first. Empty: first come, first served.
  std::vector<std::int32_t> priorities{};
  std::optional<TierOptions> tier{};
  std::uint32_t adapter_slots = 0;  // adapters that are loaded at a time; 0: there are none
  bool adapters_stay = false;       // all are loaded from the beginning on
  // Units that `blocks` are of, evenly; a sequence is on one of them.
  std::uint32_t units = 1;
};

// How a request fared; times of tokens are told one by one.
struct Served {
  std::uint64_t request = 0;
  Request what;
  SimTime begun;  // when its first step began
  SimTime first;  // token, or end
  SimTime last;
  std::uint32_t again = 0;  // times that it gave its cache back, to be computed again or fetched
};

// What sequences did with the cache, and what it holds now. Tokens of steps and `reused` ones are
// those that sequences `held` when they were served and those `dropped`, once all are served.
struct BatchCounts {
  std::uint64_t held = 0;
  std::uint64_t reused = 0;   // of prefixes that were there
  std::uint64_t dropped = 0;  // given up, to be computed again
  std::uint64_t blocks_taken = 0;
  std::uint64_t blocks_of_prefixes = 0;  // of these
  std::uint64_t blocks_beyond = 0;       // taken at a time, more than there are
  // Of the tier: blocks of sequences that went there and came back, and what it holds.
  std::uint64_t swapped_out = 0;
  std::uint64_t swapped_in = 0;
  std::uint64_t tier_taken = 0;
  std::uint64_t tier_of_prefixes = 0;  // of these
  std::uint64_t tier_beyond = 0;       // taken at a time, more than there are
};

// A request whose prompt others have computed, with its first token, and whose keys and values have
// been handed over.
struct Carried {
  std::uint64_t request = 0;
  Request what;
  SimTime begun;
  SimTime first;
  std::uint32_t again = 0;
};

// What is held at a time.
struct BatchLoad {
  std::uint64_t running = 0;  // requests
  std::uint64_t waiting = 0;
  std::uint64_t blocks = 0;  // of the cache
};

class BatchListener {
 public:
  virtual ~BatchListener() = default;
  // A token of a request; `since`: the one before, none for the first.
  virtual void on_token(std::uint64_t request, std::optional<SimTime> since) = 0;
  virtual void on_served(const Served& served) = 0;
};

class Batcher {
 public:
  virtual ~Batcher() = default;
  virtual void arrive(std::uint64_t number, const Request& request) = 0;
  // Its next token is the second; a sequence that gives its cache back is computed again here.
  virtual void take_over(const Carried& carried);
  // The next step, if there is something to do that is not in one; `number` is the caller's.
  virtual std::optional<Batch> next(std::uint32_t number, SimTime now) = 0;
  virtual void end(std::uint32_t number, SimTime now, BatchListener& listener) = 0;
  // Of the step that was begun last: the earliest of the times since which its requests wait for a
  // token (first: since they arrived), whether that is a first token, and whose class it is.
  struct Waiting {
    SimTime since = SimTime::never();
    bool first = true;
    std::uint32_t of_class = 0;
  };
  virtual Waiting waiting(std::uint32_t number) const = 0;
  virtual std::uint64_t unfinished() const = 0;
  virtual BatchLoad load() const { return {0, unfinished(), 0}; }
  // Of requests of one class alone; blocks are not told apart.
  virtual BatchLoad load_of(std::uint32_t /*of_class*/) const { return {}; }
  // Whether all requests that have come end with steps that are under way.
  virtual bool end_with_steps() const = 0;
  // Requests that get their last token by step `number`, which is under way.
  virtual std::vector<std::uint64_t> ending(std::uint32_t /*number*/) const { return {}; }
  // Most blocks of the cache that were taken at a time; 0: there is none.
  virtual std::uint64_t most_blocks() const { return 0; }
  virtual BatchCounts counts() const { return {}; }

  virtual void save(pdes::StateWriter& writer) const = 0;
  virtual void restore(pdes::StateReader& reader) = 0;
};

// `requests`: whose numbers `arrive` tells, and which outlives the batcher; of these alone it knows
// blocks that prompts have in common (RequestSource::pieces). Null: of none.
std::unique_ptr<Batcher> make_sequence_batcher(const BatchOptions& options,
                                               const RequestSource* requests = nullptr);
std::unique_ptr<Batcher> make_sample_batcher(const BatchOptions& options);

// Blocks of the cache that a sequence of so many tokens may hold at a time, beside none.
// `piece`: RequestSource::piece_tokens, of requests that share beginnings; none: of others.
std::uint64_t most_blocks_of(const BatchOptions& options, std::uint64_t tokens,
                             std::optional<std::uint32_t> piece);

// Numbers of samples that batches of these requests may have, ascending; when there are more than
// `most`, at least so many of them.
std::vector<std::uint32_t> possible_samples(const RequestSource& requests,
                                            const BatchOptions& options, std::size_t most);

}  // namespace tessera::serving
