// What the vector unit does to the elements of an operator, and the cycles it takes.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tessera/npu/core/core.hpp"

namespace tessera::npu {

// Passes over every element, and work for each row. A row's sum or maximum goes through a tree as
// wide as the unit (ONNXim: "add tree"), level by level.
struct VectorWork {
  std::uint64_t adds = 0;  // also comparisons, moves and shifts
  std::uint64_t muls = 0;
  std::uint64_t exps = 0;
  std::uint64_t divs = 0;
  std::uint64_t gelus = 0;
  std::uint64_t trees = 0;  // of each row
  std::uint64_t scalar_muls = 0;
  std::uint64_t scalar_sqrts = 0;
  // FLOPs of an element, as models count them (onnx/work.hpp): moves do none, and a function that
  // takes several passes as many as its formula has.
  std::uint64_t flops = 0;
  friend VectorWork operator+(const VectorWork& a, const VectorWork& b);
  friend bool operator==(const VectorWork&, const VectorWork&) = default;
};

// add, mul, relu, gelu, silu, sigmoid, tanh, exp, div, sqrt, softmax, layer_norm, rms_norm, copy.
// Throws ConfigError for another name.
VectorWork vector_work(const std::string& name);
std::vector<std::string> vector_names();

// So many products of two elements each, added up.
VectorWork multiplications(std::uint64_t count);

// One of each kind.
VectorWork any_vector_work();
// Kinds of passes in it, by the names of their latencies (CoreConfig): add, mul, exp, …
std::set<std::string> names_of_passes(const VectorWork& work);

// Of `rows` rows of `columns` elements each.
std::uint64_t vector_cycles(const CoreConfig& core, const VectorWork& work, std::uint64_t rows,
                            std::uint64_t columns);

}  // namespace tessera::npu
