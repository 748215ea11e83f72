#include "tessera/collective/stacked/stacked.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/collective/conventions.hpp"
#include "tessera/core/error.hpp"

namespace tessera::collective {
namespace {

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

// In the order in which the chunks would go if none had to wait, as NPUs cannot know when others
// come.
void choose_queues(std::span<const StackedDimension> dimensions, std::vector<ChunkPlan>& plans) {
  std::vector<std::uint32_t> next(dimensions.size());
  for (ChunkPlan& plan : plans) {
    for (Phase& phase : plan.phases) {
      phase.queue = next[phase.dimension]++ % dimensions[phase.dimension].queues;
    }
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
  const std::unique_ptr<DimensionOrders> themis = options.conventions->themis(kind, their);
  for (std::uint32_t chunk = 0; chunk < options.chunks; ++chunk) {
    std::vector<std::uint32_t> order(used.size());
    std::iota(order.begin(), order.end(), 0U);
    const bool may_turn = kind == Kind::all_reduce || kind == Kind::reduce_scatter ||
                          kind == Kind::all_gather || kind == Kind::all_to_all;
    if (may_turn && options.order == DimensionOrder::round_robin) {
      const std::size_t by = options.conventions->turned_by(kind, chunk, order.size());
      std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(by), order.end());
    } else if (may_turn && options.order == DimensionOrder::themis) {
      const double first = kind == Kind::all_gather ? static_cast<double>(npus) : 1.0;
      order = themis->order(static_cast<double>(chunk_bytes(bytes, options.chunks, chunk).count()) /
                            first);
    }
    for (const std::uint32_t number : order) {
      plans[chunk].order.push_back(used[number]);
    }
    add_phases(kind, options, plans[chunk]);
  }
  choose_queues(dimensions, plans);
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
