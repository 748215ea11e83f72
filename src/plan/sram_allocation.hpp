// What SRAM holds of a stage, and what of each layer moves to and from DRAM instead.
//
// SRAM holds, in this order of preference, everything; weights with their gradients and optimizer
// state; activations; nothing (PALM, section IV-C: S_wsg_act, S_wsg, S_act, S_dram). Two ways to
// count what moves:
//
//   resident     What must survive from one pass to the next: weights are read once a pass,
//                stored activations are written and read back, gradients read and written. Inside a
//                layer, activations stay in SRAM.
//   algorithm-1  PALM's Algorithm 1, operator by operator. Weights held: inputs and outputs move
//                (activation stream). Activations held: weights move (weight stream). Neither: the
//                smaller of weight stationary, W + ceil(W / S) I + O, and input stationary,
//                I + ceil(I / S) W + O. The backward pass moves what both its products need: the
//                stored input, the gradients of output and input, weights and their gradients.
//
// Deviations from the paper: its second condition reads WSG < S_Cap, which its first one excludes;
// here it is ACT, as the text has it. Its stationary cases leave out the first read of the
// stationary operand, which is counted here.
#pragma once

#include "tessera/plan/plan.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::plan {

// Bytes between DRAM and one tile, for one layer and micro-batch.
struct LayerStreams {
  Bytes forward_weights;   // read
  Bytes forward_inputs;    // read
  Bytes forward_outputs;   // written
  Bytes backward_weights;  // read
  Bytes backward_inputs;   // read
  Bytes backward_outputs;  // written
  Bytes gradients_read;
  Bytes gradients_written;
};

LayerStreams streams_of(const Sharder& sharder, const Strategy& strategy,
                        const workload::Layer& layer, const StageMemory& memory, Bytes sram);

}  // namespace tessera::plan
