// In which order the chunks of a collective go through stacked dimensions, so that all are busy
// alike: S. Rashidi et al., "Themis", ISCA 2022, doi:10.1145/3470496.3527382.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stacked/dimension_loads.hpp"
#include "tessera/collective/conventions.hpp"

namespace tessera::collective {

class Themis final : public DimensionOrders {
 public:
  Themis(Kind kind, std::span<const StackedDimension> dimensions);

  std::vector<std::uint32_t> order(double bytes) override;

 private:
  DimensionLoads loads_;
};

}  // namespace tessera::collective
