// The strategies among which the best one is searched.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/plan/placement/placement.hpp"
#include "tessera/plan/strategy.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::explore {

// What the experiment says of a placement beside its layout and its tiles.
class KeptPlacement {
 public:
  KeptPlacement() = default;
  explicit KeptPlacement(const config::Value& placement);

  // Tiles of a stage and of a tensor group.
  struct Tiles {
    std::uint64_t stage = 0;
    std::uint64_t tensor = 0;
  };
  // "{layout: line, group: [2, 1]}": shapes where they are of as many tiles, and what means
  // something to the layout. Nobody knows the tiles: all keys.
  std::string with(const std::string& layout, const std::optional<Tiles>& tiles = {}) const;

 private:
  std::vector<std::pair<std::string, std::string>> keys_;  // as settings have them
  std::map<std::string, std::uint64_t> tiles_;             // of shapes
};

// Keys of a strategy as `tessera plan` varies them; all others stay as the experiment has them.
struct Candidate {
  plan::Degrees degrees;  // of the keys `pipeline`, `data` and `tensor`
  std::uint32_t context = 1;
  std::uint32_t expert = 1;
  bool sequence_parallel = false;
  std::uint32_t micro_batch = 1;
  std::uint32_t chunks = 1;
  std::string schedule;
  plan::Recompute recompute = plan::Recompute::none;
  std::uint32_t zero = 0;
  std::uint32_t shard = 0;  // replicas that share out; 0: all
  bool overlap_gradients = false;
  bool overlap_tensor = false;
  bool async_tensor = false;
  bool overlap_passes = false;
  std::string layout;

  std::uint64_t tiles() const { return degrees.tiles() * context; }
  // "key=value" of the experiment.
  std::vector<std::string> settings(const KeptPlacement& placement = {}) const;
  // The same as one word, which tells candidates apart.
  std::string key() const;
  // "pipeline 8, tensor 4, data 2, …", what is not usual alone.
  std::string title() const;
  // Whether the chunks of a stage lie in a V.
  bool is_v_shaped() const;
  // Whether its schedule has passes that may take turns (plan::Strategy::has_pairs).
  bool has_pairs() const;
  // `base` with these keys.
  plan::Strategy strategy(const plan::Strategy& base, std::uint64_t samples) const;
  // All of it.
  auto fields() const {
    return std::tie(degrees.pipeline, degrees.data, degrees.tensor, context, expert,
                    sequence_parallel, micro_batch, chunks, schedule, recompute, zero, shard,
                    overlap_gradients, overlap_tensor, async_tensor, overlap_passes, layout);
  }
  friend bool operator==(const Candidate& a, const Candidate& b) {
    return a.fields() == b.fields();
  }
};

// All values of `strategy.recompute` by their names.
const std::vector<std::pair<std::string, plan::Recompute>>& recomputations();
std::string name_of(plan::Recompute recompute);
// Throws ConfigError where none has this name.
plan::Recompute recompute_named(const std::string& name);

// What limits them.
struct CandidateLimits {
  std::uint64_t devices = 1;  // at most so many tiles
  std::uint64_t layers = 1;   // parts of the pipeline at most
  std::uint64_t batch = 1;    // samples of an iteration
  bool training = true;
  std::vector<std::uint64_t> head_counts;  // tensor degrees divide each; empty: they divide devices
  std::uint64_t sequence = 1;              // tokens that a context degree divides; 1: there is none
  bool cuts_tokens = true;           // else the context degree is 1: states go from token to token
  std::uint64_t experts = 0;         // expert degrees divide them; 0: there are none
  std::uint64_t near = 1;            // tiles that are close together (a server)
  std::uint32_t adapters = 0;        // of tensor groups, which send whole tensors; 0: none
  bool selective = false;            // whether there is something to recompute selectively
  std::vector<std::string> layouts;  // names
  bool full = false;
  // Keys that stay as `own` has them.
  std::set<std::string> kept;
  // Keys that have these values alone, as settings have them. Of stages, micro-batches and chunks
  // they may be any that `full` looks at.
  std::map<std::string, std::set<std::string>> given;
  Candidate own;
};

// Names of the keys that candidates vary.
const std::vector<std::string>& varied_keys();
// What `tessera plan --keep` takes: these, and KEY=NAME where a key takes names.
std::vector<std::string> words_to_keep();

// Of this machine and workload; `devices` 0: all nodes that compute. Layouts are the usual one
// first, then others by name that do not look for their place.
CandidateLimits limits_of(const machine::Machine& machine, const workload::Workload& workload,
                          std::uint64_t devices, bool full);

// Degrees of parallelism that candidates share: all but sequence and expert parallelism.
struct DegreesOfCandidates {
  plan::Degrees degrees;
  std::uint32_t context = 1;
};

// In a fixed order: tensor degrees that divide the heads; data degrees that divide the batch;
// context degrees that divide the sequence, powers of two up to 16; as many stages as devices and
// layers allow, and the fewest that have no more layers a stage. `full`: any number of stages. Left
// out: what uses less than half as many tiles as that with most.
std::vector<DegreesOfCandidates> degrees_of_candidates(const CandidateLimits& limits);

// Visits all candidates of some degrees in a fixed order, those that need not be told apart but
// once. Micro-batches are powers of two that divide a replica's samples, chunks powers of two;
// `full`: any that divide. ZeRO, over all replicas or over those of a server (`full`: any number of
// them), and the overlap of gradients, where there are replicas; sequence parallelism, and the
// overlap of sums, where there are tensor groups; passes that take turns, of schedules that have
// pairs of them, where there are experts. Schedules are those that can run the shape.
void visit_candidates(const CandidateLimits& limits, const DegreesOfCandidates& degrees,
                      const std::function<void(const Candidate&)>& visit);

}  // namespace tessera::explore
