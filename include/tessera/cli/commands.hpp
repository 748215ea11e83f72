// The commands of the program, each a file that registers itself. A command takes the words after
// its name and gives the exit code.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"

namespace tessera::cli {

using Words = std::vector<std::string>;

// Of what ended on request and can be gone on with.
inline constexpr int stopped_exit_code = 75;

struct Command {
  std::string usage;  // of `tessera --help`: "run EXPERIMENT.yaml [options]"
  std::function<int(const Words&, comm::Communicator&)> run;
};
Registry<Command>& commands();

// Seconds between two lines of progress: one on a terminal, else ten.
std::chrono::seconds progress_period();

// Throws ConfigError when there is no folder at `path`.
void require_folder(const std::string& path);

// Rank 0 reads a file and tells the others, so that all fail alike.
config::TextLoader shared_loader(comm::Communicator& world);

}  // namespace tessera::cli
