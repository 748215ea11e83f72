#include <cxxopts.hpp>
#include <iostream>
#include <limits>

#include "commands.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/trace/chrome_export.hpp"

namespace tessera::cli {
namespace {

cxxopts::Options describe() {
  cxxopts::Options options("tessera export",
                           "Turn the trace of a run into a timeline for Perfetto or "
                           "chrome://tracing.");
  options.positional_help("DIR");
  options.add_options()("folder", "the run folder", cxxopts::value<std::string>())(
      "format", "chrome", cxxopts::value<std::string>()->default_value("chrome"), "NAME")(
      "o,output", "file to write (default: DIR/trace.json.gz)", cxxopts::value<std::string>(),
      "FILE")("stage", "only this pipeline stage (repeatable)",
              cxxopts::value<std::vector<std::int64_t>>(),
              "N")("tile", "only this tile, by node number (repeatable)",
                   cxxopts::value<std::vector<std::int64_t>>(), "N")(
      "from", "from this simulated time on, e.g. '2 ms'", cxxopts::value<std::string>(), "TIME")(
      "to", "up to this simulated time", cxxopts::value<std::string>(), "TIME")(
      "limit", "most events to write, the earliest ones",
      cxxopts::value<std::uint64_t>()->default_value("1000000"), "N")("h,help", "this text");
  options.parse_positional({"folder"});
  return options;
}

SimTime time_of(const cxxopts::ParseResult& options, const std::string& name, SimTime otherwise) {
  if (options.count(name) == 0) {
    return otherwise;
  }
  std::string problem;
  const auto time = config::parse_as<SimTime>(options[name].as<std::string>(), problem);
  if (!time) {
    throw ConfigError("--" + name + ": " + problem);
  }
  return *time;
}

}  // namespace

int export_command(const Words& words, comm::Communicator& world) {
  cxxopts::Options description = describe();
  Arguments arguments("tessera export", words);
  const cxxopts::ParseResult options = description.parse(arguments.count(), arguments.values());
  if (options.count("help") > 0) {
    std::cout << (world.rank() == 0 ? description.help() : "");
    return 0;
  }
  if (options.count("folder") == 0) {
    throw ConfigError("no run folder given; see tessera export --help");
  }
  if (const auto format = options["format"].as<std::string>(); format != "chrome") {
    const std::vector<std::string> formats{"chrome"};
    throw ConfigError("--format: " + unknown_name("format", format, formats));
  }
  if (world.rank() != 0) {
    return 0;
  }
  trace::ChromeExportOptions request;
  request.folder = options["folder"].as<std::string>();
  if (options.count("output") > 0) {
    request.output = options["output"].as<std::string>();
  }
  if (options.count("stage") > 0) {
    request.stages = options["stage"].as<std::vector<std::int64_t>>();
  }
  if (options.count("tile") > 0) {
    for (const std::int64_t tile : options["tile"].as<std::vector<std::int64_t>>()) {
      if (tile < 0 || tile > std::numeric_limits<std::uint32_t>::max()) {
        throw ConfigError("--tile: no tile has the number " + std::to_string(tile));
      }
      request.tiles.push_back(static_cast<std::uint32_t>(tile));
    }
  }
  request.from = time_of(options, "from", SimTime::zero());
  request.to = time_of(options, "to", SimTime::never());
  request.limit = options["limit"].as<std::uint64_t>();
  const trace::ChromeExport result = trace::export_chrome(request);
  std::cout << result.output << ": " << result.slices << " slices, " << result.messages
            << " messages, " << result.bins << " counter bins";
  if (result.left_out > 0) {
    std::cout << "; " << result.left_out << " beyond the limit left out, complete until "
              << to_string(result.complete_until);
  }
  std::cout << std::endl;
  return 0;
}

}  // namespace tessera::cli
