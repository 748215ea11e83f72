// The face of Tessera: the only place that prints results and decides exit codes.
#include "tessera/cli/program.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <new>
#include <system_error>
#include <utility>

#include "json_error.hpp"
#include "process/signals.hpp"
#include "process/terminal.hpp"
#include "tables/command_tables.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/version.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/sim/slow_rates.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::cli {
namespace {

std::string usage() {
  std::string text =
      "usage: tessera COMMAND [...]\n"
      "Simulates machines with many accelerators that run deep-learning models; runs as one\n"
      "process or under mpirun.\n\n";
  for (const PartInfo& command : commands().infos()) {
    std::string left = "  " + commands().at(command.name).usage;
    left.resize(std::max<std::size_t>(left.size() + 2, 36), ' ');
    text += left + command.help + "\n";
  }
  text +=
      "  --version                         version, git hash, MPI and HDF5\n\n"
      "tessera COMMAND --help explains the options of a command.\nExit codes:";
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
  if (dynamic_cast<const sim::RateTooLow*>(&error) != nullptr) {
    return false;
  }
  return dynamic_cast<const ConfigError*>(&error) != nullptr ||
         dynamic_cast<const StopRequested*>(&error) != nullptr;
}

std::string with_kind(const std::string& what) {
  return (what.find("error: ") == std::string::npos ? "error: " : "") + what;
}

// One call of the program: what it was asked for, by whom, and what it has printed.
class Call {
 public:
  Call(Words words, comm::Communicator& world, const PlainText& results)
      : words_(std::move(words)), world_(world), results_(results) {}

  int guarded() {
    try {
      return dispatch(words_, world_);
    } catch (const comm::Aborted& aborted) {
      return aborted.code();
    } catch (const Error& error) {
      const bool all = concerns_all(error);
      return fail(with_kind(error.what()), error_json(error, rank_of(all)), error.exit_code(), all);
    } catch (const std::bad_alloc&) {
      return fail_alone("error: " + sim::out_of_memory(0), 74);
    } catch (const std::system_error& error) {
      // Of a thread: no place for its stack, or no more of them allowed.
      return error.code() == std::errc::resource_unavailable_try_again
                 ? fail_alone("error: a thread cannot start: " + sim::out_of_memory(0), 74)
                 : fail_alone(std::string("internal error: ") + error.what(), 70);
    } catch (const std::exception& error) {
      return fail_alone(std::string("internal error: ") + error.what(), 70);
    }
  }

 private:
  // The rank that an error is of; -1: all ranks have it.
  int rank_of(bool all) const { return all || world_.size() == 1 ? -1 : world_.rank(); }

  int fail_alone(const std::string& what, int code) {
    return fail(what, error_json(what, code, rank_of(false)), code, false);
  }

  int fail(const std::string& what, const trace::JsonText& json, int code, bool all) {
    if (!all || world_.rank() == 0) {
      const int rank = rank_of(all);
      // In one piece: others may write at the same time.
      std::cerr << (rank < 0 ? "" : "rank " + std::to_string(rank) + ": ") + what + "\n"
                << std::flush;
      if (asks_for_json(words_) && !results_.was_used()) {
        std::cout << json.to_line() + "\n" << std::flush;
      }
    }
    if (!all && world_.size() > 1) {
      world_.abort(code);
    }
    return code;
  }

  Words words_;
  comm::Communicator& world_;
  const PlainText& results_;
};

// The exit code once all results are where they should be. A reader that has gone away wants none.
int told(int code, const PlainText& results) {
  const int failure = results.flush();
  if (failure == 0 || failure == EPIPE) {
    return code;
  }
  std::cerr << "error: standard output: " << std::generic_category().message(failure) << std::endl;
  return code == 0 ? IoError("").exit_code() : code;
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
    throw ConfigError({path, 0, 0, "there is no such folder"});
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
    const int code = Call(Words(argv + 1, argv + argc), session.world(), results).guarded();
    return told(code, results);
  } catch (const Error& error) {
    std::cerr << with_kind(error.what()) << std::endl;
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    std::cerr << "error: " << sim::out_of_memory(0) << std::endl;
    return 74;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 70;
  }
}

}  // namespace tessera::cli
