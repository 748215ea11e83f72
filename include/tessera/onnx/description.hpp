// A model as a configuration names it: the file, what its dimensions are bound to, the level.
//
//     model: bert.onnx
//     dimensions: {batch: 8, sequence: 128}
//     optimize: extended
#pragma once

#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/onnx/import.hpp"
#include "tessera/onnx/optimize.hpp"

namespace tessera::onnx {

struct Description {
  std::string path;
  ImportOptions options;
  Level level = Level::none;
};

// | key | default | meaning |
// | model | | ONNX file, relative to the file that names it |
// | dimensions | | name: size of dynamic dimensions |
// | shapes | | input: list of sides |
// | values | | input: number or list of numbers |
// | branches | | If node, or "*": then or else |
// | loops | | Loop node, or "*": iterations |
// | optimize | none | level of optimisation |
// | unknown | refuse | what becomes of operators that are not understood |
Description read_description(config::Section& section);

// The same as `tessera list` shows them.
std::vector<ParameterInfo> description_parameters();

Unknown unknown_from(const std::string& name);
std::vector<std::string> unknown_names();

}  // namespace tessera::onnx
