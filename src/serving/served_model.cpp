#include "tessera/serving/served_model.hpp"

#include <algorithm>

namespace tessera::serving {

std::uint64_t Batch::tokens() const {
  std::uint64_t sum = 0;
  for (const SequenceGroup& group : groups) {
    sum += std::uint64_t{group.sequences} * group.queries;
  }
  return sum;
}

std::uint32_t TileModel::layers_in(const Walk& walk) const {
  return static_cast<std::uint32_t>(
      std::count_if(walk.begin(), walk.end(), [this](const WalkPart& part) {
        return part.kind == WalkPart::Kind::operation && fills_cache(part.op);
      }));
}

Bytes TileModel::all_handed_over(const Walk& walk, std::uint64_t tokens) const {
  Bytes sum;
  for (const WalkPart& part : walk) {
    if (part.kind == WalkPart::Kind::operation && fills_cache(part.op)) {
      sum += handed_over(part.op, tokens);
    }
  }
  return sum;
}

}  // namespace tessera::serving
