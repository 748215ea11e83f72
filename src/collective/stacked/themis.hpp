// In which order the chunks of a collective go through stacked dimensions, so that all are busy
// alike: S. Rashidi et al., "Themis", ISCA 2022, doi:10.1145/3470496.3527382.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/collective/stacked/stacked.hpp"

namespace tessera::collective {

// Loads are in seconds of the dimension's bandwidth, in double arithmetic: the same on every NPU.
class Themis {
 public:
  // `as_astra`: all-gathers as the public code of ASTRA-sim 2.0 orders them.
  Themis(Kind kind, std::span<const StackedDimension> dimensions, bool as_astra);

  // For the next chunk; `bytes` are what an NPU has at first. All-gathers go through the
  // dimensions from the last of the order to the first.
  std::vector<std::uint32_t> order(double bytes);

 private:
  double rate(std::uint32_t dimension) const;
  double size(std::uint32_t dimension) const { return dimensions_[dimension].size; }
  double others(std::uint32_t dimension) const;
  // What the vector of a chunk may gain in the dimension that is least loaded before that is as
  // loaded as the most loaded one, per NPU.
  double spare(std::uint32_t least, std::uint32_t most) const;
  void add(std::uint32_t to, std::uint32_t as, double& bytes);
  std::vector<std::uint32_t> order_as_astra(double bytes);

  bool gathers_;
  bool as_astra_;
  std::span<const StackedDimension> dimensions_;
  std::vector<double> load_;
  std::vector<std::uint32_t> sorted_;  // as_astra: by load, as the chunk before left them
};

}  // namespace tessera::collective
