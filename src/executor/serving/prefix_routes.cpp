#include "serving/prefix_routes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::executor {

std::size_t PrefixRoutes::known(std::span<const std::uint32_t> blocks, unsigned replica) const {
  std::size_t count = 0;
  for (const std::uint32_t block : blocks) {
    const auto found = replicas_of_.find(block);
    if (found == replicas_of_.end() || (found->second >> replica & 1U) == 0) {
      break;
    }
    ++count;
  }
  return count;
}

void PrefixRoutes::sent(std::span<const std::uint32_t> blocks, unsigned replica) {
  for (const std::uint32_t block : blocks) {
    replicas_of_[block] |= std::uint64_t{1} << replica;
  }
}

void PrefixRoutes::save(pdes::StateWriter& writer) const {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> all(replicas_of_.begin(),
                                                           replicas_of_.end());
  std::sort(all.begin(), all.end());
  writer.put(static_cast<std::uint64_t>(all.size()));
  for (const auto& [block, replicas] : all) {
    writer.put(block);
    writer.put(replicas);
  }
}

void PrefixRoutes::restore(pdes::StateReader& reader) {
  for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
    const auto block = reader.get<std::uint32_t>();
    replicas_of_[block] = reader.get<std::uint64_t>();
  }
}

}  // namespace tessera::executor
