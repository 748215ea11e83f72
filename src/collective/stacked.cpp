#include "tessera/collective/stacked.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::collective {
namespace {

// Where the difference of loads is worth less than this part of a chunk, the order is ascending
// (the public code of ASTRA-sim 2.0; the paper leaves the value open).
constexpr double worth_a_turn = 1.0 / 16;
// Loads are often just that far apart, but for rounding.
constexpr double rounding = 1e-6;

// Loads are in seconds of the dimension's bandwidth, in double arithmetic: the same on every NPU.
class Themis {
 public:
  Themis(Kind kind, std::span<const StackedDimension> dimensions)
      : gathers_(kind == Kind::all_gather), dimensions_(dimensions), load_(dimensions.size()) {}

  // For the next chunk; `bytes` are what an NPU has at first.
  std::vector<std::uint32_t> order(double bytes) {
    std::vector<std::uint32_t> order(dimensions_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::vector<std::uint32_t> sorted = order;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [this](std::uint32_t a, std::uint32_t b) { return load_[a] < load_[b]; });
    const std::uint32_t least = sorted.front();
    const double size = dimensions_[least].size;
    const double spare = (load_[sorted.back()] - load_[least]) * rate(least) /
                         (gathers_ ? size - 1 : (size - 1) / size);
    if (size > 1 && spare >= bytes * worth_a_turn * (1 - rounding)) {
      order = sorted;
    }
    add(order, bytes);
    return order;
  }

 private:
  double rate(std::uint32_t dimension) const {
    return static_cast<double>(dimensions_[dimension].bandwidth.bytes_per_second());
  }
  void add(const std::vector<std::uint32_t>& order, double bytes) {
    for (const std::uint32_t dimension : order) {
      const double size = dimensions_[dimension].size;
      const double sent = gathers_ ? bytes * (size - 1) : bytes * ((size - 1) / size);
      load_[dimension] += sent / rate(dimension);
      bytes = gathers_ ? bytes * size : bytes / size;
    }
  }

  bool gathers_;
  std::span<const StackedDimension> dimensions_;
  std::vector<double> load_;
};

void add_phases(Kind kind, const StackedOptions& options, ChunkPlan& plan) {
  const auto count = static_cast<std::uint32_t>(plan.order.size());
  const auto up = [&](Kind phase, std::uint32_t end) {
    for (std::uint32_t at = 0; at < end; ++at) {
      plan.phases.push_back({plan.order[at], phase, at, 0});
    }
  };
  const auto down = [&](Kind phase, std::uint32_t begin) {
    for (std::uint32_t at = begin; at > 0; --at) {
      plan.phases.push_back({plan.order[at - 1], phase, at - 1, 0});
    }
  };
  switch (kind) {
    case Kind::all_reduce:
      if (options.decomposition == Decomposition::baseline) {
        for (const std::uint32_t dimension : plan.order) {
          plan.phases.push_back({dimension, Kind::all_reduce, 0, 0});
        }
      } else if (options.order == DimensionOrder::themis) {
        up(Kind::reduce_scatter, count);
        down(Kind::all_gather, count);
      } else {
        up(Kind::reduce_scatter, count - 1);
        plan.phases.push_back({plan.order[count - 1], Kind::all_reduce, count - 1, 0});
        down(Kind::all_gather, count - 1);
      }
      break;
    case Kind::reduce_scatter:
      up(Kind::reduce_scatter, count);
      break;
    case Kind::all_gather:
      down(Kind::all_gather, count);
      break;
    case Kind::all_to_all:
    case Kind::barrier:
      for (const std::uint32_t dimension : plan.order) {
        plan.phases.push_back({dimension, kind, 0, 0});
      }
      break;
    case Kind::broadcast:
      for (std::uint32_t at = count; at > 0; --at) {
        plan.phases.push_back({plan.order[at - 1], kind, 0, at - 1});
      }
      break;
    case Kind::reduce:
      for (std::uint32_t at = 0; at < count; ++at) {
        plan.phases.push_back({plan.order[at], kind, 0, at});
      }
      break;
    case Kind::scatter:
      // What goes to a plane of the dimension is in one piece there, and cut further below.
      for (std::uint32_t at = 0; at < count; ++at) {
        plan.phases.push_back({plan.order[count - 1 - at], kind, at, count - 1 - at});
      }
      break;
    case Kind::gather:
      for (std::uint32_t at = count; at > 0; --at) {
        plan.phases.push_back({plan.order[count - at], kind, at - 1, count - at});
      }
      break;
  }
}

}  // namespace

std::vector<ChunkPlan> plan_chunks(Kind kind, Bytes bytes,
                                   std::span<const StackedDimension> dimensions,
                                   const StackedOptions& options) {
  ensure(options.chunks > 0, "a collective of no chunks");
  std::vector<std::uint32_t> used;  // dimensions with somebody to talk to
  std::vector<StackedDimension> their;
  for (std::uint32_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d].size > 1) {
      used.push_back(d);
      their.push_back(dimensions[d]);
    }
  }
  std::uint64_t npus = 1;
  for (const StackedDimension& dimension : their) {
    npus *= dimension.size;
  }
  std::vector<ChunkPlan> plans(options.chunks);
  if (used.empty()) {
    return plans;
  }
  Themis themis(kind, their);
  for (std::uint32_t chunk = 0; chunk < options.chunks; ++chunk) {
    std::vector<std::uint32_t> order(used.size());
    std::iota(order.begin(), order.end(), 0U);
    const bool may_turn = kind == Kind::all_reduce || kind == Kind::reduce_scatter ||
                          kind == Kind::all_gather || kind == Kind::all_to_all;
    if (may_turn && options.order == DimensionOrder::round_robin) {
      std::rotate(order.begin(), order.begin() + chunk % order.size(), order.end());
    } else if (may_turn && options.order == DimensionOrder::themis) {
      const double first = kind == Kind::all_gather ? static_cast<double>(npus) : 1.0;
      order = themis.order(static_cast<double>(chunk_bytes(bytes, options.chunks, chunk).count()) /
                           first);
    }
    for (const std::uint32_t number : order) {
      plans[chunk].order.push_back(used[number]);
    }
    add_phases(kind, options, plans[chunk]);
  }
  return plans;
}

Bytes phase_bytes(const ChunkPlan& plan, const Phase& phase, Bytes chunk,
                  std::span<const StackedDimension> dimensions,
                  std::span<const std::uint32_t> coordinates) {
  const bool rooted = phase.kind == Kind::gather || phase.kind == Kind::scatter;
  for (std::uint32_t cut = 0; cut < phase.cuts; ++cut) {
    const std::uint32_t dimension =
        rooted ? plan.order[plan.order.size() - 1 - cut] : plan.order[cut];
    chunk = chunk_bytes(chunk, dimensions[dimension].size, coordinates[dimension]);
  }
  return chunk;
}

}  // namespace tessera::collective
