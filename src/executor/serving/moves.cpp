#include "serving/moves.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::executor {
namespace {

EntityId memory_of(const ServiceSettings& tenant, std::uint32_t npu) {
  const auto unit = std::find(tenant.npus.begin(), tenant.npus.end(), npu) - tenant.npus.begin();
  return tenant.behind[static_cast<std::size_t>(unit)];
}

// From now on, with the copies of the same way that were asked for before.
SimTime time_behind(const pdes::Context& context, const ServingSetup& setup, const MoveOf& move,
                    ServingCore& core) {
  const SimTime time = setup.remote_time(Bytes(move.bytes));
  if (!setup.copies_to_hosts) {
    return time;
  }
  SimTime& free = core.host_free[move.out ? 1 : 0];
  free = std::max(free, context.now()) + time;
  return free - context.now();
}

}  // namespace

bool go_on_moving(pdes::Context& context, const ServingSetup& setup, std::uint16_t slot,
                  const network::Arrival& what, ServingCore* core) {
  MoveOf move = MoveOf::from(what.word);
  const pdes::Port port(setup.slot, serving_moved_kind);
  const auto send = [&](EntityId target, bool data) {
    setup.sent->messages += data ? move.bytes : 0;
    network::send(context, setup.network_slot, target,
                  data ? Bytes(move.bytes) : setup.work.message, port, slot, move.word());
  };
  switch (move.stage) {
    case MoveOf::Stage::told: {
      const ServiceSettings& tenant = setup.work.tenants[move.tenant];
      if (!tenant.behind.empty()) {
        move.stage = MoveOf::Stage::asked;
        send(memory_of(tenant, core->place.npu), move.out);
        return false;
      }
      move.stage = MoveOf::Stage::over;
      context.send_self(time_behind(context, setup, move, *core), port,
                        network::Arrival{context.self(), 0, move.word()}, slot);
      return false;
    }
    case MoveOf::Stage::asked:
      move.stage = MoveOf::Stage::over;
      send(what.source, !move.out);
      return false;
    case MoveOf::Stage::over:
      return true;
  }
  throw InternalError("blocks of a cache that move in a way outside its list");
}

}  // namespace tessera::executor
