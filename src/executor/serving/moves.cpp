#include "serving/moves.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::executor {
namespace {

EntityId memory_of(const ServedTenant& tenant, std::uint32_t npu) {
  const auto unit = std::find(tenant.npus.begin(), tenant.npus.end(), npu) - tenant.npus.begin();
  return tenant.behind[static_cast<std::size_t>(unit)];
}

}  // namespace

bool go_on_moving(pdes::Context& context, const ServingSetup& setup, std::uint16_t slot,
                  const network::Arrival& what, std::uint32_t npu) {
  MoveOf move = MoveOf::from(what.word);
  const pdes::Port port(setup.slot, serving_moved_kind);
  const auto send = [&](EntityId target, bool data) {
    setup.sent->messages += data ? move.bytes : 0;
    network::send(context, setup.network_slot, target,
                  data ? Bytes(move.bytes) : setup.work.message, port, slot, move.word());
  };
  switch (move.stage) {
    case MoveOf::Stage::told: {
      const ServedTenant& tenant = setup.work.tenants[move.tenant];
      if (!tenant.behind.empty()) {
        move.stage = MoveOf::Stage::asked;
        send(memory_of(tenant, npu), move.out);
        return false;
      }
      move.stage = MoveOf::Stage::over;
      context.send_self(setup.remote_time(Bytes(move.bytes)), port,
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
