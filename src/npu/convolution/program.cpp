// What a core does for a tile of a convolution.

#include <algorithm>
#include <vector>

#include "convolution/layout.hpp"
#include "tessera/npu/vector_work.hpp"

namespace tessera::npu {
namespace {

class Writing {
 public:
  Writing(const ConvolutionLayout& layout, const ConvolutionPlace& place)
      : layout_(layout),
        cuts_(layout.cuts()),
        s_(layout.shape()),
        e_(layout.element()),
        p_(place),
        out_(layout.target()),
        rows_(layout.seen(0, cuts_.rows.range(p_.row), cuts_.kernel_rows.range(p_.kernel_row))),
        columns_(layout.seen(1, cuts_.columns.range(p_.column),
                             cuts_.kernel_columns.range(p_.kernel_column))),
        groups_(cuts_.groups.size_at(p_.last_groups)),
        channels_(cuts_.channels.size_at(p_.last_channels)) {
    const CoreConfig& core = layout.core();
    const std::uint64_t positions = cuts_.rows.size(p_.row) * cuts_.columns.size(p_.column);
    positions_ = {positions, std::min(positions, block_of_positions())};
    // A block is some outputs of one group, or all of some groups.
    const std::uint64_t outputs = groups_ * cuts_.outputs.size_at(p_.last_outputs);
    outputs_ = {outputs,
                std::min(outputs, layout.tiles().unit == ConvolutionUnit::array
                                      ? core.columns
                                      : groups_a_block(s_, layout.target()) * s_.group_outputs())};
    channel_blocks_ = {channels_, std::min(channels_, layout.target().array_depth())};
    pixels_together_ = {kernel_columns(), layout.tiles().pixels};
  }

  TileProgram write() {
    load();
    switch (layout_.tiles().unit) {
      case ConvolutionUnit::array:
        multiply();
        break;
      case ConvolutionUnit::diagonal:
        multiply_groups();
        break;
      case ConvolutionUnit::vector:
        multiply_by_vectors();
        break;
    }
    if (p_.last_step) {
      store();
    }
    return out_.take();
  }

 private:
  const ConvolutionOrder& order() const { return layout_.tiles().order; }
  std::uint64_t block_of_positions() const {
    return std::max(order().positions_a_block, layout_.core().rows);
  }

  std::uint64_t window() const { return kernel_rows() * kernel_columns(); }
  std::uint64_t kernel_rows() const { return cuts_.kernel_rows.size(p_.kernel_row); }
  std::uint64_t kernel_columns() const { return cuts_.kernel_columns.size(p_.kernel_column); }
  BufferId sums(std::uint64_t m, std::uint64_t n) const {
    return sums_[m * positions_.parts() + n];
  }

  void load() {
    for (std::uint64_t m = 0; m < outputs_.parts(); ++m) {
      for (std::uint64_t n = 0; n < positions_.parts(); ++n) {
        sums_.push_back(out_.accumulator(Bytes(outputs_.size(m) * positions_.size(n) * sum_bytes)));
      }
    }
    if (p_.first_step) {
      load_first();
    }
    const std::uint64_t seen = rows_.size() * columns_.size();
    if (seen > 0) {
      pixels_ = out_.scratchpad(Bytes(seen * groups_ * channels_ * e_));
      load_pixels();
    }
    for (std::uint64_t m = 0; m < outputs_.parts(); ++m) {
      if (layout_.tiles().unit != ConvolutionUnit::array) {
        load_group_weights(m);
        continue;
      }
      for (std::uint64_t row = 0; row < kernel_rows(); ++row) {
        for (std::uint64_t column = 0; column < pixels_together_.parts(); ++column) {
          for (std::uint64_t c = 0; c < channel_blocks_.parts(); ++c) {
            load_weights(m, row, column, c);
          }
        }
      }
    }
  }

  // Whole rows are contiguous where all channels are loaded, whole images where all columns are.
  void load_pixels() {
    const std::uint64_t pixel = s_.channels * e_;
    const std::uint64_t channels = groups_ * channels_;
    if (order().loads_met_pixels && load_met_pixels()) {
      return;
    }
    if (channels != s_.channels) {
      for (std::uint64_t row = 0; row < rows_.size(); ++row) {
        out_.mvin(image, {row * s_.input[1] * pixel, channels * e_, columns_.size(), pixel},
                  pixels_);
      }
    } else {
      out_.mvin(image, {0, columns_.size() * pixel, rows_.size(), s_.input[1] * pixel}, pixels_);
    }
  }

  // False: there are none.
  bool load_met_pixels() {
    const std::uint64_t pixel = s_.channels * e_;
    const Range rows =
        layout_.met(0, cuts_.rows.range(p_.row), cuts_.kernel_rows.range(p_.kernel_row));
    const Range columns = layout_.met(1, cuts_.columns.range(p_.column),
                                      cuts_.kernel_columns.range(p_.kernel_column));
    if (s_.stride == Sides{1, 1} || rows.begin >= rows.end || columns.begin >= columns.end) {
      return false;
    }
    const std::uint64_t pitch = s_.stride[1] * pixel;
    const std::uint64_t met = quotient_up(columns.end - columns.begin, s_.stride[1]);
    for (std::uint64_t row = rows.begin; row < rows.end; row += s_.stride[0]) {
      Region region{((row - rows_.begin) * s_.input[1] + columns.begin - columns_.begin) * pixel,
                    groups_ * channels_ * e_, met, pitch};
      if (pitch <= order().shared_block_request) {  // requests without a gap
        region = {region.offset, (met - 1) * pitch + region.row_bytes, 1, 0};
      }
      out_.mvin(image, region, pixels_);
    }
    return true;
  }

