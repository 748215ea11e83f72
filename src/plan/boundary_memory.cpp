// Buffers between stages that are there for all micro-batches.
#include <algorithm>

#include "tessera/plan/memory.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::plan {

std::uint32_t micro_batches_of_chunk(const std::vector<Pass>& passes, std::uint32_t chunks) {
  const auto forward = std::count_if(passes.begin(), passes.end(),
                                     [](const Pass& pass) { return pass.phase == Phase::forward; });
  return static_cast<std::uint32_t>(forward) / chunks;
}

BoundaryMemory boundary_memory(const workload::Workload& workload, const Strategy& strategy,
                               std::uint32_t stage,
                               const std::vector<std::pair<std::size_t, std::size_t>>& chunks,
                               std::uint32_t in_flight) {
  BoundaryMemory memory;
  if (!strategy.software.buffers_all_micro_batches || !workload.training ||
      strategy.degrees.pipeline == 1) {
    return memory;
  }
  const Sharder sharder(workload, strategy);
  const PipelineShape shape = strategy.pipeline_shape(true);
  const bool keeps_inputs =
      strategy.recompute == Recompute::full || strategy.recompute == Recompute::alternate;
  memory.under_way = divided_up(in_flight, chunks.size());
  for (std::uint32_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const auto [first, end] = chunks[chunk];
    const std::uint32_t part = shape.part_of(stage, chunk);
    if (!shape.begins(part)) {
      const Bytes input = sharder.whole_bytes(workload.layers[first - 1].boundary_elements);
      memory.each += input;
      memory.received += keeps_inputs ? input : Bytes();
    }
    if (!shape.ends(part)) {
      const Bytes output = sharder.whole_bytes(workload.layers[end - 1].boundary_elements);
      memory.each += output;
      memory.sent += output;
      continue;
    }
    for (const workload::Operator& op : workload.layers[end - 1].operators) {
      memory.each +=
          op.kind == "loss" && op.input_elements > 0 ? sharder.operands(op).inputs : Bytes();
    }
  }
  return memory;
}

}  // namespace tessera::plan
