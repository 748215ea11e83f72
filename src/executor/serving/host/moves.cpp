// Blocks of caches that go to another memory, and come back, and adapters that come from there,
// before a step.
#include "serving/host/host.hpp"
#include "serving/messages.hpp"

namespace tessera::executor {

void ServingHost::let_begin(pdes::Context& context, std::uint32_t number) {
  const StepState& step = steps_.at(number);
  if (step.batch.blocks_out + step.batch.blocks_in + step.batch.adapters_in > 0) {
    begin_moves(context, number);
  } else {
    make_ready(number, step);
  }
}

// Both ways at the same time; each unit moves its part of every block and adapter.
void ServingHost::begin_moves(pdes::Context& context, std::uint32_t number) {
  const StepState& step = steps_.at(number);
  const ServiceSettings& tenant = tenant_of(step);
  const std::uint64_t block = tenant.model->cache_block(tenant.batching.block).count();
  const std::uint16_t slot = take_slot({number, move_part});
  for (const bool out : {true, false}) {
    const std::uint64_t bytes = out ? block * step.batch.blocks_out
                                    : block * step.batch.blocks_in +
                                          tenant.model->adapter().count() * step.batch.adapters_in;
    for (std::size_t unit = 0; bytes > 0 && unit < tenant.npus.size(); ++unit) {
      const MoveOf move{bytes, step.tenant, out, MoveOf::Stage::told};
      say(context, work_.npus[tenant.npus[unit]].front(), serving_moved_kind, slot, move.word());
      ++slots_[slot].outstanding;
      moved_bytes_ += bytes;
    }
  }
}

}  // namespace tessera::executor
