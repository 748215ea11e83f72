// `tessera import --from`: configurations of other simulators as files of ours.
#pragma once

#include "tessera/cli/options.hpp"
#include "tessera/comm/communicator.hpp"

namespace tessera::cli {

// --from, --with, --output and --force.
void add_migration_options(Options& options);

// Reads, looks whether what would be written is good, writes it, or prints it without --output, and
// says what was not carried over. Throws ConfigError before anything is written. Collective.
int migrate_files(const Options& options, comm::Communicator& world);

}  // namespace tessera::cli
