#include <filesystem>
#include <iostream>

#include "commands.hpp"
#include "options.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::cli {

int show_command(const Words& words, comm::Communicator& world) {
  Options options("show",
                  "Print the summary of a run and what is wrong with its files, if anything.",
                  "run folder", "DIR");
  if (!options.parse(words, world)) {
    return 0;
  }
  const std::string folder = options.subject();
  if (world.rank() != 0) {
    return 0;
  }
  require_folder(folder);
  const trace::Summary summary =
      trace::read_summary((std::filesystem::path(folder) / "summary.json").string());
  std::cout << trace::to_table(summary);
  int code = 0;
  if (summary.status != "running") {
    for (const std::string& problem : trace::verify_run_folder(folder)) {
      std::cerr << "error: " << problem << "\n";
      code = 74;
    }
  }
  return code;
}

}  // namespace tessera::cli
