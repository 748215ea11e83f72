// What the software of a training holds in memory beside what the plan says.
//
// Sources: PyTorch of December 2024, torch/distributed/_composable/fsdp (fully_shard),
// torch/distributed/pipelining/stage.py, torch/distributed/tensor/parallel,
// torch/distributed/tensor/experimental/_attention.py and c10/cuda/CUDACachingAllocator.cpp;
// torchtitan, torchtitan/parallelisms/parallelize_llama.py and torchtitan/models/llama/model.py.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::plan {

// How what ZeRO shares out is held.
//   plain  weights in the data type beside the optimizer's in fp32; gathered where they are used
//   fsdp2  PyTorch's fully_shard: ZeRO 3 gathers from the optimizer's weights, into buffers that
//          are copied from. What is not repeated (embedding and head) is one unit, which stays
//          gathered from the first layer forward to the last one backward, and so does the last
//          repeated layer until its own backward pass. Gradients come in the data type and are
//          copied to their own before they are summed up or scattered. With ZeRO 1, as under a
//          pipeline, whole gradients are beside the share that the optimizer takes; with ZeRO 2 and
//          3 each backward pass scatters them, and the share alone stays
enum class SharedOutBy : std::uint8_t { plain, fsdp2 };

// Where the host waits for the device, but for what goes on in the background.
enum class HostWaits : std::uint8_t {
  passes,  // where an iteration begins, and for what comes from other stages
  layers,  // before each layer of each pass as well, as where a framework takes the time of layers
  // The same, where times of layers and of collectives were taken apart from each other and added
  // up: sums of a tensor group are behind the layer, and no matter of the host.
  profiles
};

struct Software {
  SharedOutBy sharding = SharedOutBy::plain;
  // Compiled layers keep no result that no backward pass reads (of alternate recomputation).
  bool compiled = false;
  // Inputs gathered along the tokens stay for gradients of weights (PyTorch's DTensor), whose
  // products of one input are made one by one; or they are gathered again (Megatron-LM).
  bool keeps_gathered_inputs = false;
  // Inputs of products in a narrow type are kept as they are multiplied (Transformer Engine's
  // linear.py and layernorm_linear.py), or as they come (torchao's Float8Linear).
  bool keeps_narrow_inputs = false;
  // Buffers for what comes from other stages in every micro-batch, both ways; outputs stay until
  // their backward pass, the logits of all micro-batches until the iteration is over.
  bool buffers_all_micro_batches = false;
  // Keys and values that several heads of queries share are copied for each before attention, kept
  // so and gathered so over a context group (torchtitan's repeat_kv).
  bool repeats_kv_heads = false;
  // With keys and values gathered over a context group for fused attention, sums of their gradients
  // go around it in fp32, a part at a time (PyTorch's ring attention), or are whole until they are
  // scattered.
  bool passes_context_sums = false;
  // What layers have freed is too small for copies of logits, and serves none.
  bool reuses_fitting_blocks_only = false;

  // Full recomputation of a layer is over when all that its backward passes need is there
  // (torch.utils.checkpoint without reentrant calls, from PyTorch 2.1 on), so that its last product
  // is not made again.
  bool stops_early = false;

  HostWaits host_waits = HostWaits::passes;

  bool is_fsdp2() const { return sharding == SharedOutBy::fsdp2; }
  friend bool operator==(const Software&, const Software&) = default;
};

std::vector<ParameterInfo> software_parameters();

// Whether several heads of queries share keys and values.
inline bool has_fewer_kv_heads(const workload::Operator& op) {
  return op.context_elements > 0 && op.kv_heads > 0 && op.product.count > op.kv_heads;
}

// Of the section `software` of a strategy, which it finishes.
Software read_software(config::Section& strategy);

}  // namespace tessera::plan
