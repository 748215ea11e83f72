#include "convolution/layout.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::npu {
namespace {

// Bits of a shape's code.
constexpr unsigned flag_bits = 5;
constexpr unsigned position_bits = 16;
constexpr unsigned kernel_bits = 13;

}  // namespace

std::uint64_t ConvolutionPlace::code() const {
  std::uint64_t code = (last_groups ? 1U : 0U) | (last_outputs ? 2U : 0U) | (first_step ? 4U : 0U) |
                       (last_step ? 8U : 0U) | (last_channels ? 16U : 0U);
  unsigned at = flag_bits;
  for (const auto& [part, bits] :
       {std::pair(row, position_bits), std::pair(column, position_bits),
        std::pair(kernel_row, kernel_bits), std::pair(kernel_column, kernel_bits)}) {
    ensure(part >> bits == 0, "a convolution has too many parts");
    code |= part << at;
    at += bits;
  }
  return code;
}

ConvolutionPlace ConvolutionPlace::from(std::uint64_t code) {
  ConvolutionPlace p;
  p.last_groups = (code & 1) != 0;
  p.last_outputs = (code & 2) != 0;
  p.first_step = (code & 4) != 0;
  p.last_step = (code & 8) != 0;
  p.last_channels = (code & 16) != 0;
  code >>= flag_bits;
  const auto take = [&code](unsigned bits) {
    const std::uint64_t part = code & ((std::uint64_t{1} << bits) - 1);
    code >>= bits;
    return part;
  };
  p.row = take(position_bits);
  p.column = take(position_bits);
  p.kernel_row = take(kernel_bits);
  p.kernel_column = take(kernel_bits);
  return p;
}

ConvolutionLayout::ConvolutionLayout(const ConvolutionSpec& spec, const ConvolutionTiles& tiles,
                                     const Target& target)
    : target_(target),
      spec_(spec),
      tiles_(tiles),
      element_(target.element().count()),
      stored_(spec.stored.value_or(StoredWeights::plain(target.element()))) {
  const ConvolutionShape& s = spec_.shape;
  const Sides positions = s.positions();
  cuts_ = {{s.groups, tiles.groups},
           {positions[0], tiles.positions[0]},
           {positions[1], tiles.positions[1]},
           {s.group_outputs(), tiles.outputs},
           {s.kernel[0], tiles.kernel[0]},
           {s.kernel[1], tiles.kernel[1]},
           {s.group_channels(), tiles.channels}};
}

std::uint64_t ConvolutionLayout::output_bytes() const {
  const Sides positions = shape().positions();
  return shape().images * positions[0] * positions[1] * shape().outputs * element_;
}

std::uint64_t ConvolutionLayout::weight_bytes() const {
  const ConvolutionShape& s = shape();
  return tiles_.unit == ConvolutionUnit::array
             ? group_begin(s.groups)
             : stored_.bytes_of(Wide{s.outputs} * s.group_channels() * s.kernel[0] * s.kernel[1]);
}

std::uint64_t ConvolutionLayout::groups() const {
  return shape().images * cuts_.groups.parts() * cuts_.rows.parts() * cuts_.columns.parts() *
         cuts_.outputs.parts();
}

std::uint64_t ConvolutionLayout::steps() const {
  return cuts_.kernel_rows.parts() * cuts_.kernel_columns.parts() * cuts_.channels.parts();
}

ConvolutionPlace ConvolutionLayout::place(std::uint64_t group, std::uint64_t step) const {
  ConvolutionPlace p;
  const auto part_of = [](std::uint64_t& number, const Cut& cut) {
    const std::uint64_t part = number % cut.parts();
    number /= cut.parts();
    return part;
  };
  p.outputs = part_of(group, cuts_.outputs);
  p.column = part_of(group, cuts_.columns);
  p.row = part_of(group, cuts_.rows);
  p.groups = part_of(group, cuts_.groups);
  p.image = group;
  p.first_step = step == 0;
  p.last_step = step + 1 == steps();
  p.channels = part_of(step, cuts_.channels);
  p.kernel_column = part_of(step, cuts_.kernel_columns);
  p.kernel_row = step;
  p.last_groups = cuts_.groups.is_last(p.groups);
  p.last_outputs = cuts_.outputs.is_last(p.outputs);
  p.last_channels = cuts_.channels.is_last(p.channels);
  return p;
}

std::uint64_t ConvolutionLayout::alike(std::size_t direction, const Cut& cut,
                                       std::uint64_t part) const {
  const ConvolutionShape& s = shape();
  const std::uint64_t stride = s.stride[direction];
  const std::uint64_t end = cut.begin(part) * stride + s.reach(direction, cut.size(part));
  const bool sees_padding = cut.begin(part) * stride < s.padding[direction] ||
                            end > s.input[direction] + s.padding[direction];
  return sees_padding || cut.size(part) != cut.length
             ? part
             : quotient_up(s.padding[direction], cut.length * stride);
}

Range ConvolutionLayout::seen(std::size_t direction, const Range& positions,
                              const Range& kernel) const {
  const ConvolutionShape& s = shape();
  const std::uint64_t first =
      positions.begin * s.stride[direction] + kernel.begin * s.dilation[direction];
  const std::uint64_t end =
      (positions.end - 1) * s.stride[direction] + (kernel.end - 1) * s.dilation[direction] + 1;
  const auto inside = [&](std::uint64_t padded) {
    const std::uint64_t pad = s.padding[direction];
    return std::min(padded < pad ? 0 : padded - pad, s.input[direction]);
  };
  return {inside(first), inside(end)};
}

Range ConvolutionLayout::met(std::size_t direction, const Range& positions,
                             const Range& kernel) const {
  const ConvolutionShape& s = shape();
  const Range all = seen(direction, positions, kernel);
  const std::uint64_t stride = s.stride[direction];
  const std::uint64_t first =
      positions.begin * stride + kernel.begin * s.dilation[direction];  // padding counted
  const std::uint64_t begin = all.begin + s.padding[direction];
  return {all.begin + (begin > first ? (stride - (begin - first) % stride) % stride : 0), all.end};
}

std::uint64_t ConvolutionLayout::block_bytes() const {
  const std::uint64_t of_output = std::min(shape().group_channels(), target_.array_depth());
  const std::uint64_t request = tiles_.order.shared_block_request;
  return request > 0 ? rounded_up(stored_.bytes_of(of_output), request)
                     : stored_.bytes_of(Wide{std::min(shape().group_outputs(), core().columns)} *
                                        of_output);
}

std::uint64_t ConvolutionLayout::weight_begin(std::uint64_t outputs, std::uint64_t kernel_row,
                                              std::uint64_t kernel_column,
                                              std::uint64_t channels) const {
  const std::uint64_t channel_blocks = quotient_up(shape().group_channels(), target_.array_depth());
  const std::uint64_t block =
      ((outputs / core().columns * shape().kernel[0] + kernel_row) * shape().kernel[1] +
       kernel_column) *
          channel_blocks +
      channels / target_.array_depth();
  return block * block_bytes();
}

std::uint64_t ConvolutionLayout::group_begin(std::uint64_t group) const {
  const ConvolutionShape& s = shape();
  return tiles_.unit == ConvolutionUnit::array
             ? group * weight_begin(rounded_up(s.group_outputs(), core().columns), 0, 0, 0)
             : stored_.begin_of(group * s.group_outputs() * s.group_channels() * s.kernel[0] *
                                s.kernel[1]);
}

}  // namespace tessera::npu
