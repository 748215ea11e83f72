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
#include "tessera/onnx/passes/optimize.hpp"

namespace tessera::onnx {

struct Description {
  std::string path;
  ImportOptions options;
  Level level = Level::none;
};

// Reads its keys, which description_parameters() has; the mappings hold
//   dimensions {NAME: size}, shapes {INPUT: [side, ...]}, values {INPUT: number or [number, ...]},
//   branches {NODE: then or else}, loops {NODE: iterations}, where NODE may be "*"
Description read_description(config::Section& section);

// Puts what reading left out or took in another way (Import::notices) into the notes of a run.
void tell_notices(config::Section& section, const Description& description,
                  const std::vector<std::string>& notices);

// The same as `tessera list` shows them.
std::vector<ParameterInfo> description_parameters();

Unknown unknown_from(const std::string& name);
std::vector<std::string> unknown_names();

}  // namespace tessera::onnx
