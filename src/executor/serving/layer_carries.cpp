#include "serving/layer_carries.hpp"

#include <algorithm>

namespace tessera::executor {

bool LayerCarries::is_complete(const Told& step) const {
  const auto known = std::count_if(leaving_.begin(), leaving_.end(),
                                   [&step](const Leaving& one) { return one.step == step.slot; });
  return static_cast<std::uint32_t>(known) >= WalkOf::from(step.words[1]).leaving;
}

bool LayerCarries::may_begin(const Told& step) {
  if (is_complete(step)) {
    return true;
  }
  kept_.push_back(step);
  return false;
}

std::optional<Told> LayerCarries::leave(const Leaving& leaving) {
  leaving_.push_back(leaving);
  const auto kept = std::find_if(kept_.begin(), kept_.end(),
                                 [&leaving](const Told& one) { return one.slot == leaving.step; });
  if (kept == kept_.end() || !is_complete(*kept)) {
    return std::nullopt;
  }
  const Told step = *kept;
  kept_.erase(kept);
  return step;
}

void LayerCarries::end_step(std::uint16_t step) {
  std::erase_if(leaving_, [step](const Leaving& one) { return one.step == step; });
}

bool LayerCarries::has_come(std::uint16_t slot, std::uint32_t layers) {
  auto coming = std::find_if(coming_.begin(), coming_.end(),
                             [slot](const Coming& one) { return one.slot == slot; });
  if (coming == coming_.end()) {
    coming = coming_.insert(coming_.end(), {slot, 0});
  }
  if (++coming->layers < layers) {
    return false;
  }
  coming_.erase(coming);
  return true;
}

void LayerCarries::save(pdes::StateWriter& writer) const {
  writer.put_all(leaving_);
  writer.put_all(kept_);
  writer.put_all(coming_);
}

void LayerCarries::restore(pdes::StateReader& reader) {
  leaving_ = reader.get_all<Leaving>();
  kept_ = reader.get_all<Told>();
  coming_ = reader.get_all<Coming>();
}

}  // namespace tessera::executor
