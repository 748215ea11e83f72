// What all workload kinds are asked alike: batch, number formats, optimizer, training or inference.
//
//   key            default    meaning
//   batch                     samples of one step over all data-parallel replicas
//   mode           training   training or inference
//   data_type      fp16       of weights, activations and gradients
//   optimizer      adam       adam or sgd; of no effect in inference, as the next
//   gradient_type  data_type  of the gradients of weights as they are kept and added up
//
// Bytes a parameter, after Rajbhandari et al., "ZeRO", arXiv:1910.02054, section 3.1. Below 32 bits
// Adam keeps the weight, momentum and variance in fp32 (12 bytes) and SGD the weight (4 bytes);
// from 32 bits on the weight is its own master copy, so that Adam keeps two numbers of the data
// type and SGD, here without momentum, nothing. With gradients of 16 bits that is 16 bytes in all
// for Adam; Megatron-LM adds up gradients in fp32, which makes 18.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::workload {

// What one sample may cost [FLOP], so that sums over layers and bytes of optimizer state fit 64
// bits.
inline constexpr double most_flops_per_sample = 0x1p62;

// A whole number from 1 to `most` that must be given; 0 after a complaint.
std::uint64_t read_count(config::Section& section, const char* key, std::int64_t most);
std::uint64_t read_count_or(config::Section& section, const char* key, std::uint64_t usual,
                            std::int64_t most);

// The batch, types and bytes of a workload without layers; nothing when one was complained about.
std::optional<Workload> read_training(config::Section& section);
// The keys above, for `tessera list`.
std::vector<ParameterInfo> training_parameters();

// Forward passes only: operators have no backward, keep nothing, and exchange nothing after it.
void drop_training(Workload& workload);

}  // namespace tessera::workload
