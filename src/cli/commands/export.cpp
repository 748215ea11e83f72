#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>

#include "output_file.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/comm/first_rank.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/chrome/export.hpp"
#include "tessera/workload/chakra/chakra.hpp"

namespace tessera::cli {
namespace {

Options export_options() {
  Options options("export",
                  "Convert the trace of a run to a timeline for Perfetto or chrome://tracing, or "
                  "the work of an experiment to Chakra execution traces.",
                  "run folder or experiment", "DIR | EXPERIMENT.yaml");
  options
      .add("format", "chrome (of a run folder), or chakra (of an experiment)", text_value("chrome"),
           "NAME")
      .add("o,output",
           "file to write (default: DIR/trace.json.gz); chakra: prefix of PREFIX.<npu>.et and "
           "PREFIX.json",
           text_value(), "FILE")
      .add("tenant", "chakra: tenant to export, if there are several", text_value(), "NAME")
      .add("stage", "chrome: only this pipeline stage (repeatable)", texts_value(), "N")
      .add("tile", "chrome: only the tile with this node number (repeatable)", texts_value(), "N")
      .add("from", "chrome: from this simulated time on, e.g. '2 ms'", text_value(), "TIME")
      .add("to", "chrome: up to this simulated time", text_value(), "TIME")
      .add("limit", "chrome: maximum number of events to write, the earliest ones",
           text_value("1000000"), "N");
  options.add_settings("chakra: set a key: key.path=value (repeatable)");
  return options;
}

// Options of the one format beside the other.
void refuse_mixed(const Options& options, const std::string& format) {
  const bool is_chrome = format == "chrome";
  for (const char* name : {"stage", "tile", "from", "to", "limit"}) {
    if (!is_chrome && options.has(name)) {
      throw ConfigError("--" + std::string(name) +
                        " is for the timeline of a run, not for --format chakra");
    }
  }
  for (const char* name : {"tenant", "set"}) {
    if (is_chrome && options.has(name)) {
      throw ConfigError("--" + std::string(name) + " is for --format chakra");
    }
  }
}

void export_chrome(const Options& options) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  trace::ChromeExportOptions request;
  request.folder = options.subject();
  if (options.has("output")) {
    request.output = options.text("output");
  }
  request.stages = options.numbers("stage", 0, most);
  for (const std::int64_t tile :
       options.numbers("tile", 0, std::numeric_limits<std::uint32_t>::max())) {
    request.tiles.push_back(static_cast<std::uint32_t>(tile));
  }
  request.from = options.value<SimTime>("from").value_or(SimTime::zero());
  request.to = options.value<SimTime>("to").value_or(SimTime::never());
  request.limit = static_cast<std::uint64_t>(options.number("limit", 0, most));
  require_folder(request.folder);
  const trace::ChromeExport result = trace::export_chrome(request);
  std::cout << result.output << ": " << result.slices << " slices, " << result.messages
            << " messages, " << result.bins << " counter bins";
  if (result.left_out > 0) {
    std::cout << "; " << result.left_out << " beyond the limit left out, complete until "
              << to_string(result.complete_until);
  }
  std::cout << std::endl;
}

// The only one, or the one that is asked for.
const sim::Job& job_of(const sim::Experiment& experiment, const Options& options) {
  const bool is_asked = options.has("tenant");
  if (!is_asked && experiment.single_job() != nullptr) {
    return *experiment.single_job();
  }
  std::vector<std::string> names;
  for (const sim::PlacedJob& placed : experiment.jobs) {
    if (is_asked && placed.name == options.text("tenant")) {
      return *placed.job;
    }
    names.push_back(placed.name);
  }
  if (experiment.only_job() != nullptr) {
    throw ConfigError("--tenant: there are no tenants, but one workload");
  }
  throw ConfigError(is_asked ? "--tenant: " + unknown_name("tenant", options.text("tenant"), names)
                             : "execution traces are of one workload, and these are " +
                                   std::to_string(names.size()) +
                                   "; choose one by --tenant: " + join(names));
}

void note_algorithms(const plan::Strategy& strategy) {
  for (const auto& [key, algorithm] :
       {std::pair{"tensor", strategy.tensor_algorithm}, {"data", strategy.data_algorithm}}) {
    if (algorithm != plan::usual_algorithm) {
      std::cout << "note: strategy.collectives." << key
                << " is not in execution traces, whose collectives use execution.collectives of "
                   "the experiment that runs them"
                << std::endl;
    }
  }
}

void export_chakra(const Options& options) {
  if (!options.has("output")) {
    throw ConfigError("--output: the prefix of the traces is needed");
  }
  if (std::filesystem::is_directory(options.subject())) {
    throw ConfigError(options.subject() +
                      ": a folder, and execution traces are of an experiment (EXPERIMENT.yaml)");
  }
  const sim::Experiment experiment =
      sim::read_experiment(options.subject(), options.settings(), config::load_text_file);
  const sim::Job& job = job_of(experiment, options);
  const auto source = job.graphs(experiment);
  make_folder_of(options.text("output"));
  workload::write_chakra(*source, options.text("output"));
  std::cout << workload::chakra_path(options.text("output"), 0) << " … for " << source->npus()
            << " NPUs" << std::endl;
  if (const sim::PlannedWork* const planned = job.planned()) {
    note_algorithms(planned->plan.strategy);
  }
}

int export_command(const Words& words, comm::Communicator& world) {
  Options options = export_options();
  if (!options.parse(words, world)) {
    return 0;
  }
  const std::string format = options.text("format");
  if (format != "chrome" && format != "chakra") {
    const std::vector<std::string> formats{"chrome", "chakra"};
    throw ConfigError("--format: " + unknown_name("format", format, formats));
  }
  refuse_mixed(options, format);
  if (format == "chrome" && options.has("output")) {
    comm::on_first_rank(world, [&] { make_folder_of(options.text("output")); });
    check_output(options.text("output"), trace::begins_as_chrome_export, "export", world);
  }
  if (world.rank() != 0) {
    return 0;
  }
  if (format == "chrome") {
    export_chrome(options);
  } else {
    export_chakra(options);
  }
  return 0;
}

const Registration export_registration(commands(),
                                       {"export", "convert a trace to other formats", {}},
                                       Command{"export DIR --format chrome", export_command});

}  // namespace
}  // namespace tessera::cli
