// The options that say how ranks share the work, common to several commands.
#pragma once

#include "tessera/cli/options.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::cli {

// --partition, --weights and --synchronization.
void add_cut_options(Options& options);
// The same for a command that compares partitions: several with commas between.
void add_compared_cut_options(Options& options);

// They change no result, and leave the configuration and its hash as they are. Throws ConfigError
// for a name that does not exist, and when weights cannot be read. Collective.
void apply_cut_options(const Options& options, sim::Experiment& experiment,
                       comm::Communicator& world);
// All but the partition.
void apply_options_of_ranks(const Options& options, sim::Experiment& experiment,
                            comm::Communicator& world);

}  // namespace tessera::cli
