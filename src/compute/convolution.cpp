#include "tessera/compute/convolution.hpp"

namespace tessera::compute {

bool is_possible(const Convolution& convolution) {
  const std::uint64_t room = 2 * convolution.padding;
  return convolution.kernel_height <= convolution.height + room &&
         convolution.kernel_width <= convolution.width + room &&
         convolution.channels % convolution.groups == 0 &&
         convolution.filters % convolution.groups == 0;
}

workload::MatrixProduct as_product(const Convolution& convolution) {
  return {convolution.output_height() * convolution.output_width(),
          convolution.filters / convolution.groups,
          convolution.kernel_height * convolution.kernel_width * convolution.channels /
              convolution.groups,
          convolution.groups};
}

template <class T>
Operands<T> lowered(const Convolution& convolution, std::span<const T> image,
                    std::span<const T> kernel) {
  const workload::MatrixProduct shape = as_product(convolution);
  const std::uint64_t channels = convolution.channels / convolution.groups;
  Operands<T> result{shape, {}, {}};
  result.inputs.reserve(shape.count * shape.rows * shape.depth);
  for (std::uint64_t group = 0; group < shape.count; ++group) {
    for (std::uint64_t position = 0; position < shape.rows; ++position) {
      for (std::uint64_t at = 0; at < shape.depth; ++at) {
        const std::uint64_t window = at / channels;
        const std::uint64_t y = position / convolution.output_width() * convolution.stride +
                                window / convolution.kernel_width;
        const std::uint64_t x = position % convolution.output_width() * convolution.stride +
                                window % convolution.kernel_width;
        const bool inside = y >= convolution.padding &&
                            y < convolution.height + convolution.padding &&
                            x >= convolution.padding && x < convolution.width + convolution.padding;
        const std::uint64_t pixel =
            (y - convolution.padding) * convolution.width + x - convolution.padding;
        result.inputs.push_back(
            inside ? image[pixel * convolution.channels + group * channels + at % channels] : T());
      }
    }
    for (std::uint64_t at = 0; at < shape.depth; ++at) {
      const T* const row = kernel.data() + at * convolution.filters + group * shape.columns;
      result.weights.insert(result.weights.end(), row, row + shape.columns);
    }
  }
  return result;
}

template Operands<std::int8_t> lowered(const Convolution&, std::span<const std::int8_t>,
                                       std::span<const std::int8_t>);
template Operands<float> lowered(const Convolution&, std::span<const float>,
                                 std::span<const float>);

}  // namespace tessera::compute
