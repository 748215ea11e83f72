#include "run/options.hpp"

#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/pdes/sync_policy.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/cuts/weights.hpp"

namespace tessera::sim {

namespace {

using config::ChoiceKey;
using config::Key;
using config::NameKey;
using config::of_cost;

const Key<std::uint32_t> iterations{"iterations", RunOptions{}.iterations,
                                    "training steps to simulate", config::between(1U, 1'000'000U)};
const ChoiceKey<TraceLevel> trace = of_cost(ChoiceKey<TraceLevel>(
    "trace",
    {{"none", TraceLevel::none}, {"summary", TraceLevel::summary}, {"full", TraceLevel::full}},
    "summary", "how much is traced: none, summary or full"));
const Key<std::uint32_t> bins = of_cost(Key<std::uint32_t>(
    "bins", RunOptions{}.bins, "target number of time bins of links and channels",
    config::between(1U, 100'000U)));
const config::OptionalKey<SimTime> bin = of_cost(config::OptionalKey<SimTime>(
    "bin", "from bins", "length of a bin, instead of bins", config::at_least(SimTime::from_ps(1))));
const NameKey partition = of_cost(NameKey("partition", partition_names, automatic_partition,
                                          "how the machine is partitioned over ranks"));
const Key<bool> idle_ranks =
    of_cost(Key<bool>("idle_ranks", RunOptions{}.idle_ranks,
                      "with partition auto: leave ranks idle that would not make the run faster"));
const Key<std::string> weights = of_cost(
    Key<std::string>("weights", "predicted",
                     "source of the weights of nodes in a partition: none, predicted, or the "
                     "folder of an earlier run"));
const NameKey synchronization = of_cost(NameKey(
    "synchronization", [] { return pdes::sync_policies().names(); }, "promise",
    "how ranks are synchronised: promise, window or null-message"));
const ChoiceKey<bool> replay{
    "replay",
    {{"none", false}, {"exact", true}},
    "none",
    "exact: micro-batches that repeat previous ones are not simulated; none: all are simulated"};

}  // namespace

void note_unused_bins(config::Section& section, const RunOptions& options, std::string_view with) {
  if (options.bins != RunOptions{}.bins) {
    config::note_without_effect(section, bins.key(), with);
  }
  if (options.bin) {
    config::note_without_effect(section, bin.key(), with);
  }
}

RunOptions read_run_options(config::Section section, const machine::Topology& topology) {
  RunOptions options;
  options.iterations = iterations.read(section);
  options.trace = trace.read(section);
  options.bins = bins.read(section);
  options.bin = bin.read(section);
  if (options.trace == TraceLevel::none) {
    note_unused_bins(section, options, "trace: none");
  }
  options.partition = partition.read(section);
  if (machine::partitioners().contains(options.partition)) {
    // Only the partitioner knows what it can cut: ask before anything is simulated. Cutters want to
    // see the work, too.
    try {
      machine::partitioners().at(options.partition)(topology, 1, {});
    } catch (const ConfigError& error) {
      section.error("partition", error.diagnostics().front().message);
    }
  }
  options.idle_ranks = idle_ranks.read(section);
  options.weights = weights.read(section);
  if (is_measured(options.weights)) {
    options.weights = section.get_file(weights.key());
  }
  options.synchronization = synchronization.read(section);
  options.replay = replay.read(section);
  return options;
}

std::vector<ParameterInfo> run_parameters() {
  return {iterations, trace, bins, bin, partition, idle_ranks, weights, synchronization, replay};
}

}  // namespace tessera::sim
