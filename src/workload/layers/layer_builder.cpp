#include "layers/layer_builder.hpp"

#include <functional>
#include <numeric>
#include <utility>

#include "layers/kind_tools.hpp"

namespace tessera::workload {
namespace {

constexpr double most_elements = 0x1p48;  // of a tensor, so that counts stay in 64 bits
constexpr double most_macs = 0x1p58;      // of an operator

}  // namespace

std::uint64_t Shape::elements() const {
  return std::accumulate(sides.begin(), sides.end(), std::uint64_t{1}, std::multiplies<>());
}

Shape Shape::with_features(std::uint64_t features) const {
  Shape shape = *this;
  shape.sides.back() = features;
  return shape;
}

std::string Shape::to_string() const {
  std::string text;
  for (const std::uint64_t side : sides) {
    text += (text.empty() ? "[" : ", ") + std::to_string(side);
  }
  return text + "]";
}

LayerBuilder::LayerBuilder(const OperatorMaker& make, bool training, Shape input)
    : make_(make), training_(training), input_{0, std::move(input), false, std::nullopt} {}

LayerTensor LayerBuilder::add(Operator op, Shape shape, bool cut) {
  operators_.push_back(std::move(op));
  kept_.push_back(false);
  return {kept_.size() - 1, std::move(shape), cut, operators_.size() - 1};
}

void LayerBuilder::keep_input(Operator& op, const LayerTensor& tensor) {
  if (!kept_[tensor.number]) {
    kept_[tensor.number] = true;
    (tensor.cut ? op.stored_cut : op.stored_whole) += make_.bytes(tensor.shape.elements());
  }
}

Output refuse(OperatorSpec& spec, const char* key, const std::string& message) {
  spec.section.error(key, message);
  return std::nullopt;
}

bool too_large(OperatorSpec& spec, const Shape& shape, double work) {
  double elements = 1;
  for (const std::uint64_t side : shape.sides) {
    elements *= static_cast<double>(side);
  }
  if (elements <= most_elements && elements * work <= most_macs) {
    return false;
  }
  refuse(spec, "kind", "the operator is too large");
  return true;
}

Sharding sharding_after(const LayerTensor& tensor) {
  return tensor.cut ? Sharding::heads : Sharding::replicated;
}

}  // namespace tessera::workload
