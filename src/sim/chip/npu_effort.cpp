#include "chip/npu_effort.hpp"

#include <algorithm>

#include "tessera/core/quotient.hpp"

namespace tessera::sim {
namespace {

constexpr std::uint64_t events_of_instruction = 2;  // begun, and over

Effort effort_of(const npu::TileProgram& program, const npu::DmaConfig& dma) {
  Effort effort;
  effort.instructions = program.code.size();
  for (const npu::CoreInstruction& one : program.code) {
    if (one.opcode != npu::Opcode::mvin && one.opcode != npu::Opcode::mvout) {
      continue;
    }
    const std::uint64_t rows = dma.by_rows ? one.region.rows : 1;
    const std::uint64_t bytes = one.region.bytes() / std::max<std::uint64_t>(1, rows);
    const std::uint64_t most = dma.request == Bytes() ? bytes : dma.request.count();
    const std::uint64_t accesses = rows * quotient_up(bytes, std::max<std::uint64_t>(1, most));
    const bool loads = one.opcode == npu::Opcode::mvin;
    (loads ? effort.loads : effort.stores) += accesses;
    (loads ? effort.loaded : effort.stored) += Bytes(one.region.bytes());
  }
  return effort;
}

void add_accesses(PredictedEvents& events, EntityId core, const npu::CoreConfig& config, bool write,
                  Bytes bytes, std::uint64_t count) {
  if (count == 0) {
    return;
  }
  if (config.operands == npu::Operands::sram) {
    events.add(core, count);
  } else {
    events.access(core, bytes, write, count);
  }
}

Bytes mean(Bytes bytes, std::uint64_t accesses) {
  return Bytes(quotient_up(bytes.count(), std::max<std::uint64_t>(1, accesses)));
}

}  // namespace

void Effort::add_to(PredictedEvents& events, EntityId core, const npu::CoreConfig& config,
                    std::uint64_t part, std::uint64_t whole) const {
  const auto own = [&](std::uint64_t count) { return count * part / whole; };
  events.add(core, events_of_instruction * own(instructions));
  add_accesses(events, core, config, false, mean(loaded, loads), own(loads));
  add_accesses(events, core, config, true, mean(stored, stores), own(stores));
}

Effort effort_of_group(const npu::TiledOperator& op) {
  Effort effort;
  if (op.groups() == 0) {
    return effort;
  }
  const auto tile = [&](std::uint64_t step) {
    return effort_of(op.program(op.tile(0, step).shape), op.core().dma);
  };
  effort.add(tile(0), op.steps() - 1);
  effort.add(tile(op.steps() - 1), 1);
  return effort;
}

}  // namespace tessera::sim
