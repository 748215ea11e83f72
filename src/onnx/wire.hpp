// Looks through the bytes of a model before Protobuf parses them: Protobuf says only whether it
// could, this says where not, and where each node begins.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::onnx {

// Where the nodes of a graph begin, and the graphs within them, in file order.
struct NodePlace;
struct GraphPlace {
  std::vector<NodePlace> nodes;
};
struct NodePlace {
  std::uint64_t offset = 0;
  std::vector<GraphPlace> graphs;
};
struct ModelPlaces {
  GraphPlace graph;
  std::vector<GraphPlace> functions;
};

// Throws ConfigError naming `path`, node and byte for what is no message: a length beyond its end,
// a number of more than ten bytes, a wire type that there is not, nesting deeper than 60.
ModelPlaces scan_model(std::string_view bytes, const std::string& path);

}  // namespace tessera::onnx
