#include "stacked/themis.hpp"

namespace tessera::collective {

Themis::Themis(Kind kind, std::span<const StackedDimension> dimensions)
    : loads_(kind, dimensions) {}

std::vector<std::uint32_t> Themis::order(double bytes) {
  std::vector<std::uint32_t> order = loads_.ascending();
  std::vector<std::uint32_t> sorted = order;
  loads_.sort(sorted);
  if (loads_.size(sorted.front()) > 1 &&
      loads_.is_worth_a_turn(sorted.front(), sorted.back(), bytes)) {
    order = sorted;
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::uint32_t dimension = loads_.gathers() ? order[order.size() - 1 - at] : order[at];
    loads_.add(dimension, dimension, bytes);
  }
  return order;
}

}  // namespace tessera::collective
