// How the members of a communicator lie in the dimensions of the machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::executor {

// NPU n has coordinate n / (product of the sizes before) % size in each dimension.
std::vector<std::uint32_t> coordinates_of(std::uint32_t npu, std::span<const std::uint32_t> sizes);

// Of each dimension the coordinates that members have, ascending, if the members are all NPUs with
// such coordinates: a box. Else empty.
std::vector<std::vector<std::uint32_t>> box_of(std::span<const std::uint32_t> members,
                                               std::span<const std::uint32_t> sizes);

}  // namespace tessera::executor
