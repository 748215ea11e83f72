// Nodes of a graph in an order in which each stands behind those whose outputs it reads.
#pragma once

#include <string>

#include "model_file.hpp"

namespace tessera::onnx {

// ONNX asks for such an order, and some tools write another one. Nodes that are in order already
// stay as they are; else the first ones of the file that may come next do. What graphs inside of a
// node read from around it counts as read by the node. `path` is for messages: throws ConfigError
// with the nodes of a cycle where some wait for each other.
void put_in_order(FileGraph& graph, const std::string& path);

}  // namespace tessera::onnx
