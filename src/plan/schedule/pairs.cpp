#include "tessera/plan/schedule/pairs.hpp"

#include <cstddef>

namespace tessera::plan {
namespace {

bool are_pair(const Pass& one, const Pass& other) {
  return one.phase == Phase::forward && other.phase == Phase::backward && one.chunk != other.chunk;
}

bool turns_round(const PipelineShape& shape, std::uint32_t stage) {
  const std::uint32_t stages = shape.stages;
  return shape.mirrored ? stage == stages / 2 || stage + 1 == stages / 2 : stage + 1 == stages;
}

}  // namespace

std::vector<Turn> turns_of(const std::vector<Pass>& passes, const PipelineShape& shape,
                           std::uint32_t stage, bool pairs) {
  std::vector<Turn> turns;
  turns.reserve(passes.size());
  bool apart = turns_round(shape, stage);
  for (std::size_t i = 0; i < passes.size(); ++i) {
    Turn& turn = turns.emplace_back(Turn{passes[i]});
    if (pairs && i + 1 < passes.size() && are_pair(passes[i], passes[i + 1])) {
      if (!apart) {
        turn.beside = passes[++i];
      }
      apart = false;
    }
  }
  return turns;
}

}  // namespace tessera::plan
