#include "tessera/executor/collectives/group_dimensions.hpp"

#include <algorithm>
#include <set>

namespace tessera::executor {

std::vector<std::uint32_t> coordinates_of(std::uint32_t npu, std::span<const std::uint32_t> sizes) {
  std::vector<std::uint32_t> coordinates;
  for (const std::uint32_t size : sizes) {
    coordinates.push_back(npu % size);
    npu /= size;
  }
  return coordinates;
}

std::vector<std::vector<std::uint32_t>> box_of(std::span<const std::uint32_t> members,
                                               std::span<const std::uint32_t> sizes) {
  std::vector<std::set<std::uint32_t>> seen(sizes.size());
  for (const std::uint32_t npu : members) {
    const std::vector<std::uint32_t> coordinates = coordinates_of(npu, sizes);
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      seen[d].insert(coordinates[d]);
    }
  }
  std::uint64_t volume = 1;
  std::vector<std::vector<std::uint32_t>> box;
  for (const std::set<std::uint32_t>& coordinates : seen) {
    volume *= coordinates.size();
    box.emplace_back(coordinates.begin(), coordinates.end());
  }
  // Members are distinct, so that as many as the box holds fill it.
  return volume == members.size() ? box : std::vector<std::vector<std::uint32_t>>{};
}

}  // namespace tessera::executor
