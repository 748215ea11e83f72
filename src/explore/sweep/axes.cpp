#include "tessera/explore/axes.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "sweep/part_paths.hpp"
#include "tessera/core/error.hpp"
#include "tessera/explore/expression/rational.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::explore {
namespace {

using config::Section;
using config::Value;

constexpr PointNumber most_points = PointNumber{1} << 62;

// Of cost alone: an axis over them would show nothing.
bool changes_no_result(const std::string& key) {
  const std::vector<ParameterInfo> run = sim::run_parameters();
  return std::any_of(run.begin(), run.end(), [&](const ParameterInfo& parameter) {
    return parameter.is_cost && key == "run." + parameter.name;
  });
}

// A decimal number with the unit behind it, "" for none.
struct Quantity {
  Rational number;
  std::string unit;
};

std::optional<Quantity> read_quantity(Section& range, const std::string& key) {
  const Value value = range.raw(key);
  if (value.kind != Value::Kind::scalar) {
    range.error(key, range.has(key) ? "expected a number, with a unit where the key has one"
                                    : "missing; a range has 'from', 'to', and 'step' or 'factor'");
    return std::nullopt;
  }
  const std::size_t end =
      std::min(value.text.find_first_not_of("0123456789._+-eE"), value.text.size());
  std::string_view digits = std::string_view(value.text).substr(0, end);
  // "1 EB", "1e3": an 'e' belongs to the number only where digits follow.
  while (!digits.empty() && (digits.back() < '0' || digits.back() > '9')) {
    digits.remove_suffix(1);
  }
  const std::optional<Rational> number = Rational::parse(digits);
  if (!number) {
    range.error(key, "'" + value.text + "' does not begin with a number of 64 bits");
    return std::nullopt;
  }
  const std::string_view rest = std::string_view(value.text).substr(digits.size());
  const std::size_t begin = std::min(rest.find_first_not_of(' '), rest.size());
  return Quantity{*number, std::string(rest.substr(begin))};
}

Value value_of(const Quantity& quantity, const config::Place& place) {
  Value value;
  value.kind = Value::Kind::scalar;
  value.place = place;
  value.text = quantity.number.to_string() + (quantity.unit.empty() ? "" : " " + quantity.unit);
  return value;
}

class RangeReader {
 public:
  explicit RangeReader(Section range) : range_(std::move(range)) {}

  std::vector<Value> read() {
    const std::optional<Quantity> from = read_quantity(range_, "from");
    const std::optional<Quantity> to = read_quantity(range_, "to");
    const bool multiplies = range_.has("factor");
    range_.raw("step");  // both are known keys
    range_.raw("factor");
    if (multiplies && range_.has("step")) {
      range_.error("factor", "a range has 'step' or 'factor', not both");
      return {};
    }
    const std::string by = multiplies ? "factor" : "step";
    const std::optional<Quantity> stride = read_quantity(range_, by);
    if (!from || !to || !stride) {
      return {};
    }
    const std::string& wanted = multiplies ? "" : from->unit;
    if (to->unit != from->unit || stride->unit != wanted) {
      const std::string key = to->unit != from->unit ? "to" : by;
      range_.error(key, multiplies && key == by
                            ? "a factor has no unit"
                            : "has another unit than 'from' ('" + from->unit + "')");
      return {};
    }
    const bool climbs = multiplies ? Rational(1) < stride->number && Rational(0) < from->number
                                   : Rational(0) < stride->number;
    if (!climbs) {
      range_.error(by, multiplies ? "must be above 1, and 'from' above 0" : "must be above 0");
      return {};
    }
    if (to->number < from->number) {
      range_.error("to", "is below 'from'");
      return {};
    }
    return expand(*from, to->number, stride->number, multiplies);
  }

 private:
  std::vector<Value> expand(Quantity at, const Rational& to, const Rational& stride,
                            bool multiplies) {
    std::vector<Value> values;
    while (!(to < at.number)) {
      if (values.size() == Axes::most_values) {
        range_.error("", "gives more than " + std::to_string(Axes::most_values) + " values");
        return {};
      }
      values.push_back(value_of(at, range_.place_of("from")));
      const std::optional<Rational> next =
          multiplies ? multiply(at.number, stride) : add(at.number, stride);
      if (!next) {
        break;  // beyond 64 bits, and so beyond `to`
      }
      at.number = *next;
    }
    return values;
  }

  Section range_;
};

AxisKey read_key(Section& section, const std::string& key) {
  AxisKey result{key, section.place_of(key), {}};
  const Value value = section.raw(key);
  if (changes_no_result(key)) {
    section.error(key, "changes no result and cannot be an axis");
  } else if (value.kind == Value::Kind::mapping) {
    result.values = RangeReader(section.section(key)).read();
  } else if (value.kind != Value::Kind::sequence) {
    section.error(key,
                  "expected a list of values, or a range such as {from: 1, to: 16, factor: 2}");
  } else if (value.items.empty()) {
    section.error(key, "the list is empty");
  } else {
    result.values = value.items;
  }
  return result;
}

class AxesReader {
 public:
  explicit AxesReader(Section& section) : section_(section) {}

  std::vector<Axis> read() {
    Section single = section_.section("axes");
    for (const std::string& key : single.keys()) {
      axes_.push_back(Axis{{read_new(single, key)}});
    }
    for (Section& group : section_.sections("linked")) {
      Axis axis;
      for (const std::string& key : group.keys()) {
        axis.keys.push_back(read_new(group, key));
        const std::size_t length = axis.keys.back().values.size();
        if (length > 0 && axis.length() > 0 && length != axis.length()) {
          group.error(key, "has " + std::to_string(length) + " values, but '" +
                               axis.keys.front().key + "', with which it steps, has " +
                               std::to_string(axis.length()));
        }
      }
      if (axis.keys.empty()) {
        group.error("", "no keys; give those that step together");
      } else {
        axes_.push_back(std::move(axis));
      }
    }
    if (section_.is_mapping() && !section_.has("linked") && single.keys().empty()) {
      section_.error("axes", "missing; give the keys that vary, with their values");
    }
    return std::move(axes_);
  }

 private:
  AxisKey read_new(Section& section, const std::string& key) {
    AxisKey result = read_key(section, key);
    if (!seen_.insert(key).second) {
      section.error(key, "is an axis already");
    }
    return result;
  }

  Section& section_;
  std::vector<Axis> axes_;
  std::set<std::string> seen_;
};

}  // namespace

Axes Axes::read(config::Section& section) {
  Axes axes;
  axes.axes_ = AxesReader(section).read();
  return axes;
}

PointNumber Axes::points() const {
  PointNumber count = 1;
  for (const Axis& axis : axes_) {
    if (axis.length() > 0 && count > most_points / axis.length()) {
      throw ConfigError("the axes give more than 2^62 points");
    }
    count *= axis.length();
  }
  return count;
}

std::vector<std::size_t> Axes::places(PointNumber point) const {
  std::vector<std::size_t> result(axes_.size());
  for (std::size_t axis = axes_.size(); axis-- > 0;) {
    result[axis] = static_cast<std::size_t>(point % axes_[axis].length());
    point /= axes_[axis].length();
  }
  return result;
}

std::vector<std::string> Axes::overrides(const std::vector<std::size_t>& places) const {
  std::vector<std::string> result;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    for (const AxisKey& key : axes_[axis].keys) {
      result.push_back(
          key.key + "=" +
          config::to_inline_yaml(from_present_folder(key.key, key.values[places[axis]])));
    }
  }
  return result;
}

}  // namespace tessera::explore
