#include "grid_channels.hpp"

#include <cstddef>
#include <limits>
#include <utility>

namespace tessera::machine {
namespace {

constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();

class Sweeps {
 public:
  Sweeps(const Grid& grid, const MemoryChannels& channels)
      : grid_(grid),
        hops_(std::size_t{grid.rows} * grid.columns, unknown),
        channel_(hops_.size(), unknown) {
    for (std::uint32_t channel = 0; channel < channels.size(); ++channel) {
      const std::size_t node = channels[channel].node.value();
      hops_[node] = 0;
      channel_[node] = channel;
    }
  }

  std::vector<std::uint32_t> run() {
    const std::size_t width = grid_.columns;
    for (std::size_t row = 0; row < grid_.rows; ++row) {
      sweep(row * width, 1, width, 1);
    }
    // A whole row at a time: the nodes of a column are far apart in memory.
    sweep(0, width, grid_.rows, width);
    return std::move(channel_);
  }

 private:
  // Over `count` groups of `size` nodes that lie `step` apart, there and back; around a torus
  // twice, as what is nearest may lie behind the seam.
  void sweep(std::size_t first, std::size_t step, std::size_t count, std::size_t size) {
    const std::size_t last = first + (count - 1) * step;
    for (int round = 0; round < (grid_.wraps ? 2 : 1); ++round) {
      if (round > 0) {
        take_over(last, first, size);
      }
      for (std::size_t at = first; at < last; at += step) {
        take_over(at, at + step, size);
      }
    }
    for (int round = 0; round < (grid_.wraps ? 2 : 1); ++round) {
      if (round > 0) {
        take_over(first, last, size);
      }
      for (std::size_t at = last; at > first; at -= step) {
        take_over(at, at - step, size);
      }
    }
  }

  // What the nodes from `from` on have, for those from `to` on: what is nearer, of equals the
  // lower.
  void take_over(std::size_t from, std::size_t to, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      if (channel_[from + i] == unknown) {
        continue;
      }
      const std::uint32_t hops = hops_[from + i] + 1;
      if (hops < hops_[to + i] ||
          (hops == hops_[to + i] && channel_[from + i] < channel_[to + i])) {
        hops_[to + i] = hops;
        channel_[to + i] = channel_[from + i];
      }
    }
  }

  const Grid grid_;
  std::vector<std::uint32_t> hops_;
  std::vector<std::uint32_t> channel_;
};

}  // namespace

std::vector<std::uint32_t> nearest_on_grid(const Grid& grid, const MemoryChannels& channels) {
  return Sweeps(grid, channels).run();
}

}  // namespace tessera::machine
