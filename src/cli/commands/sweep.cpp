#include <chrono>
#include <iostream>
#include <limits>

#include "process/signals.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/core/error.hpp"
#include "tessera/explore/sweep.hpp"

namespace tessera::cli {
namespace {

using WallClock = std::chrono::steady_clock;

Options sweep_options() {
  Options options("sweep", "Simulate one experiment at many points of a space of its keys.",
                  "sweep file", "SWEEP.yaml");
  options.add_settings("set a key of the experiment at all points: key.path=value (repeatable)");
  options.add("o,output", "folder of the results (default: out/NAME)", text_value(), "DIR")
      .add("resume", "continue the sweep in DIR: run what is missing", text_value(), "DIR")
      .add("top", "number of rows to print", text_value("10"), "N")
      .add("json", "print the whole table as JSON")
      .add("q,quiet", "no progress");
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

explore::SweepOutcome go(const Options& options, comm::Communicator& world,
                         const explore::SweepHooks& hooks) {
  if (options.has("resume")) {
    options.refuse_beside_resume("the folder", {"set", "output"});
    return explore::resume_sweep(options.text("resume"), world, shared_loader(world), hooks);
  }
  const std::string folder = options.has("output") ? options.text("output") : "";
  return explore::run_sweep(options.subject(), options.settings(), folder, world,
                            shared_loader(world), hooks);
}

int sweep_command(const Words& words, comm::Communicator& world) {
  Options options = sweep_options();
  if (!options.parse(words, world)) {
    return 0;
  }
  if (options.flag("json") && options.has("top")) {
    throw ConfigError("--json prints all rows; it does not go together with --top");
  }
  const std::int64_t rows = options.number("top", 0, std::numeric_limits<std::uint32_t>::max());
  SignalWatch signals;
  explore::SweepHooks hooks;
  hooks.stop_requested = [&] { return signals.stop_requested(); };
  if (world.rank() == 0 && !options.flag("quiet")) {
    hooks.on_note = [](const std::string& text) { std::cerr << "info: " << text << std::endl; };
    hooks.on_point = ProgressLine(world);
  }
  const explore::SweepOutcome outcome = go(options, world, hooks);
  const bool none = outcome.finished == 0;
  if (world.rank() == 0) {
    if (options.flag("json")) {
      std::cout << explore::to_json(outcome.table, outcome.folder, outcome.complete) << std::flush;
    } else {
      std::cout << explore::to_table(outcome.table, static_cast<std::size_t>(rows)) << "results in "
                << outcome.folder << std::endl;
    }
    if (!outcome.complete) {
      std::cerr << "error: a stop was requested; tessera sweep --resume " << outcome.folder
                << " goes on" << std::endl;
    } else if (none) {
      std::cerr << "error: no point finished" << std::endl;
    }
  }
  return !outcome.complete ? stopped_exit_code : none ? 3 : 0;
}

const Registration sweep_registration(
    commands(), {"sweep", "simulate an experiment at many points of a space of its keys", {}},
    Command{"sweep SWEEP.yaml [options]", sweep_command});

}  // namespace
}  // namespace tessera::cli
