#include "cut_options.hpp"

#include <string>

#include "tessera/cli/commands.hpp"
#include "tessera/sim/cuts/weights.hpp"

namespace tessera::cli {
namespace {

void add_options(Options& options, const char* help, const char* argument) {
  options.add("partition", help, text_value(), argument)
      .add("weights", "what makes a node heavy: none, predicted, or the folder of an earlier run",
           text_value(), "WHAT")
      .add("synchronization", "how ranks keep in step", text_value(), "NAME");
}

}  // namespace

void add_cut_options(Options& options) {
  add_options(options, "how the machine is cut over ranks, instead of the configured way", "NAME");
}

void add_compared_cut_options(Options& options) {
  add_options(options, "ways to cut the machine over ranks, instead of the configured one",
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
