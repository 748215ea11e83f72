// Lowers the graph of a model to a chain of layers of operators for one sample, as transformers and
// layers written out are: what a strategy cuts, whatever computes it.
//
// Layers are stretches of the nodes in their order, and end where little crosses. Crossing at a
// place are the tensors that a node before it makes and one behind it reads (views are the tensor
// that they show), and inputs of the model that nodes on both sides may read: two nodes or more.
// Constants and numbers that follow from shapes do not cross, nor inputs and outputs of one node,
// caches among them, which stay where that node is. The graph is cut at all places where the fewest
// tensors cross; a stretch with more than an eighth of the FLOPs again where the fewest cross
// inside; never within a set of nodes that tensor parallelism cuts together. A stretch without a
// product joins the neighbour to which more tensors cross, and stretches whose products come again
// in turn, as those of attention and MLP do, are one layer.
//
// Only for inference: a model in a file is a forward pass, without dropout, its batch norms with
// the statistics of the training set or folded into convolutions.
#pragma once

#include <optional>

#include "tessera/core/data_type.hpp"
#include "tessera/onnx/graph.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::sim {

// FLOPs and parameters are those of onnx::total_cost. Without name, and for one sample a step.
// `data_type` is that of all floating-point numbers of more than 8 bits; others are as the model
// has them. Products of quantised models have a type of their own, and weights their own bytes
// (Operator::own_type, weight_bytes). Throws ConfigError for a model without work.
workload::Workload layers_of(const onnx::Graph& graph, DataType data_type);

// That of most parameters, or of the inputs of a model without; none: there is no such tensor.
// Where some weights are of 8 bits or less, that of most activations and inputs of more bits.
std::optional<DataType> data_type_of(const onnx::Graph& graph);

}  // namespace tessera::sim
