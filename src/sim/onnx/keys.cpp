#include "onnx/keys.hpp"

namespace tessera::sim {

const ModelKeys& model_keys() {
  static const ModelKeys keys;
  return keys;
}

}  // namespace tessera::sim
