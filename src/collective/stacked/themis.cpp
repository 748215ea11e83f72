#include "stacked/themis.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::collective {
namespace {

// Where the difference of loads is worth less than this part of a chunk, the order is ascending
// (the public code of ASTRA-sim 2.0; the paper leaves the value open).
constexpr double worth_a_turn = 1.0 / 16;
// Loads are often just that far apart, but for rounding.
constexpr double rounding = 1e-6;

std::vector<std::uint32_t> ascending(std::size_t dimensions) {
  std::vector<std::uint32_t> order(dimensions);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

}  // namespace

Themis::Themis(Kind kind, std::span<const StackedDimension> dimensions, bool as_astra)
    : gathers_(kind == Kind::all_gather),
      as_astra_(as_astra),
      dimensions_(dimensions),
      load_(dimensions.size()),
      sorted_(ascending(dimensions.size())) {}

std::vector<std::uint32_t> Themis::order(double bytes) {
  if (gathers_ && as_astra_) {
    return order_as_astra(bytes);
  }
  std::vector<std::uint32_t> order = ascending(dimensions_.size());
  std::vector<std::uint32_t> sorted = order;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return load_[a] < load_[b]; });
  if (size(sorted.front()) > 1 &&
      spare(sorted.front(), sorted.back()) >= bytes * worth_a_turn * (1 - rounding)) {
    order = sorted;
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::uint32_t dimension = gathers_ ? order[order.size() - 1 - at] : order[at];
    add(dimension, dimension, bytes);
  }
  return order;
}

// Where it leaves the order ascending, that code begins with the first dimension, though vectors
// grow on the way, and credits the load of each dimension to the one as far from the other end.
std::vector<std::uint32_t> Themis::order_as_astra(double bytes) {
  std::stable_sort(sorted_.begin(), sorted_.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return load_[a] < load_[b]; });
  std::reverse(sorted_.begin(), sorted_.end());
  std::vector<std::uint32_t> order = sorted_;
  if (spare(sorted_.back(), sorted_.front()) < bytes * worth_a_turn * (1 - rounding)) {
    order = ascending(dimensions_.size());
    sorted_.assign(order.rbegin(), order.rend());
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    add(sorted_[at], order[at], bytes);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

double Themis::rate(std::uint32_t dimension) const {
  return static_cast<double>(dimensions_[dimension].bandwidth.bytes_per_second());
}

double Themis::others(std::uint32_t dimension) const {
  double product = 1;
  for (std::uint32_t other = 0; other < dimensions_.size(); ++other) {
    product *= other == dimension ? 1 : size(other);
  }
  return product;
}

double Themis::spare(std::uint32_t least, std::uint32_t most) const {
  const double bytes = (load_[most] - load_[least]) * rate(least);
  // The least loaded is the last that an all-gather goes through.
  return gathers_ ? bytes / (size(least) - 1) / others(least)
                  : bytes / ((size(least) - 1) / size(least));
}

void Themis::add(std::uint32_t to, std::uint32_t as, double& bytes) {
  const double sent = gathers_ ? bytes * (size(as) - 1) : bytes * ((size(as) - 1) / size(as));
  load_[to] += sent / rate(as);
  bytes = gathers_ ? bytes * size(as) : bytes / size(as);
}

}  // namespace tessera::collective
