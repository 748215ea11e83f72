#include <iostream>
#include <limits>

#include "commands.hpp"
#include "options.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/trace/chrome_export.hpp"

namespace tessera::cli {
namespace {

Options describe() {
  Options options("export",
                  "Turn the trace of a run into a timeline for Perfetto or chrome://tracing.",
                  "run folder", "DIR");
  options.add()("format", "chrome", cxxopts::value<std::string>()->default_value("chrome"), "NAME")(
      "o,output", "file to write (default: DIR/trace.json.gz)", cxxopts::value<std::string>(),
      "FILE")("stage", "only this pipeline stage (repeatable)",
              cxxopts::value<std::vector<std::string>>(),
              "N")("tile", "only this tile, by node number (repeatable)",
                   cxxopts::value<std::vector<std::string>>(), "N")(
      "from", "from this simulated time on, e.g. '2 ms'", cxxopts::value<std::string>(), "TIME")(
      "to", "up to this simulated time", cxxopts::value<std::string>(), "TIME")(
      "limit", "most events to write, the earliest ones",
      cxxopts::value<std::string>()->default_value("1000000"), "N");
  return options;
}

}  // namespace

int export_command(const Words& words, comm::Communicator& world) {
  Options options = describe();
  if (!options.parse(words, world)) {
    return 0;
  }
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  trace::ChromeExportOptions request;
  request.folder = options.subject();
  if (const std::string format = options.text("format"); format != "chrome") {
    const std::vector<std::string> formats{"chrome"};
    throw ConfigError("--format: " + unknown_name("format", format, formats));
  }
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
  if (world.rank() != 0) {
    return 0;
  }
  require_folder(request.folder);
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
