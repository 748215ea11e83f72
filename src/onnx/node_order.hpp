// Nodes of a graph in an order in which each stands behind those whose outputs it reads.
#pragma once

#include "model_file.hpp"

namespace tessera::onnx {

// ONNX asks for such an order, and some tools write another one. Nodes that are in order already
// stay as they are; else the first ones of the file that may come next do. What graphs inside of a
// node read from around it counts as read by the node. Where nodes wait for each other in a ring,
// nothing is changed.
void put_in_order(FileGraph& graph);

}  // namespace tessera::onnx
