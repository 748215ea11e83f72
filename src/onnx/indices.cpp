#include "indices.hpp"

namespace tessera::onnx {

std::vector<std::size_t> strides_of(const Shape& shape) {
  std::vector<std::size_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i > 1; --i) {
    strides[i - 2] = strides[i - 1] * static_cast<std::size_t>(shape[i - 1]);
  }
  return strides;
}

std::vector<std::size_t> place_of(std::size_t index, const Shape& shape) {
  std::vector<std::size_t> place(shape.size());
  for (std::size_t i = shape.size(); i > 0; --i) {
    const auto side = static_cast<std::size_t>(shape[i - 1]);
    place[i - 1] = index % side;
    index /= side;
  }
  return place;
}

BroadcastIndex::BroadcastIndex(const Shape& from, const Shape& to)
    : to_(to), strides_(to.size(), 0) {
  const std::vector<std::size_t> own = strides_of(from);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[from.size() - 1 - i] != 1) {
      strides_[to.size() - 1 - i] = own[from.size() - 1 - i];
    }
  }
}

std::size_t BroadcastIndex::at(std::size_t index) const {
  const std::vector<std::size_t> place = place_of(index, to_);
  std::size_t at = 0;
  for (std::size_t i = 0; i < place.size(); ++i) {
    at += place[i] * strides_[i];
  }
  return at;
}

}  // namespace tessera::onnx
