// What all workload kinds are asked alike: batch, number formats, optimizer, training or inference.
//
// Bytes a parameter, after Rajbhandari et al., "ZeRO", arXiv:1910.02054, section 3.1. Below 32 bits
// Adam keeps the weight, momentum and variance in fp32 (12 bytes) and SGD the weight (4 bytes);
// from 32 bits on the weight is its own master copy, so that Adam keeps two numbers of the data
// type and SGD, here without momentum, nothing. Both may have types of their own: `master_type`,
// `moment_type` (DeepSeek-V3, arXiv:2412.19437, section 3.3.3: moments in bf16, master weights in
// fp32). With gradients of 16 bits that is 16 bytes in all
// for Adam; Megatron-LM adds up gradients in fp32, which makes 18.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::workload {

// What one sample may cost [FLOP], so that sums over layers and bytes of optimizer state fit 64
// bits.
inline constexpr double most_flops_per_sample = 0x1p62;

// The batch, types and bytes of a workload without layers; nothing when one was complained about.
std::optional<Workload> read_training(config::Section& section);
// Its keys, for `tessera list`.
std::vector<ParameterInfo> training_parameters();
// `data_type` alone, of what is not trained.
DataType read_data_type(config::Section& section);
// The others that are given have no effect with that.
void note_training_keys(config::Section& section, std::string_view with);

// Forward passes only: operators have no backward, keep nothing, and exchange nothing after it.
void drop_training(Workload& workload);

}  // namespace tessera::workload
