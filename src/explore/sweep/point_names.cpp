#include "sweep/point_names.hpp"

#include <algorithm>
#include <limits>

#include "machine_and_work.hpp"
#include "tessera/core/text.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::explore {
namespace {

using config::Value;

constexpr std::array fact_names{"devices", "layers", "batch"};

// Whether `name` is the key or ends it: "tensor" and "strategy.tensor" name "strategy.tensor".
bool names_key(const std::string& name, const std::string& key) {
  return key == name || key.ends_with("." + name);
}

std::size_t levels_of(const std::string& key) {
  return static_cast<std::size_t>(std::count(key.begin(), key.end(), '.'));
}

bool changes_facts(const std::string& key) {
  return key.starts_with("machine") || key.starts_with("workload");
}

std::optional<Rational> counted(std::uint64_t count) {
  return count <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
             ? std::optional(Rational(static_cast<std::int64_t>(count)))
             : std::nullopt;
}

// Whether a key of a strategy has a default that a condition can be about, wherever it stands: not
// a list, nor below names of the user's own, nor in words.
bool has_one_default(const ParameterInfo& parameter) {
  const bool is_name = std::find(parameter.names.begin(), parameter.names.end(),
                                 parameter.default_value) != parameter.names.end();
  return (parameter.is_value && !parameter.type.starts_with("list") &&
          parameter.name.find(".NAME.") == std::string::npos) ||
         is_name;
}

}  // namespace

PointNames::PointNames(const Sweep& sweep, const config::TextLoader& load)
    : sweep_(sweep), load_(load) {
  if (sweep.constraints.empty()) {
    return;
  }
  for (std::size_t axis = 0; axis < sweep.axes.list().size(); ++axis) {
    const std::vector<AxisKey>& keys = sweep.axes.list()[axis].keys;
    if (std::any_of(keys.begin(), keys.end(),
                    [](const AxisKey& key) { return changes_facts(key.key); })) {
      fact_axes_.push_back(axis);
    }
  }
  collect_keys(sim::read_configuration(sweep.experiment, sweep.overrides, load), "");
  for (const ParameterInfo& parameter : plan::strategy_parameters()) {
    if (!has_one_default(parameter)) {
      continue;
    }
    const std::string key = "strategy." + parameter.name;
    const bool given = std::any_of(keys_.begin(), keys_.end(),
                                   [&](const Candidate& known) { return known.key == key; });
    if (!given) {
      Value value;
      value.text = parameter.default_value;
      keys_.push_back({key, scalar_from(value)});
    }
  }
  for (const Expression& constraint : sweep.constraints) {
    std::vector<Source>& sources = sources_.emplace_back();
    for (const Expression::Name& name : constraint.names()) {
      sources.push_back(resolve(constraint, name));
    }
  }
}

void PointNames::collect_keys(const Value& mapping, const std::string& path) {
  for (const Value::Member& member : mapping.members) {
    const std::string key = path.empty() ? member.key : path + "." + member.key;
    if (member.value.kind == Value::Kind::mapping) {
      collect_keys(member.value, key);
    } else if (member.value.kind == Value::Kind::scalar) {
      keys_.push_back({key, scalar_from(member.value)});
    }
  }
}

PointNames::Source PointNames::resolve(const Expression& expression,
                                       const Expression::Name& name) const {
  if (std::optional<Source> source = among_axes(expression, name)) {
    return *std::move(source);
  }
  const auto fact = std::find(fact_names.begin(), fact_names.end(), name.text);
  if (fact != fact_names.end()) {
    return static_cast<Fact>(fact - fact_names.begin());
  }
  if (std::optional<Source> source = among_keys(expression, name)) {
    return *std::move(source);
  }
  throw expression.complaint(name.offset, unknown_name("name", name.text, known_names()));
}

