// Cuts of the machine over ranks that follow the work, beside machine::partitioners(), which know
// the machine alone; and the choice among all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tessera/core/registry.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

// A cut for some kinds of work.
struct Cutter {
  // Why it cannot cut this experiment over any number of ranks; empty: it can.
  std::function<std::string(const Experiment&)> objection;
  // Every rank has a node at least; the same on every rank. `weights` as for machine::Partitioner.
  // Throws ConfigError when there is an objection, or too many ranks.
  std::function<machine::Partition(const Experiment&, int ranks, const machine::Weights& weights)>
      cut;
};

// Cutters by name. Of plans, where tensor groups always stay whole and every other node (routers,
// memory channels) goes to the rank whose tiles send most through it:
//   stages           whole pipeline stages: runs of equal work, or dealt out in turn
//   replicas         groups of whole replicas, with all their stages
//   stages-replicas  such of stages times groups of replicas
//   groups           tensor groups by where they lie: by columns, by rows, or halved again and
//   again traffic          METIS on the messages between tensor groups and channels
// Where there are several ways to do so, the one with the shortest predicted run. Of other work:
//   communicators    graphs: NPUs that talk most stay together
//   tenants          whole tenants
//   npus             requests: runs of whole NPUs
Registry<Cutter>& cutters();

// Of run.partition: chooses (choose_cut).
inline constexpr const char* automatic_partition = "auto";

// All names of run.partition with what they do; in order of names.
std::vector<PartInfo> partition_infos();
std::vector<std::string> partition_names();
// Why the experiment cannot be cut by this name, whatever the number of ranks; empty: it can.
std::string partition_objection(const Experiment& experiment, const std::string& name);

// What is to be expected of a cut: see src/sim/cuts/region_replay.hpp.
struct CutPrediction {
  std::string name;
  int ranks = 1;
  double one_rank_s = 0;  // of all iterations; of graphs, of their first part
  double wall_s = 0;
  std::uint64_t messages = 0;  // between ranks, in an iteration
  std::uint64_t waits = 0;     // of the rank that waits most often, in an iteration
  double imbalance = 1;        // most events of a rank over the mean
  double speed_up() const { return wall_s > 0 ? one_rank_s / wall_s : 1; }
};

// Of every cut for exactly so many ranks, the fastest first. Empty where no prediction can be made:
// work that is neither a plan nor graphs, or a network without promises.
std::vector<CutPrediction> predict_cuts(const Experiment& experiment, int ranks);

// Whether a rank can know long before when others will hear of it: see pdes::Outlook.
bool models_promise(const Experiment& experiment);

// Name of the pdes::SyncPolicy of a run: that of its options, but `window` in place of `promise`
// where not all of its models promise anything, as neighbours would creep by the least delay.
std::string synchronization_of(const Experiment& experiment);

struct CutChoice {
  machine::Partition partition;
  std::string name = "none";  // of run.partition; "none": one rank has all
  int ranks = 1;              // at work, at most those there are; the others stay idle
  double predicted_speed_up = 1;
  std::string reason;  // a sentence for the user
};

// The cut with which a run on at most `ranks` ranks is predicted to be over first, be it that of
// run.partition or, where that is `auto`, the best one; of equal ones that with fewest ranks. One
// rank has all where the run is over in a moment, and where models make no promises and windows of
// the lookahead hold too few events to pay (docs/design/0002-engine.md). Of more ranks than
// `processors`, as many work. Without run.idle_ranks: cut_for.
CutChoice choose_cut(const Experiment& experiment, int ranks, int processors);

// The same for exactly so many ranks. Throws ConfigError when it cannot be cut so.
CutChoice cut_for(const Experiment& experiment, int ranks);
CutChoice cut_for(const Experiment& experiment, int ranks, const machine::Weights& weights);

}  // namespace tessera::sim
