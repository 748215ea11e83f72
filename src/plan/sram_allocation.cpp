#include "sram_allocation.hpp"

namespace tessera::plan {
namespace {

LayerStreams resident(const LayerBytes& bytes, const StageMemory& memory) {
  LayerStreams streams;
  if (!memory.holds_weights) {
    streams.forward_weights = bytes.weights_read;
    streams.backward_weights = bytes.weights_read;
    streams.gradients_read = bytes.gradients;
    streams.gradients_written = bytes.gradients;
  }
  if (!memory.holds_activations) {
    streams.forward_outputs = bytes.stored;
    streams.backward_inputs = bytes.stored;
  }
  return streams;
}

// Reads of an operator when neither its weights nor its inputs are held.
struct Reads {
  Bytes weights;
  Bytes inputs;
};

Reads stationary_reads(Bytes weights, Bytes inputs, Bytes sram) {
  const Reads weight_stationary{weights, inputs * divided_up(weights.count(), sram.count())};
  const Reads input_stationary{weights * divided_up(inputs.count(), sram.count()), inputs};
  const auto sum = [](const Reads& reads) { return reads.weights + reads.inputs; };
  return sum(weight_stationary) <= sum(input_stationary) ? weight_stationary : input_stationary;
}

void add_operator(const Operands& op, const StageMemory& memory, Bytes sram, bool recomputes,
                  LayerStreams& streams) {
  Reads reads{memory.holds_weights ? Bytes(0) : op.weights,
              memory.holds_activations ? Bytes(0) : op.inputs};
  if (!memory.holds_weights && !memory.holds_activations && op.weights > Bytes(0) &&
      op.inputs > Bytes(0)) {
    reads = stationary_reads(op.weights, op.inputs, sram);
  }
  streams.forward_weights += reads.weights;
  streams.forward_inputs += reads.inputs;
  const std::uint64_t times = recomputes ? 2 : 1;
  streams.backward_weights += reads.weights * times;
  streams.backward_inputs += reads.inputs * times;
  if (!memory.holds_activations) {
    streams.forward_outputs += op.outputs;
    streams.backward_inputs += op.outputs;  // its gradient
    streams.backward_outputs += op.inputs;  // its gradient
    streams.backward_outputs += recomputes ? op.outputs : Bytes(0);
  }
  if (!memory.holds_weights) {
    streams.gradients_read += op.gradients;
    streams.gradients_written += op.gradients;
  }
}

}  // namespace

LayerStreams streams_of(const Sharder& sharder, const Strategy& strategy,
                        const workload::Layer& layer, const StageMemory& memory, Bytes sram) {
  if (strategy.sram == SramAllocation::resident ||
      (memory.holds_weights && memory.holds_activations)) {
    return resident(sharder.bytes_of(layer), memory);
  }
  LayerStreams streams;
  for (const workload::Operator& op : layer.operators) {
    add_operator(sharder.operands(op), memory, sram, sharder.computes_again(op), streams);
  }
  return streams;
}

}  // namespace tessera::plan
