#include "output_file.hpp"
#include "python_tools.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/core/error.hpp"

namespace tessera::cli {
namespace {

// They are compared by another command.
void refuse_several(const Words& runs) {
  if (runs.size() < 2) {
    return;
  }
  std::string all;
  for (const std::string& run : runs) {
    all += " " + run;
  }
  throw ConfigError("tessera report takes one run or sweep, not " + std::to_string(runs.size()) +
                    "; tessera compare" + all + " -o FILE.html writes the report of several runs");
}

int report_command(const Words& words, comm::Communicator& world) {
  Options options("report",
                  "Write the report of a run or of a sweep: one HTML file that needs no network, "
                  "with summary, what to try next, breakdown, timeline, links over time, memory, "
                  "operators and collectives. Needs Python with h5py and numpy.",
                  "run folder", "RUN");
  options.take_more()
      .add("o,output", "file to write (default: RUN/report.html)", text_value(), "FILE.html")
      .add("operators",
           "number of operators that the timeline shows individually; others are summed in bins",
           text_value("250000"), "N")
      .add("q,quiet", "no progress");
  if (!options.parse(words, world)) {
    return 0;
  }
  refuse_several(options.subjects());
  require_folder(options.subject());
  Words passed{"--operators", std::to_string(options.number("operators", 0, 100'000'000))};
  if (options.has("output")) {
    check_output(options.text("output"), begins_as_report, "report", world);
    passed.insert(passed.end(), {"--output", options.text("output")});
  }
  if (options.flag("quiet")) {
    passed.emplace_back("--quiet");
  }
  passed.insert(passed.end(), {"--", options.subject()});
  return run_python("html", passed, world);
}

const Registration report_registration(commands(),
                                       {"report", "write a run or a sweep as one HTML file", {}},
                                       Command{"report RUN [-o FILE.html]", report_command});

}  // namespace
}  // namespace tessera::cli
