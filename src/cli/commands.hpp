// The commands of the program. Each takes the words after its name and gives the exit code.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/config/document.hpp"

namespace tessera::cli {

using Words = std::vector<std::string>;

int run_command(const Words& words, comm::Communicator& world);
int check_command(const Words& words, comm::Communicator& world);
int list_command(const Words& words, comm::Communicator& world);
int show_command(const Words& words, comm::Communicator& world);
int scale_command(const Words& words, comm::Communicator& world);
int sweep_command(const Words& words, comm::Communicator& world);
int plan_command(const Words& words, comm::Communicator& world);
int traffic_command(const Words& words, comm::Communicator& world);
int systolic_command(const Words& words, comm::Communicator& world);
int export_command(const Words& words, comm::Communicator& world);

// Seconds between two lines of progress: one on a terminal, else ten.
std::chrono::seconds progress_period();

// Throws ConfigError when there is no folder at `path`.
void require_folder(const std::string& path);

// Rank 0 reads a file and tells the others, so that all fail alike.
config::TextLoader shared_loader(comm::Communicator& world);

}  // namespace tessera::cli
