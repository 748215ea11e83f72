#include <algorithm>
#include <bit>
#include <chrono>
#include <iostream>
#include <limits>
#include <optional>
#include <utility>

#include "options/cut_options.hpp"
#include "output_file.hpp"
#include "process/signals.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/core/text.hpp"
#include "tessera/sim/scaling/scaling.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::cli {
namespace {

// InfiniBand HDR as Microsoft Learn, "HBv3-series virtual machine performance", measures it with
// the OSU micro-benchmarks: 1.2 us for a byte, 192 Gb/s one way.
constexpr double latency_s = 1.2e-6;
constexpr double bandwidth = 24e9;
constexpr double promise_s = 300e-9;
constexpr const char* network_source = "InfiniBand HDR, Microsoft Learn: HBv3 performance (OSU)";

Options scale_options() {
  Options options("scale", "Predict the speed-up on many ranks from one run on one rank.",
                  "experiment", "EXPERIMENT.yaml");
  options.add_settings();
  options.add("ranks", "numbers of ranks, e.g. 2,4,16", text_value(), "N,…")
      .add("o,output", "write the prediction as JSON; an earlier one is replaced", text_value(),
           "FILE")
      .add("event-time", "processor time of an event (default: measured)", text_value(), "TIME")
      .add("remote-event-time",
           "additional processor time of an event that crosses ranks (default: 20 ns)",
           text_value(), "TIME")
      .add("message-latency", "latency of a batch of events to another rank (default: 1.2 us)",
           text_value(), "TIME")
      .add("bandwidth", "bandwidth of a rank, in one direction (default: 24 GB/s)", text_value(),
           "RATE")
      .add("reduction-latency",
           "latency of a reduction over all ranks, not counting its steps (default: 0 ps)",
           text_value(), "TIME")
      .add("reduction-step",
           "latency of each of the log2 P steps of a reduction (default: under mpirun, measured "
           "on these ranks; else the latency of a message)",
           text_value(), "TIME")
      .add("promise-time",
           "processor time of an exchange between two ranks, on each of them (default: 300 ns)",
           text_value(), "TIME")
      .add("wait-messages",
           "number of messages from a request to a rank until its answer is received",
           text_value("2"), "N")
      .add("exchange-events",
           "number of events after which a rank sends data that was not requested",
           text_value("256"), "N")
      .add("calibration",
           "maximum processor time of the part of the run that measures the time of an event",
           text_value("10"), "S");
  add_compared_cut_options(options);
  return options;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

std::vector<int> ranks_of(const std::string& text) {
  std::vector<int> ranks;
  for (const std::string& part : parts_of(text)) {
    std::string problem;
    const auto number = config::parse_as<std::int64_t>(part, problem);
    if (!number || *number < 1 || *number > std::numeric_limits<int>::max()) {
      throw ConfigError("--ranks: expected numbers of ranks such as 2,4,16, found '" + text + "'");
    }
    ranks.push_back(static_cast<int>(*number));
  }
  return ranks;
}

// Each once, in order.
std::vector<std::string> partitions_of(const Options& options) {
  std::vector<std::string> names;
  if (options.has("partition")) {
    for (const std::string& name : parts_of(options.text("partition"))) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  return names;
}

// A cost as given, or else by default, with its source.
void set_cost(trace::ScalingCosts& costs, double trace::ScalingCosts::*member,
              const std::string& name, std::optional<double> given, double otherwise,
              const std::string& source) {
  costs.*member = given.value_or(otherwise);
  costs.sources.emplace_back(name, given ? "given" : source);
}

// A number that an option has by default, from `least` on.
double number_from(const Options& options, const std::string& name, double least) {
  const double number = *options.value<double>(name);
  if (!(number >= least)) {
    throw ConfigError("--" + name + " must not be below " + format_number(least));
  }
  return number;
}

void set_promise_costs(trace::ScalingCosts& costs, const Options& options,
                       std::optional<double> exchange) {
  using Costs = trace::ScalingCosts;
  set_cost(costs, &Costs::promise_s, "promise_s", exchange, promise_s,
           "assumed: a quarter of a message is processor time");
  set_cost(costs, &Costs::wait_messages, "wait_messages", std::nullopt,
           number_from(options, "wait-messages", 1), "question and answer are two");
  set_cost(costs, &Costs::exchange_events, "exchange_events", std::nullopt,
           number_from(options, "exchange-events", 0), "assumed");
}

trace::ScalingCosts costs_of(const Options& options, comm::Communicator& world) {
  const auto seconds = [&](const std::string& name) -> std::optional<double> {
    const auto time = options.value<SimTime>(name);
    return time ? std::optional(time->seconds()) : std::nullopt;
  };
  using Costs = trace::ScalingCosts;
  Costs costs;
  if (const auto event = seconds("event-time")) {
    if (*event <= 0) {
      throw ConfigError("--event-time must be above zero");
    }
    set_cost(costs, &Costs::event_s, "event_s", event, 0, "");
  }
  set_cost(costs, &Costs::remote_event_s, "remote_event_s", seconds("remote-event-time"), 20e-9,
           "assumed: two copies and a look-up");
  set_cost(costs, &Costs::message_latency_s, "message_latency_s", seconds("message-latency"),
           latency_s, network_source);
  std::optional<double> rate;
  if (const auto given = options.value<Bandwidth>("bandwidth")) {
    rate = static_cast<double>(given->bytes_per_second());
    if (*rate <= 0) {
      throw ConfigError("--bandwidth must be above zero");
    }
  }
  set_cost(costs, &Costs::bandwidth, "bandwidth", rate, bandwidth, network_source);
  set_cost(costs, &Costs::reduction_s, "reduction_s", seconds("reduction-latency"), 0,
           "assumed: the steps are all");
  double step = costs.message_latency_s;
  std::string source = "a message a step, recursive doubling";
  const bool given = options.has("reduction-step") || options.has("reduction-latency");
  if (world.size() > 1 && !given) {
    const auto steps = static_cast<int>(std::bit_width(static_cast<unsigned>(world.size() - 1)));
    step = sim::measure_reduction(world) / steps;
    source = "measured: a reduction on " + world.description();
  }
  set_cost(costs, &Costs::reduction_step_s, "reduction_step_s", seconds("reduction-step"), step,
           source);
  set_cost(costs, &Costs::reduction_entry_s, "reduction_entry_s", std::nullopt, 3e-9,
           "assumed: compared twice and read once, in cache");
  set_promise_costs(costs, options, seconds("promise-time"));
  return costs;
}

int scale_command(const Words& words, comm::Communicator& world) {
  Options options = scale_options();
  if (!options.parse(words, world)) {
    return 0;
  }
  const std::string path = options.subject();
  if (!options.has("ranks")) {
    throw ConfigError("no numbers of ranks given, such as --ranks 2,4,16");
  }
  sim::ScalingRequest request;
  request.ranks = ranks_of(options.text("ranks"));
  request.calibration_s = *options.value<double>("calibration");
  if (!(request.calibration_s > 0)) {
    throw ConfigError("--calibration must be above zero");
  }
  request.costs = costs_of(options, world);
  sim::Experiment experiment = sim::read_experiment(path, options.settings(), shared_loader(world));
  request.partitions = partitions_of(options);
  apply_options_of_ranks(options, experiment, world);
  if (options.has("output")) {
    check_output(options.text("output"), trace::begins_as_scaling_report, "scale", world);
  }
  if (world.rank() != 0) {
    return 0;  // the others were there to be measured
  }
  SignalWatch signals;
  auto told = std::chrono::steady_clock::now();
  request.stop_requested = [&] { return signals.stop_requested(); };
  request.on_note = [](const std::string& text) { std::cerr << "info: " << text << std::endl; };
  request.on_progress = [&](double share) {
    const auto now = std::chrono::steady_clock::now();
    if (now - told >= std::chrono::seconds(10)) {
      told = now;
      std::cerr << "info: " << static_cast<int>(share * 100) << " % done" << std::endl;
    }
  };
  const trace::ScalingReport report = sim::predict_scaling(experiment, request);
  std::cout << trace::to_table(report);
  if (options.has("output")) {
    trace::write_file_atomically(options.text("output"), trace::to_json(report));
    std::cout << "written to " << options.text("output") << std::endl;
  }
  return 0;
}

const Registration scale_registration(
    commands(), {"scale", "predict the speed-up on many ranks from one run", {}},
    Command{"scale EXPERIMENT.yaml --ranks 2,4,...", scale_command});

}  // namespace
}  // namespace tessera::cli
