#include "cut_options.hpp"

#include <string>

#include "commands.hpp"
#include "tessera/sim/weights.hpp"

namespace tessera::cli {

void add_cut_options(Options& options) {
  options.add()("partition", "how the machine is cut over ranks, instead of the configured way",
                cxxopts::value<std::string>(), "NAME")(
      "weights", "what makes a node heavy: none, predicted, or the folder of an earlier run",
      cxxopts::value<std::string>(),
      "WHAT")("synchronization", "how ranks keep in step", cxxopts::value<std::string>(), "NAME");
}

void apply_cut_options(const Options& options, sim::Experiment& experiment,
                       comm::Communicator& world) {
  if (options.has("partition")) {
    sim::use_partition(experiment, options.text("partition"));
  }
  if (options.has("weights")) {
    sim::use_weights(experiment, options.text("weights"), shared_loader(world));
  }
  if (options.has("synchronization")) {
    sim::use_synchronization(experiment, options.text("synchronization"));
  }
}

}  // namespace tessera::cli
