#include "cut_options.hpp"

#include <string>

#include "commands.hpp"
#include "tessera/sim/weights.hpp"

namespace tessera::cli {

void add_cut_options(cxxopts::Options& options) {
  options.add_options()("partition",
                        "how the machine is cut over ranks, instead of the configured way",
                        cxxopts::value<std::string>(), "NAME")(
      "weights", "what makes a node heavy: none, predicted, or the folder of an earlier run",
      cxxopts::value<std::string>(),
      "WHAT")("synchronization", "how ranks keep in step", cxxopts::value<std::string>(), "NAME");
}

void apply_cut_options(const cxxopts::ParseResult& options, sim::Experiment& experiment,
                       comm::Communicator& world) {
  if (options.count("partition") > 0) {
    sim::use_partition(experiment, options["partition"].as<std::string>());
  }
  if (options.count("weights") > 0) {
    sim::use_weights(experiment, options["weights"].as<std::string>(), shared_loader(world));
  }
  if (options.count("synchronization") > 0) {
    sim::use_synchronization(experiment, options["synchronization"].as<std::string>());
  }
}

}  // namespace tessera::cli
