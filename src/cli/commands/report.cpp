#include "output_file.hpp"
#include "python_tools.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"

namespace tessera::cli {
namespace {

int report_command(const Words& words, comm::Communicator& world) {
  Options options("report",
                  "Write the report of a run or of a sweep: one HTML file that needs no network, "
                  "with summary, what to try next, breakdown, timeline, links over time, memory, "
                  "operators and collectives. Needs Python with h5py and numpy.",
                  "run folder", "RUN");
  options.add("o,output", "where to write it (default: RUN/report.html)", text_value(), "FILE.html")
      .add("operators",
           "operators that the timeline shows one by one; others are summed up in bins",
           text_value("250000"), "N")
      .add("q,quiet", "say nothing while it works");
  if (!options.parse(words, world)) {
    return 0;
  }
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
