// What chunks have given each dimension of a stack to carry, for orders that follow it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/collective/stacked/stacked.hpp"

namespace tessera::collective {

// Loads are in seconds of the dimension's bandwidth, in double arithmetic: the same on every NPU.
class DimensionLoads {
 public:
  DimensionLoads(Kind kind, std::span<const StackedDimension> dimensions);

  bool gathers() const { return gathers_; }
  std::size_t dimensions() const { return dimensions_.size(); }
  double size(std::uint32_t dimension) const { return dimensions_[dimension].size; }
  std::vector<std::uint32_t> ascending() const;
  // The least loaded first; of equals, what came first.
  void sort(std::vector<std::uint32_t>& order) const;
  // Whether the vector of a chunk of `bytes` is worth an order by load: it may gain at least a
  // sixteenth in the least loaded dimension before that is as loaded as the most loaded one.
  bool is_worth_a_turn(std::uint32_t least, std::uint32_t most, double bytes) const;
  // A chunk goes through `as`, which is counted as load of `to`; `bytes` become what is left of it,
  // or what it has grown to.
  void add(std::uint32_t to, std::uint32_t as, double& bytes);

 private:
  double rate(std::uint32_t dimension) const;
  double others(std::uint32_t dimension) const;
  double spare(std::uint32_t least, std::uint32_t most) const;

  bool gathers_;
  std::span<const StackedDimension> dimensions_;
  std::vector<double> load_;
};

}  // namespace tessera::collective
