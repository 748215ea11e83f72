// What is missing, in the words of whoever reads the model.
#pragma once

#include <string>

#include "tessera/config/document.hpp"
#include "tessera/onnx/import.hpp"

namespace tessera::onnx {

// "--dim 'batch=N'", or "'dimensions: {batch: N}' beside the model".
inline std::string choice_text(const ImportOptions& options, const std::string& option,
                               const std::string& key, const std::string& name,
                               const std::string& value) {
  if (options.wording == Wording::options) {
    return "--" + option + " '" + name + "=" + value + "'";
  }
  config::Value word;
  word.kind = config::Value::Kind::scalar;
  word.text = name;
  return "'" + key + ": {" + config::to_inline_yaml(word) + ": " + value + "}' beside the model";
}

}  // namespace tessera::onnx
