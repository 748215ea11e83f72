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
int export_command(const Words& words, comm::Communicator& world);

// Words as argc/argv for the option parser; `program` is what usage lines begin with.
class Arguments {
 public:
  Arguments(const std::string& program, const Words& words);
  int count() const { return static_cast<int>(pointers_.size()); }
  char** values() { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// Seconds between two lines of progress: one on a terminal, else ten.
std::chrono::seconds progress_period();

// Rank 0 reads a file and tells the others, so that all fail alike.
config::TextLoader shared_loader(comm::Communicator& world);

}  // namespace tessera::cli
