#include "tessera/onnx/graph.hpp"

namespace tessera::onnx {

std::string Node::kind() const {
  std::string text = domain.empty() ? op : domain + "." + op;
  for (const Epilogue& step : epilogue) {
    text += "+" + step.op;
  }
  return text;
}

}  // namespace tessera::onnx
