#include "search/durations.hpp"

#include <algorithm>
#include <limits>

namespace tessera::explore {

Span Durations::of(const workload::Operation& operation) {
  const auto [entry, fresh] = known_.try_emplace(operation);
  if (fresh) {
    Span& span = entry->second;
    span.least = std::numeric_limits<double>::infinity();
    for (const machine::Tile& tile : machine_.tiles()) {
      const auto time = static_cast<double>(compute_.duration(machine_, tile, operation).ps());
      span.least = std::min(span.least, time);
      span.likely = std::max(span.likely, time);
    }
  }
  return entry->second;
}

const Slowing& Durations::beside(const workload::Operation& operation) {
  const auto [entry, fresh] = beside_.try_emplace(operation);
  if (fresh) {
    Slowing& slowing = entry->second;
    for (const machine::Tile& tile : machine_.tiles()) {
      const compute::ComputeModel& model = compute_.of(tile);
      const SimTime alone = model.duration(machine_, tile, operation);
      if (model.slows_beside() && model.is_persistent(operation)) {
        slowing.shared_out = std::max(slowing.shared_out, static_cast<double>(alone.ps()));
        slowing.products = 1;
      } else if (model.slows_beside()) {
        const SimTime beside = model.duration_beside(machine_, tile, operation, {});
        slowing.longer = std::max(slowing.longer, static_cast<double>((beside - alone).ps()));
      }
    }
  }
  return entry->second;
}

}  // namespace tessera::explore
