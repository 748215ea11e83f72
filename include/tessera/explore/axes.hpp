// The space of a sweep: what varies, over which values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"

namespace tessera::explore {

// Number of a point in the grid of all axes, of which the last one varies fastest. It stays the
// same whichever points constraints and sampling leave.
using PointNumber = std::uint64_t;

// One key of the experiment and the values it takes.
struct AxisKey {
  std::string key;
  config::Place place;
  std::vector<config::Value> values;
};

// One direction of the grid: a key, or several linked ones that step together.
struct Axis {
  std::vector<AxisKey> keys;  // all with as many values
  std::size_t length() const { return keys.front().values.size(); }
};

class Axes {
 public:
  static constexpr std::size_t most_values = 100'000;  // of a range

  // Reads `axes`, a mapping of keys to values, and `linked`, a list of such mappings, from the
  // mapping of a sweep. Values are a list, or a range that includes both ends where it meets them:
  //   {from: 1, to: 16, factor: 2}   {from: 64 GB/s, to: 256 GB/s, step: 64 GB/s}
  // computed with exact decimals; the unit of `from` is that of the others. Complaints go to the
  // section's diagnostics.
  static Axes read(config::Section& section);

  const std::vector<Axis>& list() const { return axes_; }
  // Points of the grid; throws ConfigError when they exceed 2^62.
  PointNumber points() const;
  // Place of a point on each axis.
  std::vector<std::size_t> places(PointNumber point) const;
  // The settings of a point, as "key=value", in the order of the axes.
  std::vector<std::string> overrides(const std::vector<std::size_t>& places) const;

 private:
  std::vector<Axis> axes_;
};

}  // namespace tessera::explore
