#include <algorithm>
#include <set>

#include "sweep/point_names.hpp"
#include "tessera/core/random.hpp"
#include "tessera/explore/sweep.hpp"

namespace tessera::explore {
namespace {

// Grids up to this size are looked through whole.
constexpr PointNumber most_enumerated = 10'000'000;
// Draws from a larger one before a sample stays smaller than asked for.
constexpr std::uint64_t most_draws = 10'000'000;

std::vector<PointNumber> all_points(const Sweep& sweep, PointNames& names) {
  std::vector<PointNumber> points;
  for (PointNumber point = 0; point < sweep.axes.points(); ++point) {
    if (names.meets_constraints(sweep.axes.places(point))) {
      points.push_back(point);
    }
  }
  return points;
}

// The first `count` of a random order (Fisher and Yates).
void keep_sample(std::vector<PointNumber>& points, std::uint64_t count, RandomStream& random) {
  if (count >= points.size()) {
    return;
  }
  for (std::size_t at = 0; at < count; ++at) {
    std::swap(points[at], points[at + random.next_below(points.size() - at)]);
  }
  points.resize(count);
  std::sort(points.begin(), points.end());
}

std::vector<PointNumber> drawn_points(const Sweep& sweep, PointNames& names, RandomStream& random) {
  std::set<PointNumber> points;
  for (std::uint64_t draw = 0; draw < most_draws && points.size() < sweep.sample_points; ++draw) {
    const PointNumber point = random.next_below(sweep.axes.points());
    if (!points.contains(point) && names.meets_constraints(sweep.axes.places(point))) {
      points.insert(point);
    }
  }
  return {points.begin(), points.end()};
}

}  // namespace

std::vector<PointNumber> choose_points(const Sweep& sweep, const config::TextLoader& load) {
  PointNames names(sweep, load);
  const PointNumber size = sweep.axes.points();
  RandomStream random(sweep.seed, EntityId(0), 0);
  std::vector<PointNumber> points;
  if (size > most_enumerated) {
    if (sweep.sample_points == 0) {
      throw ConfigError("the axes give " + std::to_string(size) + " points, more than " +
                        std::to_string(most_enumerated) +
                        "; take fewer values, or a sample: {random: 1000}");
    }
    points = drawn_points(sweep, names, random);
  } else {
    points = all_points(sweep, names);
    if (sweep.sample_points > 0) {
      keep_sample(points, sweep.sample_points, random);
    }
  }
  if (points.empty()) {
    throw ConfigError("no point of the " + std::to_string(size) + " meets all constraints");
  }
  return points;
}

}  // namespace tessera::explore
