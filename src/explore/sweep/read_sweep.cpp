// Reads sweep files.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "sweep/columns.hpp"
#include "sweep/part_paths.hpp"
#include "sweep/service_columns.hpp"
#include "tessera/config/conditional_key.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/name.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/section_info.hpp"
#include "tessera/core/text.hpp"
#include "tessera/explore/sweep.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::explore {
namespace {

using config::Diagnostics;
using config::Section;
using config::Value;

using config::OptionalKey;
using config::OtherKey;

const config::DerivedKey<std::string> name_key{"name", "the file's name", "title"};
const OtherKey experiment_key{"experiment", "file", "",
                              "path of the experiment, relative to the sweep file"};
const OtherKey set_key{"set", "mapping", "none",
                       "keys of the experiment that have one value at all points"};
const OtherKey axes_key{"axes", "mapping", "",
                        "keys that vary, each with a list of values or a range; may be left out "
                        "if linked is given"};
const OtherKey linked_key{"linked", "list of mapping", "none",
                          "keys whose values advance together"};
const OtherKey constraints_key{"constraints", "list of text", "none",
                               "conditions that a point must meet to be run"};
const config::NameKey sample_key{"sample", [] { return std::vector<std::string>{"grid"}; }, "grid",
                                 "grid: all points; or a mapping: this many different points"};
const config::RequiredKey<std::uint64_t> random_key{"sample.random",
                                                    "number of points, drawn from the seed alone",
                                                    config::between<std::uint64_t>(1, 1'000'000)};
const config::Key<std::uint64_t> seed_key{"sample.seed", 0, "seed of the random numbers"};
const OptionalKey<std::string> maximize_key{
    "objective.maximize", default_objective,
    "column whose largest value is best; the default for synthetic traffic alone is instead the "
    "least measured.latency_mean_ps, for one served model with targets services.NAME.met_per_s"};
const OptionalKey<std::string> minimize_key{"objective.minimize", "none",
                                            "instead of maximize: column whose smallest value is "
                                            "best"};
const config::ListKey<std::string> report_key{
    "report", {}, "additional columns: numbers of summary.json"};
const OptionalKey<SimTime> wall_key{"limit.wall", "none",
                                    "wall-clock time after which a point is abandoned",
                                    config::at_least(SimTime::from_ps(1'000'000'000))};

// Those that have the name in theirs; all, when none has.
std::vector<std::string> columns_like(const std::string& name) {
  const std::string part = name.starts_with(measured_head) ? std::string(measured_head)
                           : is_of_services(name)          ? name.substr(0, name.find('.') + 1)
                                                           : name;
  std::vector<std::string> like = known_columns();
  std::erase_if(like,
                [&](const std::string& known) { return known.find(part) == std::string::npos; });
  return like.empty() ? known_columns() : like;
}

class SweepReader {
 public:
  SweepReader(const std::string& path, const std::vector<std::string>& overrides,
              const config::TextLoader& load, Value root)
      : path_(path), overrides_(overrides), load_(load), root_(std::move(root)) {}

  Sweep read() {
    Section section(root_, "", diagnostics_);
    section.declare([] { return section_of_keys("Tessera sweep", "", sweep_parameters()); });
    sweep_.name = config::checked_name(
        section, "name", name_key.read(section, std::filesystem::path(path_).stem().string()));
    sweep_.experiment = section.get_file(experiment_key.key());
    check_experiment(section);
    read_settings(section.section(set_key.key()));
    sweep_.axes = Axes::read(section);
    read_constraints(section);
    read_sample(section);
    read_columns(section);
    read_limit(section.section("limit"));
    section.finish();
    diagnostics_.throw_if_any();
    sweep_.resolved = section.resolved_yaml();
    return std::move(sweep_);
  }

 private:
  void check_experiment(Section& section) {
    if (!section.has("experiment")) {
      return;  // complained about
    }
    try {
      load_(sweep_.experiment);
    } catch (const IoError& error) {
      section.error("experiment", error.what());
    }
  }

  void read_settings(Section settings) {
    for (const std::string& key : settings.keys()) {
      const Value value = from_present_folder(key, settings.raw(key));
      sweep_.overrides.push_back(key + "=" + config::to_inline_yaml(value));
    }
    sweep_.overrides.insert(sweep_.overrides.end(), overrides_.begin(), overrides_.end());
  }

  void read_constraints(Section& section) {
    const Value list = section.raw(constraints_key.key());
    if (list.kind != Value::Kind::sequence && section.has("constraints")) {
      section.error("constraints", "expected a list of conditions");
      return;
    }
    for (const Value& item : list.items) {
      if (item.kind != Value::Kind::scalar) {
        diagnostics_.error(item.place, "constraints: expected a condition such as tensor <= 8");
        continue;
      }
      config::Place place = item.place;
      place.column += item.quoted ? 1 : 0;
      try {
        sweep_.constraints.emplace_back(item.text, place);
      } catch (const ConfigError& error) {
        add(error);
      }
    }
  }

  void read_sample(Section& section) {
    const Value value = section.raw(sample_key.key());
    if (value.kind == Value::Kind::mapping) {
      Section sample = section.section(sample_key.key());
      sweep_.sample_points = random_key.read(sample);
      sweep_.seed = seed_key.read(sample);
    } else {
      sample_key.read(section);
    }
  }

  void read_columns(Section& section) {
    Section objective = section.section("objective");
    const auto largest = maximize_key.read(objective);
    const auto smallest = minimize_key.read(objective);
    if (largest && smallest) {
      objective.error("minimize", "an objective is maximized or minimized, not both");
    }
    const Value experiment = this->experiment();
    sweep_.objective = usual_objective(experiment, work_varies());
    if (smallest || largest) {
      sweep_.objective = {smallest ? *smallest : *largest, !smallest};
    }
    const std::vector<std::string> asked = report_key.read(section);
    const auto column = [&](const std::string& name, Section& where, const char* key) {
      if (!is_column(name)) {
        where.error(key, unknown_name("column", name, columns_like(name)));
      } else if (const std::string complaint =
                     not_measured(name, experiment) + not_served(name, experiment);
                 !complaint.empty()) {
        where.error(key, complaint);
      } else if (std::find(sweep_.columns.begin(), sweep_.columns.end(), name) ==
                 sweep_.columns.end()) {
        sweep_.columns.push_back(name);
      }
    };
    column(sweep_.objective.column, objective, smallest ? "minimize" : "maximize");
    for (const std::string& name : usual_columns(experiment, work_varies())) {
      column(name, section, "report");
    }
    for (const std::string& name : asked) {
      column(name, section, "report");
    }
  }

  // Why no point measures it; empty: it is measured, or axes may lead to other work.
  std::string not_measured(const std::string& name, const Value& experiment) const {
    const std::vector<std::string> there = measured_columns(experiment);
    if (!name.starts_with(measured_head) || experiment.kind == Value::Kind::null || work_varies() ||
        std::find(there.begin(), there.end(), name) != there.end()) {
      return "";
    }
    return there.empty() ? "'" + name + "': the work of the experiment measures nothing"
                         : unknown_name("column", name, there);
  }

  // Why no point serves it, as above. Numbered services are empty where there are fewer.
  std::string not_served(const std::string& name, const Value& experiment) const {
    if (!is_of_services(name) || experiment.kind == Value::Kind::null || work_varies()) {
      return "";
    }
    const std::vector<std::string> there = served_names(experiment);
    if (there.empty()) {
      return "'" + name + "': the work of the experiment serves no requests";
    }
    const ServiceColumn column = *split_name(name);
    return column.is_numbered() || is_served(column.service, there)
               ? ""
               : unknown_name("service", column.service, there);
  }

  // Whether points may have other tenants, or other kinds of work.
  bool work_varies() const {
    constexpr std::array<std::string_view, 4> names{"workload", "tenants", "kind", "name"};
    for (const Axis& axis : sweep_.axes.list()) {
      for (const AxisKey& key : axis.keys) {
        const std::string last = key.key.substr(key.key.rfind('.') + 1);
        const bool is_number = last.find_first_not_of("0123456789") == std::string::npos;
        if (is_number || std::find(names.begin(), names.end(), last) != names.end()) {
          return true;
        }
      }
    }
    return false;
  }

  // Nothing where it cannot be read, as each point will say.
  Value experiment() const {
    try {
      return sim::read_configuration(sweep_.experiment, sweep_.overrides, load_);
    } catch (const ConfigError&) {
      return {};
    }
  }

  void read_limit(Section limit) {
    const std::optional<SimTime> wall = wall_key.read(limit);
    sweep_.wall_limit_s = wall ? wall->seconds() : 0;
  }

  void add(const ConfigError& error) {
    for (const Diagnostic& each : error.diagnostics()) {
      diagnostics_.error({each.file, each.line, each.column}, each.message);
    }
  }

  const std::string& path_;
  const std::vector<std::string>& overrides_;
  const config::TextLoader& load_;
  Value root_;
  Diagnostics diagnostics_;
  Sweep sweep_;
};

}  // namespace

std::vector<ParameterInfo> sweep_parameters() {
  return {name_key,   experiment_key,  set_key,      config::where_used(axes_key),
          linked_key, constraints_key, sample_key,   random_key,
          seed_key,   maximize_key,    minimize_key, report_key,
          wall_key};
}

Sweep read_sweep(const std::string& path, const std::vector<std::string>& overrides,
                 const config::TextLoader& load) {
  Diagnostics diagnostics;
  Value root = config::parse(path, config::load_named(path, load), diagnostics);
  if (root.kind == Value::Kind::null && diagnostics.empty()) {
    diagnostics.error({path, 1, 1}, "the file is empty; a sweep names an experiment and axes");
  }
  diagnostics.throw_if_any();
  return SweepReader(path, overrides, load, std::move(root)).read();
}

}  // namespace tessera::explore
