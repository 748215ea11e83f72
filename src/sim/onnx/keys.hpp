// Keys of models of ONNX as work, beside those of onnx/description.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/config/key.hpp"
#include "tessera/core/data_type.hpp"

namespace tessera::sim {

struct ModelKeys {
  config::NameKey data_type{"data_type",
                            [] {
                              std::vector<std::string> names = data_type_names();
                              names.emplace_back("model");
                              return names;
                            },
                            "model", "type of floating-point numbers; model: as in the model"};
  // With a strategy:
  config::Key<std::uint64_t> samples{"samples", 1,
                                     "with a strategy: samples per iteration, over all replicas",
                                     config::between<std::uint64_t>(1, std::uint64_t{1} << 32U)};
  config::Key<std::string> batch{
      "batch", "", "with a strategy: name of the batch dimension, which is bound to one sample"};
  config::ChoiceKey<bool> trains{"mode",
                                 {{"training", true}, {"inference", false}},
                                 "inference",
                                 "with a strategy: inference; training is refused"};
};

// Made when they are first asked for: tables in other files have them before main.
const ModelKeys& model_keys();

}  // namespace tessera::sim
