#include <chrono>
#include <cxxopts.hpp>
#include <iostream>

#include "commands.hpp"
#include "signals.hpp"
#include "tessera/explore/sweep.hpp"

namespace tessera::cli {
namespace {

using WallClock = std::chrono::steady_clock;

constexpr int stopped_exit_code = 75;

cxxopts::Options describe() {
  cxxopts::Options options("tessera sweep",
                           "Simulate one experiment at many points of a space of its keys.");
  options.positional_help("SWEEP.yaml");
  options.add_options()("sweep", "the sweep file", cxxopts::value<std::string>())(
      "set", "set a key of the experiment at all points: key.path=value (repeatable)",
      cxxopts::value<std::vector<std::string>>(), "KEY=VALUE")(
      "o,output", "folder of the results (default: out/NAME)", cxxopts::value<std::string>(),
      "DIR")("resume", "go on with the sweep in DIR: run what is missing",
             cxxopts::value<std::string>(), "DIR")(
      "top", "rows of the table that is printed", cxxopts::value<unsigned>()->default_value("10"),
      "N")("q,quiet", "no progress")("h,help", "this text");
  options.parse_positional({"sweep"});
  return options;
}

// A line about once a second on a terminal, else every ten seconds.
class ProgressLine {
 public:
  explicit ProgressLine(const comm::Communicator& world)
      : ranks_(world.size()), period_(progress_period()) {}

  void operator()(std::size_t done, std::size_t all, std::size_t failed) {
    const WallClock::time_point now = WallClock::now();
    if (now - told_ < period_) {
      return;
    }
    told_ = now;
    const std::chrono::duration<double> spent = now - began_;
    const double left_s =
        spent.count() / static_cast<double>(done) * static_cast<double>(all - done);
    std::cerr << "info: " << (ranks_ > 1 ? "rank 0: " : "") << done << " of " << all << " points, "
              << failed << " failed, " << static_cast<long>(left_s) << " s left" << std::endl;
  }

 private:
  int ranks_;
  std::chrono::seconds period_;
  WallClock::time_point began_ = WallClock::now();
  WallClock::time_point told_ = began_;
};

explore::SweepOutcome go(const cxxopts::ParseResult& options, comm::Communicator& world,
                         const explore::SweepHooks& hooks) {
  std::vector<std::string> overrides;
  if (options.count("set") > 0) {
    overrides = options["set"].as<std::vector<std::string>>();
  }
  if (options.count("resume") > 0) {
    for (const char* other : {"sweep", "set", "output"}) {
      if (options.count(other) > 0) {
        throw ConfigError(
            std::string("--resume goes on with what the folder holds; it does not go "
                        "together with ") +
            (other == std::string("sweep") ? "a sweep file" : "--" + std::string(other)));
      }
    }
    return explore::resume_sweep(options["resume"].as<std::string>(), world, shared_loader(world),
                                 hooks);
  }
  if (options.count("sweep") == 0) {
    throw ConfigError("no sweep file given; see tessera sweep --help");
  }
  const std::string folder =
      options.count("output") > 0 ? options["output"].as<std::string>() : std::string();
  return explore::run_sweep(options["sweep"].as<std::string>(), overrides, folder, world,
                            shared_loader(world), hooks);
}

}  // namespace

int sweep_command(const Words& words, comm::Communicator& world) {
  cxxopts::Options description = describe();
  Arguments arguments("tessera sweep", words);
  const cxxopts::ParseResult options = description.parse(arguments.count(), arguments.values());
  if (options.count("help") > 0) {
    std::cout << (world.rank() == 0 ? description.help() : "");
    return 0;
  }
  SignalWatch signals;
  explore::SweepHooks hooks;
  hooks.stop_requested = [&] { return signals.stop_requested(); };
  if (world.rank() == 0 && options.count("quiet") == 0) {
    hooks.on_note = [](const std::string& text) { std::cerr << "info: " << text << std::endl; };
    hooks.on_point = ProgressLine(world);
  }
  const explore::SweepOutcome outcome = go(options, world, hooks);
  const bool none = outcome.finished == 0;
  if (world.rank() == 0) {
    std::cout << trace::to_table(outcome.table, options["top"].as<unsigned>()) << "results in "
              << outcome.folder << std::endl;
    if (!outcome.complete) {
      std::cerr << "error: a stop was requested; tessera sweep --resume " << outcome.folder
                << " goes on" << std::endl;
    } else if (none) {
      std::cerr << "error: no point finished" << std::endl;
    }
  }
  return !outcome.complete ? stopped_exit_code : none ? 3 : 0;
}

}  // namespace tessera::cli