  void load_first() {
    if (!order().has_fused) {
      return;
    }
    for (std::uint64_t m = 0; m < outputs_.parts(); ++m) {
      const std::uint64_t width = outputs_.size(m) * e_;
      if (layout_.spec().bias) {
        out_.mvin(bias, {outputs_.begin(m) * e_, width, 1, width}, sums(m, 0));
      }
      for (std::uint64_t i = 0; i < layout_.spec().residuals; ++i) {
        for (std::uint64_t n = 0; n < positions_.parts(); ++n) {
          Region region = output_region(m, n);
          region.offset += i * layout_.output_bytes();
          out_.mvin(residual, region, sums(m, n));
        }
      }
    }
  }

  // Blocks of weights of pixels that enter together are neighbours.
  void load_weights(std::uint64_t m, std::uint64_t row, std::uint64_t column, std::uint64_t c) {
    const std::uint64_t of_output = pixels_together_.size(column) * channel_blocks_.size(c);
    const std::uint64_t bytes = layout_.stored().bytes_of(Wide{outputs_.size(m)} * of_output);
    const std::uint64_t offset = layout_.weight_begin(
        outputs_.begin(m), row, pixels_together_.begin(column), channel_blocks_.begin(c));
    const std::uint64_t loaded =
        order().shared_block_request > 0
            ? rounded_up(layout_.stored().bytes_of(of_output), order().shared_block_request)
            : bytes;
    weights_.push_back(out_.scratchpad(Bytes(bytes)));
    out_.mvin(weights, {offset, loaded, 1, loaded}, weights_.back());
  }

  // Of a block's groups, all of the window. The array wants the zeros beside the diagonal, which
  // stand in the scratchpad only.
  void load_group_weights(std::uint64_t m) {
    const std::uint64_t outputs = outputs_.size(m);
    const std::uint64_t of_output = channels_ * window();
    const std::uint64_t bytes = layout_.stored().bytes_of(Wide{outputs} * of_output);
    const std::uint64_t groups = outputs / s_.group_outputs();
    const bool diagonal = layout_.tiles().unit == ConvolutionUnit::diagonal;
    weights_.push_back(out_.scratchpad(Bytes(diagonal ? groups * bytes : bytes)));
    out_.mvin(weights, {layout_.stored().begin_of(outputs_.begin(m) * of_output), bytes, 1, bytes},
              weights_.back());
  }

  void multiply() {
    std::size_t block = 0;
    for (std::uint64_t m = 0; m < outputs_.parts(); ++m) {
      for (std::uint64_t kernel = 0; kernel < kernel_rows() * pixels_together_.parts(); ++kernel) {
        const std::uint64_t pixels = pixels_together_.size(kernel % pixels_together_.parts());
        for (std::uint64_t c = 0; c < channel_blocks_.parts(); ++c, ++block) {
          for (std::uint64_t n = 0; n < positions_.parts(); ++n) {
            out_.gemm(n == 0, pixels_, weights_[block], sums(m, n), positions_.size(n),
                      pixels * channel_blocks_.size(c), outputs_.size(m));
          }
        }
      }
    }
  }

  // All groups of a block at a time: channels of all enter, each output adds up those of its own.
  void multiply_groups() {
    for (std::uint64_t m = 0; m < outputs_.parts(); ++m) {
      const std::uint64_t groups = outputs_.size(m) / s_.group_outputs();
      for (std::uint64_t kernel = 0; kernel < window(); ++kernel) {
        for (std::uint64_t n = 0; n < positions_.parts(); ++n) {
          out_.gemm(n == 0, pixels_, weights_[m], sums(m, n), positions_.size(n), channels_,
                    outputs_.size(m), groups);
        }
      }
    }
  }

  void multiply_by_vectors() {
    for (std::uint64_t m = 0; m < outputs_.parts(); ++m) {
      for (std::uint64_t n = 0; n < positions_.parts(); ++n) {
        out_.multiply(pixels_, weights_[m], sums(m, n), positions_.size(n), channels_ * window(),
                      outputs_.size(m));
      }
    }
  }

  // Positions one after the other, although rows of the output have others in between where a tile
  // is not as wide as the image.
  Region output_region(std::uint64_t m, std::uint64_t n) const {
    const std::uint64_t pixel = s_.outputs * e_;
    return {positions_.begin(n) * pixel + outputs_.begin(m) * e_, outputs_.size(m) * e_,
            positions_.size(n), pixel};
  }

  void store() {
    for (std::uint64_t n = 0; n < positions_.parts(); ++n) {
      for (std::uint64_t m = 0; m < outputs_.parts(); ++m) {
        const BufferId from = sums(m, n);
        if (layout_.spec().then && order().has_fused) {
          out_.vector(vector_cycles(layout_.core(), *layout_.spec().then, positions_.size(n),
                                    outputs_.size(m)),
                      from, BufferId(), from);
        }
        out_.mvout(output_place, output_region(m, n), from);
      }
    }
  }

  const ConvolutionLayout& layout_;
  const ConvolutionLayout::Cuts& cuts_;
  const ConvolutionShape& s_;
  std::uint64_t e_;  // of an element [B]
  ConvolutionPlace p_;
  ProgramWriter out_;
  Range rows_;     // of the input
  Range columns_;  // of the input
  std::uint64_t groups_;
  std::uint64_t channels_;  // of a group
  Cut positions_;
  Cut outputs_;  // of all groups of the tile
  Cut channel_blocks_;
  Cut pixels_together_;  // of a row of the kernel
  BufferId pixels_;
  std::vector<BufferId> weights_;
  std::vector<BufferId> sums_;
};

}  // namespace

TileProgram convolution_program(const ConvolutionLayout& layout, const ConvolutionPlace& place) {
  return Writing(layout, place).write();
}

}  // namespace tessera::npu
