// What commands read beside experiments: machine files, sweeps, traffic, and files that these and
// experiments name; and small ones that are tables of a kind.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "../../src/explore/calibrate/measurements.hpp"
#include "readers.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/section_info.hpp"
#include "tessera/explore/campaign.hpp"
#include "tessera/explore/sweep.hpp"
#include "tessera/memory/dram/spec.hpp"
#include "tessera/onnx/description.hpp"
#include "tessera/sim/cuts/weights.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/machine_file.hpp"
#include "tessera/sim/sections.hpp"
#include "tessera/sim/traffic/traffic.hpp"
#include "tessera/workload/chakra/chakra.hpp"

namespace tessera::fuzz {
namespace {

constexpr explore::PointNumber most_points = 64;

// Files of an input, the first of which is the main one, and settings ("set KEY=VALUE") of the
// command line.
struct Given {
  std::string main;
  std::vector<std::string> settings;
  std::map<std::string, std::string> files;
};

Given given_by(const Bundle& bundle) {
  constexpr std::string_view setting = "set ";
  Given given;
  for (const auto& [name, text] : bundle.parts) {
    if (name.starts_with(setting)) {
      given.settings.push_back(name.substr(setting.size()));
      continue;
    }
    const std::string path = path_of_experiment(name);
    given.main = given.main.empty() ? path : given.main;
    given.files.try_emplace(path, text);
  }
  return given;
}

void read_sweep(const Given& given, const config::TextLoader& load) {
  const explore::Sweep sweep = explore::read_sweep(given.main, given.settings, load);
  if (sweep.axes.points() <= most_points) {
    explore::choose_points(sweep, load);
  }
  const auto resolved = [&](const std::string& asked) {
    return asked == given.main ? sweep.resolved : load(asked);
  };
  if (explore::read_sweep(given.main, {}, resolved).resolved != sweep.resolved) {
    broken("a resolved sweep is resolved otherwise:\n" + sweep.resolved);
  }
}

// The mapping of a file, whose keys are those that `declare` and `read` know.
template <class Declare, class Read>
void read_section(std::string_view bytes, const Declare& declare, const Read& read) {
  config::Diagnostics diagnostics;
  config::Value root = config::parse("fuzzed.yaml", std::string(bytes), diagnostics);
  diagnostics.throw_if_any();
  config::Section section(std::move(root), "", diagnostics);
  section.declare(declare);
  read(section);
  section.finish();
  diagnostics.throw_if_any();
}

void read_campaign(std::string_view bytes) {
  explore::Campaign campaign;
  read_section(
      bytes, [] { return section_of_keys("Tessera campaign", "", explore::campaign_parameters()); },
      [&](config::Section& section) { return campaign = explore::read_campaign(section); });
  constexpr std::uint32_t most_trials = 2;
  campaign.trials = std::min(campaign.trials, most_trials);
  explore::outlook_of(campaign);
}

// Settings of a command line, one a line, of an experiment that is there.
void read_settings(std::string_view bytes) {
  std::vector<std::string> settings;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    settings.emplace_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  sim::read_configuration(path_of_experiment("quickstart.yaml"), settings, load_from_tree);
}

void read_placement(std::string_view bytes, const char* name) {
  const std::string text =
      "strategy: {placement: {layout: given, tiles: " + std::string(name) + "}}\n";
  sim::read_configuration(path_of_experiment("fuzzed.yaml"), {}, [&](const std::string& asked) {
    return asked == path_of_experiment("fuzzed.yaml") ? text : std::string(bytes);
  });
}

}  // namespace

void read_machines(std::string_view bytes) {
  const Bundle bundle = split(bytes);
  const Given given = given_by(bundle);
  const auto load = [&](const std::string& asked) {
    const auto found = given.files.find(path_of_experiment(asked));
    return found != given.files.end() ? found->second : load_from_tree(asked);
  };
  if (given.main.empty()) {
    return;
  }
  if (bundle.kind == "machine") {
    sim::read_machine_file(given.main, given.settings, load);
  } else if (bundle.kind == "sweep") {
    read_sweep(given, load);
  } else if (bundle.kind == "traffic") {
    sim::read_traffic(given.main, given.settings, load);
  } else if (bundle.kind == "experiment") {
    sim::read_experiment(given.main, given.settings, load);
  }
}

void read_tables(std::string_view bytes) {
  const unsigned choice = take_choice(bytes);
  const auto load = [&](const std::string&) { return std::string(bytes); };
  switch (choice % 8) {
    case 0:
      read_campaign(bytes);
      return;
    case 1:
      read_section(
          bytes, [] { return sim::sections_of_file("dram"); }, memory::read_dram_spec);
      return;
    case 2:
      read_section(
          bytes, [] { return section_of_keys("", "", onnx::description_parameters()); },
          onnx::read_description);
      return;
    case 3:
      workload::read_groups("fuzzed.json", load);
      return;
    case 4: {
      config::Diagnostics diagnostics;
      explore::read_measurements("fuzzed.csv", std::string(bytes), diagnostics);
      diagnostics.throw_if_any();
      return;
    }
    case 5:
      sim::read_node_events("fuzzed.txt", 4, load);
      return;
    case 6:
      read_settings(bytes);
      return;
    default:
      read_placement(bytes, choice / 8 % 2 == 0 ? "places.csv" : "places.yaml");
      return;
  }
}

}  // namespace tessera::fuzz
