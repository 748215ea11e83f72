// A model as it stands in its file, out of Protobuf's hands.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/onnx/graph.hpp"

namespace tessera::onnx {

// Constants of more elements keep no values.
constexpr std::uint64_t most_values = 1U << 14U;
// Of a shape: beyond it a file is taken as damaged.
constexpr std::uint64_t most_elements = std::uint64_t{1} << 48U;
constexpr std::size_t most_sides = 64;

// A place in the file, for messages.
struct Origin {
  std::string node;  // "node 17 'conv1' (Conv)", "initializer 'w'"
  std::uint64_t offset = 0;
  bool has_offset = true;
};

struct FileGraph;

struct FileNode {
  std::string name;
  std::string domain;
  std::string op;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  Attributes attributes;
  std::map<std::string, Tensor> tensors;  // attributes that are tensors
  std::map<std::string, std::shared_ptr<const FileGraph>> graphs;
  // Attributes of a function's node that take what the call gives: own name to the call's.
  std::map<std::string, std::string> references;
  Origin origin;
};

// An input, an output or a tensor between: what the file says of it.
struct Declared {
  std::string name;
  bool is_tensor = false;
  ElementType type = ElementType::undefined;
  bool has_shape = false;
  // A side of -1 is dynamic, `names` has its name or "".
  Shape sides;
  std::vector<std::string> names;
};

struct FileGraph {
  std::string name;
  std::vector<FileNode> nodes;
  std::vector<Tensor> initializers;
  std::vector<Declared> inputs;
  std::vector<Declared> outputs;
  std::vector<Declared> inner;
};

struct FileFunction {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, std::int64_t> opsets;
  FileGraph body;
};

struct ModelFile {
  std::string path;
  std::string producer;
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets;  // "" is the standard set
  FileGraph graph;
  std::map<std::string, FileFunction> functions;  // by "DOMAIN:NAME"
  std::uint64_t nodes = 0;
  std::uint64_t parameters = 0;
  std::uint64_t without_data = 0;  // tensors whose data is not there
};

// Throws ConfigError with node and byte.
ModelFile read_model(const std::string& bytes, const std::string& path);

// "node 17 'conv1' (Conv) at byte 4711: PROBLEM".
[[noreturn]] void fail_at(const std::string& path, const Origin& origin,
                          const std::string& problem);

}  // namespace tessera::onnx
