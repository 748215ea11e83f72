#include "search/durations.hpp"

#include <algorithm>
#include <limits>

#include "tessera/core/error.hpp"

namespace tessera::explore {

namespace {

// At the end of the range of times where it takes longer.
template <class TimeOf>
double in_range(const TimeOf& time_of) {
  try {
    return static_cast<double>(time_of().ps());
  } catch (const ModelError&) {
    return end_of_times;
  }
}

}  // namespace

double Durations::time_on(const machine::Tile& tile, const workload::Operation& operation) const {
  return in_range([&] { return compute_.duration(machine_, tile, operation); });
}

double Durations::least_on(const machine::Tile& tile, const workload::Operation& operation) const {
  return in_range([&] { return compute_.arithmetic_time(machine_, tile, operation); });
}

Span Durations::of(const workload::Operation& operation) {
  const auto [entry, fresh] = known_.try_emplace(operation);
  if (fresh) {
    Span& span = entry->second;
    span.least = std::numeric_limits<double>::infinity();
    for (const machine::Tile& tile : machine_.tiles()) {
      span.least = std::min(span.least, least_on(tile, operation));
      span.likely = std::max(span.likely, time_on(tile, operation));
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
