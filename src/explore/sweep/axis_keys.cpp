#include "sweep/axis_keys.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include "sweep/part_paths.hpp"
#include "tessera/core/error.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::explore {
namespace {

constexpr std::size_t most_trials = 8;

// Complaints about unknown and missing keys at a point, and about keys in what has none, such as a
// part that stands in a file, by their text.
using Faults = std::map<std::string, Diagnostic>;

bool is_of_keys(const Diagnostic& each) {
  return each.message.find(": unknown key") != std::string::npos ||
         each.message.find(": missing") != std::string::npos ||
         each.message.ends_with("cannot be set in it");
}

// `files`: those that the point names, where it can be read.
Faults faults_of_keys(const Sweep& sweep, PointNumber point, const config::TextLoader& load,
                      std::optional<std::vector<std::string>>& files) {
  std::vector<std::string> settings = sweep.overrides;
  const std::vector<std::string> own = sweep.axes.overrides(sweep.axes.places(point));
  settings.insert(settings.end(), own.begin(), own.end());
  Faults faults;
  try {
    files = sim::read_experiment(sweep.experiment, settings, load).files;
  } catch (const ConfigError& error) {
    for (const Diagnostic& each : error.diagnostics()) {
      if (is_of_keys(each)) {
        faults.emplace(each.message, each);
      }
    }
  }
  return faults;
}

// Values of axes are seen from the present folder, as all settings are.
void add_files_of_axes(const Sweep& sweep, std::vector<std::string>& files) {
  for (const Axis& axis : sweep.axes.list()) {
    for (const AxisKey& key : axis.keys) {
      for (const config::Value& value : key.values) {
        std::error_code ignored;
        if (value.kind == config::Value::Kind::scalar &&
            std::filesystem::is_regular_file(value.text, ignored)) {
          files.push_back(std::filesystem::absolute(value.text).lexically_normal().string());
        }
      }
    }
  }
}

// A key that an axis set is to blame where the sweep has it.
Diagnostic placed(const Sweep& sweep, Diagnostic diagnostic) {
  for (const Axis& axis : sweep.axes.list()) {
    for (const AxisKey& key : axis.keys) {
      if (diagnostic.file.starts_with("--set " + key.key + "=")) {
        diagnostic.file = key.place.file;
        diagnostic.line = key.place.line;
        diagnostic.column = key.place.column;
        return diagnostic;
      }
    }
  }
  return diagnostic;
}

}  // namespace

void load_parts(const Sweep& sweep, const config::TextLoader& load) {
  config::Diagnostics diagnostics;
  for (const Axis& axis : sweep.axes.list()) {
    for (const AxisKey& key : axis.keys) {
      for (const config::Value& value : key.values) {
        if (!names_part(key.key, value)) {
          continue;
        }
        try {
          load(from_present_folder(key.key, value).text);
        } catch (const IoError& error) {
          diagnostics.error(value.place, key.key + ": " + error.what());
        }
      }
    }
  }
  diagnostics.throw_if_any();
}

std::vector<std::string> check_keys(const Sweep& sweep, const std::vector<PointNumber>& points,
                                    const config::TextLoader& load) {
  const config::Value experiment = sim::read_configuration(sweep.experiment, sweep.overrides, load);
  if (experiment.kind != config::Value::Kind::mapping) {
    throw ConfigError(Diagnostic{sweep.experiment, 1, 1,
                                 "is no experiment; expected keys such as machine and workload"});
  }
  const std::size_t trials = std::min(points.size(), most_trials);
  std::optional<Faults> everywhere;
  std::optional<std::vector<std::string>> files;
  for (std::size_t trial = 0; trial < trials; ++trial) {
    const Faults here = faults_of_keys(sweep, points[trial * points.size() / trials], load, files);
    if (!everywhere) {
      everywhere = here;
    }
    std::erase_if(*everywhere, [&](const auto& each) { return !here.contains(each.first); });
    if (everywhere->empty() && files) {
      break;
    }
  }
  if (!everywhere || everywhere->empty()) {
    std::vector<std::string> all = files.value_or(std::vector<std::string>());
    add_files_of_axes(sweep, all);
    return all;
  }
  std::vector<Diagnostic> diagnostics;
  for (const auto& [message, diagnostic] : *everywhere) {
    diagnostics.push_back(placed(sweep, diagnostic));
  }
  throw ConfigError(std::move(diagnostics));
}

}  // namespace tessera::explore
