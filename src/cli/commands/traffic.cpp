#include <filesystem>
#include <iostream>

#include "output_file.hpp"
#include "process/signals.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/core/error.hpp"
#include "tessera/sim/traffic/traffic.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::cli {
namespace {

bool wants_json(const std::string& file) {
  const std::string ending = std::filesystem::path(file).extension().string();
  if (ending != ".json" && ending != ".csv") {
    throw ConfigError("--output: '" + file + "' must end in .csv or .json");
  }
  return ending == ".json";
}

int traffic_command(const Words& words, comm::Communicator& world) {
  Options options("traffic",
                  "Send random messages over a machine's network, at one load after another, and "
                  "print their latency and the accepted throughput.",
                  "file with a machine and its traffic", "TRAFFIC.yaml");
  options.add("o,output", "write the points as .csv or .json; an earlier file is replaced",
              text_value(), "FILE");
  options.add_settings();
  if (!options.parse(words, world)) {
    return 0;
  }
  const std::string output = options.has("output") ? options.text("output") : "";
  const bool json = !output.empty() && wants_json(output);
  const sim::TrafficExperiment experiment =
      sim::read_traffic(options.subject(), options.settings(), shared_loader(world));
  if (!output.empty()) {
    check_output(output, trace::begins_as_traffic_report, "traffic", world);
  }
  SignalWatch signals;
  const trace::TrafficReport report = sim::measure_traffic(
      experiment, world, [&] { return signals.stop_requested(); },
      [&](const trace::TrafficPoint& point) {
        std::cerr << "info: rate " << point.rate << ": " << point.status << std::endl;
      });
  if (world.rank() == 0) {
    std::cout << trace::to_table(report);
    if (!output.empty()) {
      trace::write_file_atomically(output, json ? trace::to_json(report) : trace::to_csv(report));
      std::cout << "written to " << output << "\n";
    }
  }
  return report.points.size() == experiment.rates.size() ? 0 : 75;
}

const Registration traffic_registration(
    commands(), {"traffic", "measure latency and throughput of a network under synthetic load", {}},
    Command{"traffic TRAFFIC.yaml [options]", traffic_command});

}  // namespace
}  // namespace tessera::cli
