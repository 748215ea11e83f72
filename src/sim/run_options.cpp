#include "run_options.hpp"

#include "tessera/machine/partition.hpp"
#include "tessera/pdes/sync_policy.hpp"
#include "tessera/sim/cuts.hpp"
#include "tessera/sim/weights.hpp"

namespace tessera::sim {

RunOptions read_run_options(config::Section section, const machine::Topology& topology) {
  RunOptions options;
  options.iterations = static_cast<std::uint32_t>(
      section.get_or<std::int64_t>("iterations", 1, config::between<std::int64_t>(1, 1'000'000)));
  const std::string level = section.get_name("trace", {"none", "summary", "full"}, "summary");
  options.trace = level == "none"   ? TraceLevel::none
                  : level == "full" ? TraceLevel::full
                                    : TraceLevel::summary;
  options.bins = static_cast<std::uint32_t>(
      section.get_or<std::int64_t>("bins", 64, config::between<std::int64_t>(1, 100'000)));
  options.bin = section.get_optional<SimTime>("bin", config::at_least(SimTime::from_ps(1)));
  options.partition = section.get_name("partition", partition_names(), automatic_partition);
  if (machine::partitioners().contains(options.partition)) {
    // Only the partitioner knows what it can cut: ask before anything is simulated. Cutters want to
    // see the work, too.
    try {
      machine::partitioners().at(options.partition)(topology, 1, {});
    } catch (const ConfigError& error) {
      section.error("partition", error.diagnostics().front().message);
    }
  }
  options.idle_ranks = section.get_or<bool>("idle_ranks", true);
  options.weights = section.get_or<std::string>("weights", "predicted");
  if (is_measured(options.weights)) {
    options.weights = section.get_file("weights");
  }
  options.synchronization =
      section.get_name("synchronization", pdes::sync_policies().names(), "promise");
  options.replay = section.get_name("replay", {"none", "exact"}, "none") == "exact";
  return options;
}

std::vector<ParameterInfo> run_parameters() {
  return {
      {"iterations", "", "1", "training steps to simulate"},
      {"trace", "", "summary", "none, summary or full", true},
      {"bins", "", "64", "time bins of links and channels that are aimed at", true},
      {"bin", "ps", "", "length of a bin, instead of bins", true},
      {"partition", "", "auto", "how the machine is cut over ranks", true},
      {"idle_ranks", "", "true",
       "whether ranks stay idle that would not make the run faster, where partition is auto", true},
      {"weights", "", "predicted",
       "what makes a node heavy: none, predicted, or the folder of an earlier run", true},
      {"synchronization", "", "promise", "how ranks keep in step: promise, window or null-message",
       true},
      {"replay", "", "none",
       "none, or exact: do not simulate micro-batches that repeat the ones before"}};
}

}  // namespace tessera::sim
