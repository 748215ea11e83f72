// Convolutions as matrix products (im2col): what the set-up of an array makes of them.
#pragma once

#include <cstdint>
#include <span>

#include "tessera/compute/systolic_data.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::compute {

struct Convolution {
  std::uint64_t height = 1;  // of the image
  std::uint64_t width = 1;
  std::uint64_t channels = 1;
  std::uint64_t kernel_height = 1;
  std::uint64_t kernel_width = 1;
  std::uint64_t filters = 1;  // output channels
  std::uint64_t stride = 1;
  std::uint64_t padding = 0;  // zeros at each edge
  std::uint64_t groups = 1;   // of channels and filters; as many as channels: depth-wise

  std::uint64_t output_height() const { return positions(height, kernel_height); }
  std::uint64_t output_width() const { return positions(width, kernel_width); }

 private:
  std::uint64_t positions(std::uint64_t side, std::uint64_t kernel) const {
    return (side + 2 * padding - kernel) / stride + 1;
  }
};

// Whether the kernel fits in the padded image and groups divide channels and filters.
bool is_possible(const Convolution& convolution);

// Output positions x (window x channels of a group) x filters of a group, once for each group.
workload::MatrixProduct as_product(const Convolution& convolution);

// `image` is [height, width, channels], `kernel` [kernel_height, kernel_width, channels / groups,
// filters], `outputs` of the product [groups, positions, filters / groups]. T is int8_t or float.
template <class T>
Operands<T> lowered(const Convolution& convolution, std::span<const T> image,
                    std::span<const T> kernel);

}  // namespace tessera::compute
