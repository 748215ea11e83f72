#include "serving/prefix_routes.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace tessera::executor {

using serving::PrefixKey;

std::vector<std::uint32_t> PrefixRoutes::known(std::span<const std::uint32_t> blocks,
                                               std::uint32_t adapter, unsigned replicas) const {
  std::vector<std::uint32_t> counts(replicas);
  for (unsigned first = 0; first < replicas; first += of_group) {
    const Group& group = groups_[first / of_group];
    std::uint64_t having = ~std::uint64_t{0};  // those that have all blocks so far
    for (const std::uint32_t block : blocks) {
      const auto found = group.find(PrefixKey(block, adapter));
      having &= found == group.end() ? 0 : found->second;
      if (having == 0) {
        break;
      }
      for (std::uint64_t left = having; left != 0; left &= left - 1) {
        const unsigned replica = first + static_cast<unsigned>(std::countr_zero(left));
        if (replica < replicas) {
          ++counts[replica];
        }
      }
    }
  }
  return counts;
}

void PrefixRoutes::sent(std::span<const std::uint32_t> blocks, std::uint32_t adapter,
                        unsigned replica) {
  Group& group = groups_[replica / of_group];
  const std::uint64_t bit = std::uint64_t{1} << replica % of_group;
  for (const std::uint32_t block : blocks) {
    group[PrefixKey(block, adapter)] |= bit;
  }
}

void PrefixRoutes::save(pdes::StateWriter& writer) const {
  for (const Group& group : groups_) {
    std::vector<std::pair<PrefixKey, std::uint64_t>> all(group.begin(), group.end());
    std::sort(all.begin(), all.end());
    writer.put(static_cast<std::uint64_t>(all.size()));
    for (const auto& [block, replicas] : all) {
      writer.put(block);
      writer.put(replicas);
    }
  }
}

void PrefixRoutes::restore(pdes::StateReader& reader) {
  for (Group& group : groups_) {
    for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
      const auto block = reader.get<PrefixKey>();
      group[block] = reader.get<std::uint64_t>();
    }
  }
}

std::size_t PrefixRoutes::resident_bytes() const {
  std::size_t bytes = 0;
  for (const Group& group : groups_) {
    bytes += group.size() * of_block;
  }
  return bytes;
}

}  // namespace tessera::executor
