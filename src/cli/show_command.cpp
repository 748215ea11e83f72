#include <filesystem>
#include <iostream>

#include "commands.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::cli {

int show_command(const Words& words, comm::Communicator& world) {
  if (words.size() != 1 || words[0] == "--help" || words[0] == "-h") {
    if (words.size() == 1) {
      std::cout
          << "usage: tessera show DIR\nPrints the summary of a run and what is wrong with its "
             "files, if anything.\n";
      return 0;
    }
    throw ConfigError("show takes the folder of a run");
  }
  if (world.rank() != 0) {
    return 0;
  }
  const trace::Summary summary =
      trace::read_summary((std::filesystem::path(words[0]) / "summary.json").string());
  std::cout << trace::to_table(summary);
  int code = 0;
  if (summary.status != "running") {
    for (const std::string& problem : trace::verify_run_folder(words[0])) {
      std::cerr << "error: " << problem << "\n";
      code = 74;
    }
  }
  return code;
}

}  // namespace tessera::cli
