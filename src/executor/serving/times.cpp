#include "serving/times.hpp"

namespace tessera::executor {

const OperatorTime& OperatorTimes::of(std::uint32_t tenant, std::uint32_t op,
                                      const serving::StepSizes& sizes, EntityId node) {
  const ServiceSettings& served = setup_.work.tenants[tenant];
  const serving::TileModel& model = *served.model->on_tiles();
  if (known_.size() >= most_kept) {
    known_.clear();
  }
  const std::uint32_t kind = served.model->kind_of(op);
  const auto [found, is_new] =
      known_.try_emplace({tenant, kind, model.needed(op, sizes), type_of(node)});
  if (is_new) {
    found->second = make(tenant, op, sizes, node);
  }
  return found->second;
}

const OperatorTime& OperatorTimes::of_step(std::uint32_t tenant, std::uint32_t op,
                                           const serving::StepSizes& sizes, EntityId node) {
  const ServiceSettings& served = setup_.work.tenants[tenant];
  const serving::StepSizes needed = served.model->on_tiles()->needed(op, sizes);
  const auto [found, is_new] =
      latest_.try_emplace({tenant, served.model->kind_of(op), type_of(node)});
  Latest& latest = found->second;
  if (is_new || latest.needed != needed) {
    latest = {needed, make(tenant, op, sizes, node)};
  }
  return latest.time;
}

std::uint16_t OperatorTimes::type_of(EntityId node) const {
  const machine::Machine& machine = setup_.machine;
  return machine.types.empty() ? std::uint16_t{0} : machine.type_of[node.value()];
}

OperatorTime OperatorTimes::make(std::uint32_t tenant, std::uint32_t op,
                                 const serving::StepSizes& sizes, EntityId node) const {
  const ServiceSettings& served = setup_.work.tenants[tenant];
  const machine::Tile& tile = setup_.machine.tile_of(node);
  const serving::TileOperation made = served.model->on_tiles()->operation(op, sizes);
  OperatorTime known;
  known.time = setup_.time_of(tenant, tile, made);
  known.read = (served.streams_weights ? made.weights : Bytes()) +
               (served.streams_cache ? made.cached : Bytes());
  known.written = served.streams_cache ? made.appended : Bytes();
  known.operands = tile.operands_in_dram || setup_.work.of_cores
                       ? made.operation.bytes + made.operation.added
                       : Bytes();
  return known;
}

}  // namespace tessera::executor
