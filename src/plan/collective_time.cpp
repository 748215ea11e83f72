#include "collective_time.hpp"

#include <algorithm>
#include <vector>

namespace tessera::plan {

SimTime CollectiveClock::time(std::uint32_t stage, Group group, const GroupShape& shape,
                              collective::Kind kind, Bytes bytes) {
  const auto [place, fresh] = known_.try_emplace({stage, group, kind, bytes});
  if (fresh) {
    place->second = compute(stage, group, shape, kind, bytes);
  }
  return place->second;
}

SimTime CollectiveClock::compute(std::uint32_t stage, Group group, const GroupShape& shape,
                                 collective::Kind kind, Bytes bytes) const {
  const collective::Algorithm& algorithm = plan_.algorithm(group);
  const Degrees& degrees = plan_.strategy.degrees;
  const std::uint32_t first = stage * degrees.data * degrees.tensor;
  const auto tile = [&](collective::Member member) {
    return plan_.placement.tile(first + shape.place_of(member, 0));
  };
  std::map<std::tuple<collective::Member, collective::Member, Bytes>, SimTime> transfers;
  std::vector<SimTime> ready(shape.size);
  const std::uint32_t steps = algorithm.steps(kind, shape.size);
  for (std::uint32_t step = 0; step < steps; ++step) {
    std::vector<SimTime> next = ready;
    for (collective::Member member = 0; member < shape.size; ++member) {
      const collective::Step now = algorithm.step(kind, shape.size, member, bytes, step);
      if (now.receive_from == collective::nobody) {
        continue;
      }
      const auto [place, fresh] =
          transfers.try_emplace({now.receive_from, member, now.receive_bytes});
      if (fresh) {
        place->second = transfer_time_(tile(now.receive_from), tile(member), now.receive_bytes);
      }
      next[member] = std::max(ready[member], ready[now.receive_from] + place->second);
    }
    ready.swap(next);
  }
  return *std::max_element(ready.begin(), ready.end());
}

}  // namespace tessera::plan
