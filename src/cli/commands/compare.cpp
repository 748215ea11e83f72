#include <filesystem>
#include <system_error>

#include "output_file.hpp"
#include "python_tools.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/core/error.hpp"

namespace tessera::cli {
namespace {

int compare_command(const Words& words, comm::Communicator& world) {
  Options options("compare",
                  "Report differences between runs: configurations, times, breakdown by stage, "
                  "operators, collectives, hottest links and memory. Needs Python with h5py and "
                  "numpy.",
                  "run folder", "RUN RUN...");
  options.take_more()
      .add("o,output", "write one report of all runs, on equal scales", text_value(), "FILE.html")
      .add("json", "print one JSON object instead of tables")
      .add("all", "print all rows of tables, not only the first ones")
      .add("pictures", "draw maps of links and breakdowns into this folder, on equal scales",
           text_value(), "DIR")
      .add("q,quiet", "no progress");
  if (!options.parse(words, world)) {
    return 0;
  }
  const Words runs = options.subjects();
  if (runs.size() < 2) {
    throw ConfigError("give two run folders or more; see tessera compare --help");
  }
  Words passed;
  for (const char* name : {"output", "pictures"}) {
    if (options.has(name)) {
      passed.insert(passed.end(), {"--" + std::string(name), options.text(name)});
    }
  }
  for (const char* name : {"json", "all", "quiet"}) {
    if (options.flag(name)) {
      passed.push_back("--" + std::string(name));
    }
  }
  passed.emplace_back("--");
  for (const std::string& run : runs) {
    require_folder(run);
    passed.push_back(run);
  }
  // Before anything is printed.
  if (options.has("output")) {
    check_output(options.text("output"), begins_as_report, "compare", world);
  }
  std::error_code unknown;  // drawing will tell
  if (options.has("pictures") && std::filesystem::exists(options.text("pictures"), unknown) &&
      !std::filesystem::is_directory(options.text("pictures"), unknown)) {
    throw ConfigError({options.text("pictures"), 0, 0, "--pictures: is not a folder"});
  }
  return run_python("html.comparing", passed, world);
}

const Registration compare_registration(commands(),
                                        {"compare", "report differences between runs", {}},
                                        Command{"compare RUN RUN... [options]", compare_command});

}  // namespace
}  // namespace tessera::cli
