#include <algorithm>
#include <filesystem>
#include <iostream>

#include "output_file.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/core/error.hpp"
#include "tessera/drawing/drawing.hpp"
#include "tessera/explore/table/table.hpp"
#include "tessera/sim/machine_file.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::cli {
namespace {

// Of Graphviz text and of SVG.
bool begins_as_drawing(std::string_view beginning) {
  return beginning.starts_with("// tessera show") ||
         (beginning.starts_with("<svg") &&
          beginning.find("tessera show") != std::string_view::npos);
}

bool wants_svg(const std::string& file) {
  const std::string ending = std::filesystem::path(file).extension().string();
  if (ending != ".svg" && ending != ".dot" && ending != ".gv") {
    throw ConfigError("--output: '" + file + "' must end in .svg, or in .dot for Graphviz");
  }
  return ending == ".svg";
}

int show_topology(const Options& options, comm::Communicator& world) {
  const std::string output = options.has("output") ? options.text("output") : "";
  const bool svg = !output.empty() && wants_svg(output);
  const machine::Machine machine =
      sim::read_machine_file(options.subject(), options.settings(), shared_loader(world));
  if (!output.empty()) {
    check_output(output, begins_as_drawing, "show", world);
  }
  if (world.rank() != 0) {
    return 0;
  }
  const drawing::Drawing drawing = drawing::draw(machine, options.flag("all"));
  const std::string text = svg ? drawing::to_svg(drawing) : drawing::to_dot(drawing);
  if (output.empty()) {
    std::cout << text;
  } else {
    trace::write_file_atomically(output, text);
    std::cout << "written to " << output << "\n";
  }
  return 0;
}

int show_command(const Words& words, comm::Communicator& world) {
  Options options("show",
                  "Print the summary of a run and any errors in its files; or draw a machine.",
                  "run folder or machine", "DIR");
  options.add("topology", "draw the machine of MACHINE.yaml or EXPERIMENT.yaml")
      .add("o,output",
           "with --topology: write a .svg, or a .dot for Graphviz (default: print the .dot)",
           text_value(), "FILE")
      .add("all", "with --topology: draw every node, however many there are");
  options.add("json", "print the summary as one JSON object");
  options.add_settings("with --topology: set a key, machine.path=value (repeatable)");
  if (!options.parse(words, world)) {
    return 0;
  }
  if (options.flag("topology")) {
    if (options.flag("json")) {
      throw ConfigError("--json is for the summary of a run, not for --topology");
    }
    return show_topology(options, world);
  }
  for (const char* name : {"output", "all", "set"}) {
    if (options.has(name)) {
      throw ConfigError("--" + std::string(name) + " is for --topology");
    }
  }
  const std::string folder = options.subject();
  if (world.rank() != 0) {
    return 0;
  }
  require_folder(folder);
  const std::filesystem::path path = std::filesystem::path(folder) / "summary.json";
  if (!std::filesystem::exists(path) && explore::holds_sweep(folder)) {
    throw ConfigError({folder, 0, 0, "is a sweep; tessera report shows its points"});
  }
  const trace::Summary summary = trace::read_summary(path.string());
  std::cout << (options.flag("json") ? trace::to_json(summary) : trace::to_table(summary));
  int code = 0;
  if (summary.status != "running") {
    for (const std::string& problem : trace::verify_run_folder(folder)) {
      std::cerr << "error: " << problem << "\n";
      code = 74;
    }
  }
  return code;
}

const Registration show_registration(
    commands(), {"show", "print a finished run as a table, or draw a machine", {}},
    Command{"show DIR", show_command});

}  // namespace
}  // namespace tessera::cli
