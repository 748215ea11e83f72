#include "search/durations.hpp"

#include <cstdint>
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

std::size_t Durations::Hash::operator()(const workload::Operation& operation) const {
  const workload::MatrixProduct& product = operation.product;
  std::uint64_t hash = 0;
  for (const std::uint64_t number :
       {std::uint64_t{product.rows}, std::uint64_t{product.columns}, std::uint64_t{product.depth},
        std::uint64_t{product.count}, operation.flops.count(), operation.bytes.count(),
        operation.added.count()}) {
    hash = (hash ^ number) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29U;
  }
  return hash;
}

}  // namespace tessera::explore