std::optional<PointNames::Source> PointNames::among_axes(const Expression& expression,
                                                         const Expression::Name& name) const {
  const AxisKey* found = nullptr;
  AxisName source;
  for (std::size_t axis = 0; axis < sweep_.axes.list().size(); ++axis) {
    for (const AxisKey& key : sweep_.axes.list()[axis].keys) {
      const bool exact = found != nullptr && found->key == name.text;
      if (exact || !names_key(name.text, key.key)) {
        continue;
      }
      if (found != nullptr && key.key != name.text) {
        throw expression.complaint(name.offset, "'" + name.text + "' may mean " + found->key +
                                                    " or " + key.key + "; write it in full");
      }
      found = &key;
      source.axis = axis;
    }
  }
  if (found == nullptr) {
    return std::nullopt;
  }
  for (const Value& value : found->values) {
    if (value.kind != Value::Kind::scalar) {
      throw expression.complaint(name.offset,
                                 "'" + found->key + "' has values that are no numbers or texts");
    }
    source.values.push_back(scalar_from(value));
  }
  return source;
}

// A short name means the key that is highest up.
std::optional<PointNames::Source> PointNames::among_keys(const Expression& expression,
                                                         const Expression::Name& name) const {
  const Candidate* found = nullptr;
  const Candidate* other = nullptr;
  for (const Candidate& candidate : keys_) {
    if (!names_key(name.text, candidate.key)) {
      continue;
    }
    if (found == nullptr || levels_of(candidate.key) < levels_of(found->key)) {
      found = &candidate;
      other = nullptr;
    } else if (levels_of(candidate.key) == levels_of(found->key)) {
      other = &candidate;
    }
  }
  if (found == nullptr) {
    return std::nullopt;
  }
  if (other != nullptr) {
    throw expression.complaint(name.offset, "'" + name.text + "' may mean " + found->key + " or " +
                                                other->key + "; write it in full");
  }
  for (const Axis& axis : sweep_.axes.list()) {
    for (const AxisKey& key : axis.keys) {
      if (found->key.starts_with(key.key + ".")) {
        throw expression.complaint(
            name.offset, "'" + found->key + "' is set by the axis '" + key.key + "' as a whole");
      }
    }
  }
  return found->value;
}

std::vector<std::string> PointNames::known_names() const {
  std::vector<std::string> names(fact_names.begin(), fact_names.end());
  for (const Axis& axis : sweep_.axes.list()) {
    for (const AxisKey& key : axis.keys) {
      names.push_back(key.key.substr(key.key.rfind('.') + 1));
    }
  }
  return names;
}

const std::optional<PointNames::Facts>& PointNames::facts_at(
    const std::vector<std::size_t>& places) {
  std::vector<std::size_t> here;
  for (const std::size_t axis : fact_axes_) {
    here.push_back(places[axis]);
  }
  const auto [entry, fresh] = facts_.try_emplace(here);
  if (fresh) {
    entry->second = read_facts(places);
  }
  return entry->second;
}

std::optional<PointNames::Facts> PointNames::read_facts(
    const std::vector<std::size_t>& places) const {
  std::vector<std::string> settings = sweep_.overrides;
  for (const std::string& setting : sweep_.axes.overrides(places)) {
    if (changes_facts(setting)) {
      settings.push_back(setting);
    }
  }
  try {
    const MachineAndWork parts = read_machine_and_work(sweep_.experiment, settings, load_);
    if (const auto samples = counted(parts.workload.samples)) {
      return Facts{Rational(parts.machine.topology->computing_nodes()),
                   Rational(static_cast<std::int64_t>(parts.workload.layers.size())), *samples};
    }
  } catch (const ConfigError&) {
    // The point itself will tell.
  }
  return std::nullopt;
}

bool PointNames::meets_constraints(const std::vector<std::size_t>& places) {
  for (std::size_t number = 0; number < sources_.size(); ++number) {
    std::vector<Scalar> values;
    bool known = true;
    for (const Source& source : sources_[number]) {
      if (const auto* axis = std::get_if<AxisName>(&source)) {
        values.push_back(axis->values[places[axis->axis]]);
      } else if (const auto* fact = std::get_if<Fact>(&source)) {
        const std::optional<Facts>& facts = facts_at(places);
        if (!facts) {
          known = false;
          break;
        }
        values.emplace_back((*facts)[static_cast<std::size_t>(*fact)]);
      } else {
        values.push_back(std::get<Scalar>(source));
      }
    }
    if (known && !sweep_.constraints[number].holds(values)) {
      return false;
    }
  }
  return true;
}

}  // namespace tessera::explore
