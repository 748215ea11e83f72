#include "tessera/serving/served_model.hpp"

namespace tessera::serving {

std::uint64_t Batch::tokens() const {
  std::uint64_t sum = 0;
  for (const SequenceGroup& group : groups) {
    sum += std::uint64_t{group.sequences} * group.queries;
  }
  return sum;
}

}  // namespace tessera::serving
