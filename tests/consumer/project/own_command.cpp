// A command of one's own, in one file: `wires EXPERIMENT.yaml` adds up the links of a machine.
#include <iostream>

#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/sim/experiment.hpp"

namespace {

using namespace tessera;

int wires(const cli::Words& words, comm::Communicator& world) {
  cli::Options options("wires", "Adds up the links of a machine.", "experiment", "EXPERIMENT.yaml");
  options.add_settings();
  options.add("unit", "of the sum", cli::one_of_value({"GB/s", "Gbit/s"}, "GB/s"), "UNIT");
  if (!options.parse(words, world)) {
    return 0;
  }
  const sim::Experiment experiment =
      sim::read_experiment(options.subject(), options.settings(), cli::shared_loader(world));
  const machine::Topology& topology = *experiment.machine.topology;
  double sum = 0;  // bytes a second
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    for (unsigned port = 0; port < topology.ports(EntityId(node)); ++port) {
      const machine::Link link = topology.link(EntityId(node), port);
      if (link.to != EntityId::none()) {
        sum += static_cast<double>(
            topology.link_classes()[link.link_class].bandwidth.bytes_per_second());
      }
    }
  }
  if (world.rank() == 0) {
    const bool bits = options.text("unit") == "Gbit/s";
    std::cout << topology.links() << " links, " << sum * (bits ? 8e-9 : 1e-9) << " "
              << options.text("unit") << "\n";
  }
  return 0;
}

const Registration registration(cli::commands(), {"wires", "add up the links of a machine", {}},
                                cli::Command{"wires EXPERIMENT.yaml [options]", wires});

}  // namespace
