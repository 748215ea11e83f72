#include "options/cut_options.hpp"

#include <string>
#include <utility>
#include <vector>

#include "tessera/cli/commands.hpp"
#include "tessera/pdes/sync_policy.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/cuts/weights.hpp"

namespace tessera::cli {
namespace {

OptionValue offering(std::vector<std::string> words) {
  OptionValue value = text_value();
  value.offered = std::move(words);
  return value;
}

void add_options(Options& options, const char* help, const char* argument) {
  options.add("partition", help, offering(sim::partition_names()), argument)
      .add("weights",
           "source of the weights of nodes in a partition: none, predicted, or the "
           "folder of an earlier run",
           offering({"none", "predicted"}), "WHAT")
      .add("synchronization", "how ranks are synchronised", offering(pdes::sync_policies().names()),
           "NAME");
}

}  // namespace

void add_cut_options(Options& options) {
  add_options(options, "partition of the machine over ranks, instead of the configured one",
              "NAME");
}

void add_compared_cut_options(Options& options) {
  add_options(options, "partitions of the machine over ranks, instead of the configured one",
              "NAME,…");
}

void apply_cut_options(const Options& options, sim::Experiment& experiment,
                       comm::Communicator& world) {
  if (options.has("partition")) {
    sim::use_partition(experiment, options.text("partition"));
  }
  apply_options_of_ranks(options, experiment, world);
}

void apply_options_of_ranks(const Options& options, sim::Experiment& experiment,
                            comm::Communicator& world) {
  if (options.has("weights")) {
    sim::use_weights(experiment, options.text("weights"), shared_loader(world));
  }
  if (options.has("synchronization")) {
    sim::use_synchronization(experiment, options.text("synchronization"));
  }
}

}  // namespace tessera::cli
