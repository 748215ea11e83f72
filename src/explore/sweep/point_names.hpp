// What the names in the constraints of a sweep stand for at each point.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tessera/explore/sweep.hpp"

namespace tessera::explore {

class PointNames {
 public:
  // Resolves every name; throws ConfigError for one that is unknown or could be several things.
  PointNames(const Sweep& sweep, const config::TextLoader& load);

  // Whether the point meets all constraints. Throws ConfigError when one makes no sense there.
  bool meets_constraints(const std::vector<std::size_t>& places);

 private:
  enum class Fact : std::uint8_t { devices, layers, batch };
  using Facts = std::array<Rational, 3>;
  struct AxisName {
    std::size_t axis = 0;
    std::vector<Scalar> values;
  };
  using Source = std::variant<AxisName, Fact, Scalar>;

  struct Candidate {  // a key of the experiment, with the value that all points share
    std::string key;
    Scalar value;
  };

  Source resolve(const Expression& expression, const Expression::Name& name) const;
  std::optional<Source> among_axes(const Expression& expression,
                                   const Expression::Name& name) const;
  std::optional<Source> among_keys(const Expression& expression,
                                   const Expression::Name& name) const;
  void collect_keys(const config::Value& mapping, const std::string& path);
  std::vector<std::string> known_names() const;
  const std::optional<Facts>& facts_at(const std::vector<std::size_t>& places);
  // Nothing where machine or workload cannot be made.
  std::optional<Facts> read_facts(const std::vector<std::size_t>& places) const;

  const Sweep& sweep_;
  config::TextLoader load_;
  std::vector<Candidate> keys_;
  std::vector<std::vector<Source>> sources_;                        // [constraints][names]
  std::vector<std::size_t> fact_axes_;                              // axes that may change a fact
  std::map<std::vector<std::size_t>, std::optional<Facts>> facts_;  // by places on them
};

}  // namespace tessera::explore
