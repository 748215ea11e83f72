// What the vector unit does for the operators of a model.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/npu/vector_work.hpp"
#include "tessera/onnx/work.hpp"

namespace tessera::sim {

// Of one element: of an operator that a unit knows by name, or so many additions.
npu::VectorWork element_work(const std::string& op, std::uint64_t flops_per_element);

// Of a row, and of each of its elements.
npu::VectorWork row_work(const std::string& op, const onnx::RowWork& work);

// Of an element of the state, once its gates' sums are there: LSTM three sigmoids, two tanh, three
// products, a sum; GRU two sigmoids, a tanh, three products, three sums; RNN a tanh.
npu::VectorWork gate_work(std::uint64_t gates);

}  // namespace tessera::sim
