#include "search/durations.hpp"

#include <algorithm>
#include <limits>

#include "tessera/core/error.hpp"

namespace tessera::explore {

double Durations::time_on(const machine::Tile& tile, const workload::Operation& operation) const {
  try {
    return static_cast<double>(compute_.duration(machine_, tile, operation).ps());
  } catch (const ModelError&) {
    return end_of_times;
  }
}

Span Durations::of(const workload::Operation& operation) {
  const auto [entry, fresh] = known_.try_emplace(operation);
  if (fresh) {
    Span& span = entry->second;
    span.least = std::numeric_limits<double>::infinity();
    for (const machine::Tile& tile : machine_.tiles()) {
      const double time = time_on(tile, operation);
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
      if (!model.slows_beside() || time_on(tile, operation) >= end_of_times) {
        continue;
      }
      const SimTime alone = model.duration(machine_, tile, operation);
      if (model.is_persistent(operation)) {
        slowing.shared_out = std::max(slowing.shared_out, static_cast<double>(alone.ps()));
        slowing.products = 1;
      } else {
        const SimTime beside = model.duration_beside(machine_, tile, operation, {});
        slowing.longer = std::max(slowing.longer, static_cast<double>((beside - alone).ps()));
      }
    }
  }
  return entry->second;
}

}  // namespace tessera::explore
