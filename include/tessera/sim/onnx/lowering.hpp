// Lowers the graph of a model to operators of a chip.
//
// Each node becomes the operators that its work asks for (onnx/work.hpp), behind those that make
// what it reads. Views become nothing: who reads them waits for what they are views of. Layouts are
// those that the operators of the chip want; changing them costs nothing unless the graph has a
// node for it.
//
//   product                  one product; a shared right side makes one of all rows. Weights of few
//                            bits are moved packed, with their scales and zero points
//   convolution              one; of one or three dimensions as one of two; a transposed one as a
//                            product and a sum of its parts into the output
//   attention                one, in steps of keys; its scores, softmax and sums apart where not
//                            even one query fits a core; projections of its input before it. A mask
//                            is not loaded
//   recurrent cell           the inputs of all steps in one product, then for each step a product
//                            and the functions of the gates; directions do not wait for each other
//   norm, softmax, reduction rows
//   pooling, element-wise,   what is read and written goes through the vector unit; an operator
//   lookup, movement, append that does not compute copies
//   not understood           as movement, of all that it reads and writes
//
// Epilogues are done on sums before they are stored, what they read besides is loaded into the
// sums; those of attention are an operator of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tessera/core/data_type.hpp"
#include "tessera/executor/chip.hpp"
#include "tessera/npu/core/core.hpp"
#include "tessera/onnx/graph.hpp"

namespace tessera::sim {

struct LoweringOptions {
  const npu::CoreConfig& core;  // the operators refer to it
  std::uint64_t cores = 1;
  // Of all floating-point numbers of more than 8 bits; none: as the model has them. Others are as
  // the model has them.
  std::optional<DataType> data_type;
  // A node begins when the node before it in the graph is over, whether it reads from it or not.
  bool drain = false;
  // Types of nodes, views too, that become an operator without tiles.
  std::set<std::string> free{};
};

// Operators are called as their nodes; where a node becomes several, "NODE/part".
// Throws ConfigError for a tensor whose shape is not known and sizes that cannot be counted.
std::vector<executor::ChipOperator> lower_graph(const onnx::Graph& graph,
                                                const LoweringOptions& options);

// What the parameters of a graph take in memory, each once: numbers that describe shapes and
// choices do not count.
Bytes parameter_bytes(const onnx::Graph& graph, std::optional<DataType> data_type);

}  // namespace tessera::sim
