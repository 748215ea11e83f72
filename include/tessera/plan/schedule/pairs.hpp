// Passes that take turns: a forward pass beside the whole backward pass behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/plan/schedule/schedule.hpp"

namespace tessera::plan {

// A pass, or two that begin and end together.
struct Turn {
  Pass pass;
  std::optional<Pass> beside{};
};

// The passes of a stage as it makes them. With `pairs` a forward pass and the whole backward pass
// of the other chunk behind it are one turn, but for the first such pair of the stages where parts
// turn round, which hands on sooner so (as in DualPipe's published code, DeepSeek-V3,
// arXiv:2412.19437, section 3.2.1); without, each is a turn of its own.
std::vector<Turn> turns_of(const std::vector<Pass>& passes, const PipelineShape& shape,
                           std::uint32_t stage, bool pairs);

}  // namespace tessera::plan
