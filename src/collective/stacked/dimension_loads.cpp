#include "stacked/dimension_loads.hpp"

#include <algorithm>
#include <numeric>

namespace tessera::collective {
namespace {

// Where the difference of loads is worth less than this part of a chunk, the order is ascending
// (the public code of ASTRA-sim 2.0; the paper on Themis leaves the value open).
constexpr double worth_a_turn = 1.0 / 16;
// Loads are often just that far apart, but for rounding.
constexpr double rounding = 1e-6;

}  // namespace

DimensionLoads::DimensionLoads(Kind kind, std::span<const StackedDimension> dimensions)
    : gathers_(kind == Kind::all_gather), dimensions_(dimensions), load_(dimensions.size()) {}

std::vector<std::uint32_t> DimensionLoads::ascending() const {
  std::vector<std::uint32_t> order(dimensions());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

void DimensionLoads::sort(std::vector<std::uint32_t>& order) const {
  std::stable_sort(order.begin(), order.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return load_[a] < load_[b]; });
}

bool DimensionLoads::is_worth_a_turn(std::uint32_t least, std::uint32_t most, double bytes) const {
  return spare(least, most) >= bytes * worth_a_turn * (1 - rounding);
}

void DimensionLoads::add(std::uint32_t to, std::uint32_t as, double& bytes) {
  const double sent = gathers_ ? bytes * (size(as) - 1) : bytes * ((size(as) - 1) / size(as));
  load_[to] += sent / rate(as);
  bytes = gathers_ ? bytes * size(as) : bytes / size(as);
}

double DimensionLoads::rate(std::uint32_t dimension) const {
  return static_cast<double>(dimensions_[dimension].bandwidth.bytes_per_second());
}

double DimensionLoads::others(std::uint32_t dimension) const {
  double product = 1;
  for (std::uint32_t other = 0; other < dimensions_.size(); ++other) {
    product *= other == dimension ? 1 : size(other);
  }
  return product;
}

double DimensionLoads::spare(std::uint32_t least, std::uint32_t most) const {
  const double bytes = (load_[most] - load_[least]) * rate(least);
  // The least loaded is the last that an all-gather goes through.
  return gathers_ ? bytes / (size(least) - 1) / others(least)
                  : bytes / ((size(least) - 1) / size(least));
}

}  // namespace tessera::collective
