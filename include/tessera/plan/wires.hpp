// Types in which tensors are sent, where it is not the one that they are kept in.
//
// What is sent is cast before and widened behind; neither takes time of its own, as the kernels
// that copy to and from the wire do both, and where a narrow product follows its cast has come
// before (DeepSeek-AI, arXiv:2412.19437, section 3.3.3: tokens go to experts in fp8 and come back
// in bf16; PyTorch, torchao's fp8 all-gather of FSDP2; Transformer Engine's fp8 all-gather along
// tokens). Buffers hold what was kept, not what was sent. What goes in the workload's
// `product_type` has the scales of its products.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::plan {

struct Strategy;

// None: as kept.
struct Wires {
  std::optional<DataType> dispatch;        // tokens to experts; backward, gradients of outputs
  std::optional<DataType> combine;         // back from them; backward, gradients of tokens
  std::optional<DataType> weights;         // that ZeRO gathers
  std::optional<DataType> gradients;       // that replicas add up
  std::optional<DataType> tensor_gathers;  // of tensor groups along the tokens
  std::optional<DataType> tensor_sums;     // of tensor groups: partial sums
  friend bool operator==(const Wires&, const Wires&) = default;
};

std::vector<ParameterInfo> wire_parameters();

// Of the section `wires` of a strategy, which it finishes.
Wires read_wires(config::Section& strategy);

// Notes types of what is not sent.
void note_wires_without_effect(config::Section wires, const workload::Workload& workload,
                               const Strategy& strategy);

}  // namespace tessera::plan
