// A neural network as a graph of operators over tensors whose shapes are known: what the ONNX front
// end makes, what it optimises, and what a lowering to a machine reads.
//
// Subgraphs are gone: the chosen branch of an If and the iterations of a Loop or Scan stand in the
// graph itself, functions of the model in place of their calls, and Constant nodes are tensors. The
// nodes are in an order in which each comes behind those whose outputs it reads.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tessera/onnx/tensor.hpp"

namespace tessera::onnx {

using TensorIndex = std::uint32_t;
// In place of an optional input or output that is left out.
constexpr TensorIndex no_tensor = std::numeric_limits<TensorIndex>::max();

using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>>;
using Attributes = std::map<std::string, Attribute>;

// A vector operation that a product, convolution or norm does on its output before writing it.
struct Epilogue {
  std::string op;           // "Relu", "Add"
  std::uint64_t flops = 0;  // of all of it
  // Read besides, such as a skip or a bias; they are among the inputs of the node.
  std::vector<TensorIndex> operands;
};

struct Node {
  std::string name;    // as in the file; "Conv#17" for one without
  std::string domain;  // "" is the standard set
  std::string op;
  std::int64_t version = 0;  // of the domain's operator set
  Attributes attributes;
  std::vector<TensorIndex> inputs;
  std::vector<TensorIndex> outputs;
  std::vector<Epilogue> epilogue;
  // Scales and zero points with which the node widens constants that it reads packed, as
  // DequantizeLinear does; they are among the inputs of the node.
  std::vector<TensorIndex> widened_by;
  std::uint64_t offset = 0;  // in the file [B]; of a fused node, of its first
  // Not empty: why the operator was not understood; it costs memory traffic alone.
  std::string unknown;

  // "Conv", "com.microsoft.Gelu"; with what is fused to it "Conv+Add+Relu".
  std::string kind() const;
};

struct Graph {
  std::string name;
  std::string path;  // of the file, for messages
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  std::vector<TensorIndex> inputs;
  std::vector<TensorIndex> outputs;

  const Tensor& tensor(TensorIndex at) const { return tensors[at]; }
};

}  // namespace tessera::onnx
