#include "search/durations.hpp"

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

}  // namespace tessera::explore
