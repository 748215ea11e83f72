// A device of the gemm model. Where nothing else is said the peak is 1 TFLOP/s, so that a FLOP of
// the whole device takes a picosecond, and there are four units.
#pragma once

#include <string>

#include "describing.hpp"

namespace tessera::compute::testing {

inline const std::string peak = "peak: {fp16: 1 TFLOP/s, fp32: 1 TFLOP/s}";
inline const std::string fast_memory = peak + ", sram_bandwidth: 1 TB/s";  // a byte takes a ps

inline Described gemm(const std::string& keys, const std::string& tile = peak) {
  return described(tile, "model: gemm, units: 4, " + keys);
}

inline workload::Operation of_kernel(workload::Kernel kernel, workload::Operation operation) {
  operation.kernel = kernel;
  return operation;
}

}  // namespace tessera::compute::testing
