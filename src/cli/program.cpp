// The face of Tessera: the only place that prints results and decides exit codes.
#include "tessera/cli/program.hpp"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>

#include "command_tables.hpp"
#include "signals.hpp"
#include "terminal.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/version.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::cli {
namespace {

std::string usage() {
  std::string text =
      "usage: tessera COMMAND [...]\n"
      "Simulates machines of many accelerators at work on deep-learning models; runs alone or\n"
      "under mpirun.\n\n";
  for (const PartInfo& command : commands().infos()) {
    std::string left = "  " + commands().at(command.name).usage;
    left.resize(std::max<std::size_t>(left.size() + 2, 36), ' ');
    text += left + command.help + "\n";
  }
  text +=
      "  --version                         version, git hash, MPI and HDF5\n\n"
      "tessera COMMAND --help explains the options of one.\nExit codes:";
  for (const auto& [code, why] : exit_codes()) {
    text += (code == 0 ? " " : ", ") + std::to_string(code) + " " + why;
  }
  return text + ".\n";
}

int dispatch(const Words& words, comm::Communicator& world) {
  const bool first = world.rank() == 0;
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    if (first) {
      (words.empty() ? std::cerr : std::cout) << usage();
    }
    return words.empty() ? 2 : 0;
  }
  if (words[0] == "--version") {
    if (first) {
      std::cout << "tessera " << version() << " (" << git_hash()
                << "), MPI: " << comm::mpi_version() << ", HDF5 " << trace::hdf5_version() << "\n";
    }
    return 0;
  }
  return commands().at(words[0]).run(Words(words.begin() + 1, words.end()), world);
}

// Every rank reads the same input and is stopped with the others: one of them says so.
bool concerns_all(const Error& error) {
  return dynamic_cast<const ConfigError*>(&error) != nullptr ||
         dynamic_cast<const StopRequested*>(&error) != nullptr;
}

int fail(comm::Communicator& world, const std::string& what, int code, bool all) {
  if (!all || world.rank() == 0) {
    const std::string rank =
        all || world.size() == 1 ? "" : "rank " + std::to_string(world.rank()) + ": ";
    // In one piece: others may write at the same time.
    std::cerr << rank + what + "\n" << std::flush;
  }
  if (!all && world.size() > 1) {
    world.abort(code);
  }
  return code;
}

int guarded(const Words& words, comm::Communicator& world) {
  try {
    return dispatch(words, world);
  } catch (const comm::Aborted& aborted) {
    return aborted.code();
  } catch (const Error& error) {
    std::string what = error.what();
    if (what.find("error: ") == std::string::npos) {
      what = "error: " + what;
    }
    return fail(world, what, error.exit_code(), concerns_all(error));
  } catch (const std::bad_alloc&) {
    return fail(world, "error: " + sim::out_of_memory(0), 74, false);
  } catch (const std::exception& error) {
    return fail(world, std::string("internal error: ") + error.what(), 70, false);
  }
}

}  // namespace

Registry<Command>& commands() {
  static Registry<Command> registry("command");
  return registry;
}

std::chrono::seconds progress_period() {
  return std::chrono::seconds(isatty(STDERR_FILENO) == 1 ? 1 : 10);
}

void require_folder(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_directory(path, unknown)) {
    throw ConfigError("there is no folder '" + path + "'");
  }
}

config::TextLoader shared_loader(comm::Communicator& world) {
  return [&world](const std::string& path) {
    std::string message;
    if (world.rank() == 0) {
      try {
        message = "+" + config::load_text_file(path);
      } catch (const IoError& error) {
        message = std::string("-") + error.what();
      }
    }
    message = world.broadcast(message, 0);
    if (message.front() == '-') {
      throw IoError(message.substr(1));
    }
    return message.substr(1);
  };
}

int run_program(int argc, char** argv) {
  keep_requests();
  // A write beyond the file-size limit shall fail, and be reported, instead of killing the process.
  std::signal(SIGXFSZ, SIG_IGN);
  const PlainText results(std::cout);
  const PlainText messages(std::cerr);
  try {
    comm::Session session(argc, argv);
    const Words words(argv + 1, argv + argc);
    return guarded(words, session.world());
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 70;
  }
}

}  // namespace tessera::cli
