#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <numeric>

#include "options/cut_options.hpp"
#include "tables/check_json.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/core/text.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/cuts/weights.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/sim/slow_rates.hpp"

namespace tessera::cli {
namespace {

Options check_options() {
  Options options("check",
                  "Validate an experiment; print its configuration with all defaults, its "
                  "entities, the memory that a run needs, how far its traffic travels, and the "
                  "partition.",
                  "experiment", "EXPERIMENT.yaml");
  options.add_settings();
  options.add("ranks", "number of ranks of the run", text_value("1"), "N");
  options.add("json", "print one JSON object");
  add_cut_options(options);
  return options;
}

std::string in_thousandths(double value) {
  return format_number(std::round(value * 1000) / 1000);
}

// Of more ranks than a screen shows, the first and last.
std::string rank_table(const sim::Experiment& experiment, const machine::Partition& partition) {
  constexpr std::size_t most_rows = 64;
  TextTable table({"rank", "nodes", "share of weight"});
  const std::size_t ranks = partition.members.size();
  const std::vector<std::uint64_t> sums =
      machine::loads_of(partition, sim::node_weights(experiment));
  const auto total =
      static_cast<double>(std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (ranks > most_rows && rank == most_rows / 2) {
      table.add({"…"});
      rank = ranks - most_rows / 2;
    }
    table.add({std::to_string(rank), std::to_string(partition.members[rank].size()),
               in_thousandths(100 * static_cast<double>(sums[rank]) / total) + " %"});
  }
  return table.to_string();
}

// What there is to do, and how long it takes at least.
void print_job(const sim::Experiment& experiment, const sim::PlacedJob& placed, TextTable& entities,
               TextTable& run) {
  const sim::JobDescription description = placed.job->describe(experiment);
  for (const auto& [what, number] : description.entities) {
    entities.add({what, number});
  }
  std::cout << entities.to_string() << description.tables;
  if (!description.ideal.empty()) {
    run.add({(placed.name.empty() ? "" : placed.name + ": ") + description.ideal,
             to_string(placed.job->ideal_time)});
  }
}

// What each cut would give; empty where nothing can be predicted.
std::string cut_table(const sim::Experiment& experiment, int ranks) {
  const std::vector<sim::CutPrediction> cuts = sim::predict_cuts(experiment, ranks);
  if (cuts.empty()) {
    return "";
  }
  TextTable table({"cut", "speed-up", "waits of a rank", "messages", "imbalance"});
  for (const sim::CutPrediction& cut : cuts) {
    table.add({cut.name, in_thousandths(cut.speed_up()), std::to_string(cut.waits),
               std::to_string(cut.messages), in_thousandths(cut.imbalance)});
  }
  return "\n# cuts over " + std::to_string(ranks) + " ranks, predicted for an iteration\n" +
         table.to_string();
}

void print(const sim::Experiment& experiment, int ranks) {
  const sim::CutChoice cut = sim::choose_cut(experiment, ranks, ranks);
  const sim::Forecast forecast = sim::forecast(experiment, cut.partition);
  const machine::Machine& machine = experiment.machine;
  std::cout << "# configuration, with defaults\n" << experiment.resolved << "\n";
  std::cout << "# entities\n";
  TextTable entities({"what", "number"});
  entities.add({"nodes", std::to_string(machine.topology->nodes())});
  entities.add({"directed links", std::to_string(forecast.links)});
  entities.add({"DRAM channels", std::to_string(machine.channels.size())});
  TextTable run({"what", "value"});
  if (experiment.only_job() != nullptr) {
    print_job(experiment, experiment.jobs.front(), entities, run);
  } else {
    entities.add({"tenants", std::to_string(experiment.jobs.size())});
    std::cout << entities.to_string();
    for (const sim::PlacedJob& placed : experiment.jobs) {
      std::cout << "\n# tenant " << placed.name << "\n";
      TextTable own({"what", "number"});
      own.add({"tiles", std::to_string(placed.tiles.size())});
      own.add({"begins at", to_string(placed.start)});
      own.add({"iterations", std::to_string(placed.job->iterations)});
      print_job(experiment, placed, own, run);
    }
  }
  std::cout << "\n# the run\n";
  run.add({"lookahead", to_string(forecast.lookahead)});
  run.add({"predicted memory of the largest rank",
           std::to_string(forecast.largest_bytes / (1U << 20)) + " MiB"});
  run.add({"partition", experiment.options.partition});
  if (ranks > 1) {
    run.add({"cut", cut.reason});
  }
  run.add({"synchronization", sim::synchronization_of(experiment)});
  run.add({"weights", experiment.options.weights});
  run.add({"directed links cut",
           std::to_string(forecast.partition.cut_links) + " (" +
               in_thousandths(100 * static_cast<double>(forecast.partition.cut_links) /
                              static_cast<double>(std::max<std::uint64_t>(1, forecast.links))) +
               " % of all)"});
  run.add({"imbalance by weight", in_thousandths(forecast.partition.imbalance)});
  std::cout << run.to_string();
  if (ranks > 1) {
    std::cout << cut_table(experiment, ranks) << "\n# ranks\n"
              << rank_table(experiment, forecast.partition);
  }
  if (!forecast.notes.empty()) {
    std::cout << "\n# notes\n";
  }
  for (const std::string& note : forecast.notes) {
    std::cout << note << "\n";
  }
  std::cout << "ok\n";
}

[[noreturn]] void refuse_rate(const TimeTooLong& error, const Options& options) {
  throw ConfigError(sim::slow_rate(
      error,
      sim::read_configuration(options.subject(), options.settings(), config::load_text_file)));
}

void refuse_endless(const sim::Experiment& experiment, const Options& options) {
  try {
    sim::refuse_endless(experiment);
  } catch (const TimeTooLong& error) {
    refuse_rate(error, options);
  }
}

int check_command(const Words& words, comm::Communicator& world) {
  Options options = check_options();
  if (!options.parse(words, world)) {
    return 0;
  }
  const std::int64_t asked = options.number("ranks", 1, std::numeric_limits<int>::max());
  const int ranks = world.size() > 1 ? world.size() : static_cast<int>(asked);
  sim::Experiment experiment =
      sim::read_experiment(options.subject(), options.settings(), shared_loader(world));
  refuse_endless(experiment, options);
  apply_cut_options(options, experiment, world);
  if (world.rank() != 0) {
    return 0;
  }
  try {
    if (options.flag("json")) {
      std::cout << check_json(experiment, ranks);
    } else {
      print(experiment, ranks);
    }
  } catch (const TimeTooLong& error) {  // of what is predicted
    refuse_rate(error, options);
  }
  return 0;
}

const Registration check_registration(
    commands(), {"check", "validate an experiment and report what a run would need", {}},
    Command{"check EXPERIMENT.yaml [options]", check_command});

}  // namespace
}  // namespace tessera::cli
