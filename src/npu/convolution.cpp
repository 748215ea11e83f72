// Convolutions in tiles. The output is cut by images, groups, rows, columns and channels; sums in
// steps of kernel positions and input channels. Images are [height, width, channels] in memory,
// weights are put into blocks of the array beforehand.
//
// A window's elements come out of the scratchpad as the array needs them (implicit im2col, as
// Gemmini's and ONNXim's).

#include "convolution.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "cut.hpp"

namespace tessera::npu {
namespace {

enum OperandPlace : std::uint8_t { image, weights, output_place, bias, residual };

// Blocks of positions that pass the array at a time.
constexpr std::uint64_t positions_a_block = 256;

// The six cuts, the first four of the output (an image and a group have no parts), in the order of
// tiles, the last fastest.
struct Cuts {
  Cut rows;
  Cut columns;
  Cut outputs;  // of a group
  Cut kernel_rows;
  Cut kernel_columns;
  Cut channels;  // of a group
};

class TiledConvolution final : public TiledOperator {
 public:
  TiledConvolution(const ConvolutionSpec& spec, const ConvolutionTiles& tiles, const Target& target)
      : TiledOperator(target.core), spec_(spec), element_(target.element()), tiles_(tiles) {
    const ConvolutionShape& s = spec_.shape;
    const Sides positions = s.positions();
    cuts_ = {{positions[0], tiles.positions[0]}, {positions[1], tiles.positions[1]},
             {s.group_outputs(), tiles.outputs}, {s.kernel[0], tiles.kernel[0]},
             {s.kernel[1], tiles.kernel[1]},     {s.group_channels(), tiles.channels}};
    const std::uint64_t out = s.images * positions[0] * positions[1] * s.outputs;
    operands_ = {{"image", element_ * (s.images * s.input[0] * s.input[1] * s.channels)},
                 {"weights", Bytes(s.groups * group_blocks() * block_bytes())},
                 {"output", element_ * out},
                 {"bias", element_ * (spec_.bias ? s.outputs : 0)},
                 {"residual", element_ * (spec_.residuals * out)}};
  }

  const std::vector<Operand>& operands() const override { return operands_; }
  std::array<std::uint64_t, output_dimensions> output() const override {
    const Sides positions = spec_.shape.positions();
    return {spec_.shape.images, positions[0], positions[1], spec_.shape.outputs};
  }
  std::uint64_t depth() const override {
    const ConvolutionShape& s = spec_.shape;
    return s.kernel[0] * s.kernel[1] * s.group_channels();
  }
  std::uint64_t macs() const override {
    const auto extents = output();
    return extents[0] * extents[1] * extents[2] * extents[3] * depth();
  }
  std::uint64_t groups() const override {
    return spec_.shape.images * spec_.shape.groups * cuts_.rows.parts() * cuts_.columns.parts() *
           cuts_.outputs.parts();
  }
  std::uint64_t steps() const override {
    return cuts_.kernel_rows.parts() * cuts_.kernel_columns.parts() * cuts_.channels.parts();
  }

  Tile tile(std::uint64_t group, std::uint64_t step) const override {
    const Place p = place(group, step);
    const ConvolutionShape& s = spec_.shape;
    const std::uint64_t e = element_.count();
    Tile tile;
    Place shape = p;
    shape.row = alike(0, cuts_.rows, p.row);
    shape.column = alike(1, cuts_.columns, p.column);
    tile.shape = shape.code();
    const std::uint64_t first_output = p.group * s.group_outputs() + cuts_.outputs.begin(p.outputs);
    tile.output = {Range{p.image, p.image + 1}, cuts_.rows.range(p.row),
                   cuts_.columns.range(p.column),
                   Range{first_output, first_output + cuts_.outputs.size(p.outputs)}};
    const std::uint64_t channels = cuts_.channels.size(p.channels);
    const std::uint64_t of_step = cuts_.kernel_rows.size(p.kernel_row) *
                                  cuts_.kernel_columns.size(p.kernel_column) * channels;
    // Where the sums of the step begin, counted in the order of steps.
    const std::uint64_t begin =
        (cuts_.kernel_rows.begin(p.kernel_row) * s.kernel[1] +
         cuts_.kernel_columns.begin(p.kernel_column) * cuts_.kernel_rows.size(p.kernel_row)) *
            s.group_channels() +
        cuts_.channels.begin(p.channels) * cuts_.kernel_rows.size(p.kernel_row) *
            cuts_.kernel_columns.size(p.kernel_column);
    tile.depth = {begin, begin + of_step};
    const Sides positions = s.positions();
    const std::uint64_t first_channel =
        p.group * s.group_channels() + cuts_.channels.begin(p.channels);
    const Range rows = seen(0, cuts_.rows.range(p.row), cuts_.kernel_rows.range(p.kernel_row));
    const Range columns =
        seen(1, cuts_.columns.range(p.column), cuts_.kernel_columns.range(p.kernel_column));
    tile.origins[image] =
        (((p.image * s.input[0] + rows.begin) * s.input[1] + columns.begin) * s.channels +
         first_channel) *
        e;
    tile.origins[weights] =
        (p.group * group_blocks() + weight_block(cuts_.outputs.begin(p.outputs) / core().columns,
                                                 cuts_.kernel_rows.begin(p.kernel_row),
                                                 cuts_.kernel_columns.begin(p.kernel_column),
                                                 cuts_.channels.begin(p.channels) / core().rows)) *
        block_bytes();
    tile.origins[output_place] =
        (((p.image * positions[0] + cuts_.rows.begin(p.row)) * positions[1] +
          cuts_.columns.begin(p.column)) *
             s.outputs +
         first_output) *
        e;
    tile.origins[bias] = first_output * e;
    tile.origins[residual] = tile.origins[output_place];
    return tile;
  }

  TileProgram program(std::uint64_t code) const override {
    Writing writing{*this, ProgramWriter(core(), element_), Place::from(code)};
    return writing.write();
  }

 private:
  // Parts of the cuts. As a shape: what a program differs by, which is how much of the padding is
  // seen and whether parts are the last ones.
  struct Place {
    std::uint64_t image = 0;
    std::uint64_t group = 0;
    std::uint64_t row = 0;
    std::uint64_t column = 0;
    std::uint64_t outputs = 0;
    std::uint64_t kernel_row = 0;
    std::uint64_t kernel_column = 0;
    std::uint64_t channels = 0;
    bool last_outputs = false;
    bool first_step = false;
    bool last_step = false;
    bool last_channels = false;

    static constexpr unsigned bits = 15;  // of positions and of the kernel's
    static constexpr std::uint64_t mask = (1U << bits) - 1;
    std::uint64_t code() const {
      return (last_outputs ? 1U : 0U) | (first_step ? 2U : 0U) | (last_step ? 4U : 0U) |
             (last_channels ? 8U : 0U) | row << 4U | column << (4U + bits) |
             kernel_row << (4U + 2 * bits) | kernel_column << (4U + 3 * bits);
    }
    static Place from(std::uint64_t code) {
      Place p;
      p.last_outputs = (code & 1) != 0;
      p.first_step = (code & 2) != 0;
      p.last_step = (code & 4) != 0;
      p.last_channels = (code & 8) != 0;
      p.row = code >> 4U & mask;
      p.column = code >> (4U + bits) & mask;
      p.kernel_row = code >> (4U + 2 * bits) & mask;
      p.kernel_column = code >> (4U + 3 * bits) & mask;
      return p;
    }
  };

  Place place(std::uint64_t group, std::uint64_t step) const {
    Place p;
    p.outputs = group % cuts_.outputs.parts();
    group /= cuts_.outputs.parts();
    p.column = group % cuts_.columns.parts();
    group /= cuts_.columns.parts();
    p.row = group % cuts_.rows.parts();
    group /= cuts_.rows.parts();
    p.group = group % spec_.shape.groups;
    p.image = group / spec_.shape.groups;
    p.first_step = step == 0;
    p.last_step = step + 1 == steps();
    p.channels = step % cuts_.channels.parts();
    step /= cuts_.channels.parts();
    p.kernel_column = step % cuts_.kernel_columns.parts();
    p.kernel_row = step / cuts_.kernel_columns.parts();
    p.last_outputs = cuts_.outputs.is_last(p.outputs);
    p.last_channels = cuts_.channels.is_last(p.channels);
    return p;
  }

  // The first part of a direction that looks like `part`: parts that see no padding and are whole
  // are alike.
  std::uint64_t alike(std::size_t direction, const Cut& cut, std::uint64_t part) const {
    const ConvolutionShape& s = spec_.shape;
    const std::uint64_t stride = s.stride[direction];
    const std::uint64_t end = cut.begin(part) * stride + s.reach(direction, cut.size(part));
    const bool sees_padding = cut.begin(part) * stride < s.padding[direction] ||
                              end > s.input[direction] + s.padding[direction];
    return sees_padding || cut.size(part) != cut.length
               ? part
               : quotient_up(s.padding[direction], cut.length * stride);
  }

  // Weights lie in blocks as large as the array, as it takes them.
  std::uint64_t block_bytes() const {
    return std::min(spec_.shape.group_outputs(), core().columns) *
           std::min(spec_.shape.group_channels(), core().rows) * element_.count();
  }
  std::uint64_t channel_blocks() const {
    return quotient_up(spec_.shape.group_channels(), core().rows);
  }
  std::uint64_t weight_block(std::uint64_t outputs, std::uint64_t row, std::uint64_t column,
                             std::uint64_t channels) const {
    return ((outputs * spec_.shape.kernel[0] + row) * spec_.shape.kernel[1] + column) *
               channel_blocks() +
           channels;
  }
  std::uint64_t group_blocks() const {
    return weight_block(quotient_up(spec_.shape.group_outputs(), core().columns), 0, 0, 0);
  }

  // Of the input, in one direction: what some positions see through some of the kernel, without
  // the padding. May be empty.
  Range seen(std::size_t direction, const Range& positions, const Range& kernel) const {
    const ConvolutionShape& s = spec_.shape;
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

  struct Writing {
    const TiledConvolution& op;
    ProgramWriter out;
    Place p;
    Range rows{};     // of the input
    Range columns{};  // of the input
    std::uint64_t positions = 0;
    std::uint64_t outputs = 0;
    std::uint64_t channels = 0;
    Cut output_blocks{};
    Cut channel_blocks{};
    Cut position_blocks{};
    BufferId pixels{};
    std::vector<BufferId> w{};
    std::vector<BufferId> sums{};

    TileProgram write() {
      const Cuts& cuts = op.cuts_;
      const CoreConfig& core = op.core();
      rows = op.seen(0, cuts.rows.range(p.row), cuts.kernel_rows.range(p.kernel_row));
      columns =
          op.seen(1, cuts.columns.range(p.column), cuts.kernel_columns.range(p.kernel_column));
      positions = cuts.rows.size(p.row) * cuts.columns.size(p.column);
      outputs = cuts.outputs.size_at(p.last_outputs);
      channels = cuts.channels.size_at(p.last_channels);
      output_blocks = {outputs, std::min(outputs, core.columns)};
      channel_blocks = {channels, std::min(channels, core.rows)};
      position_blocks = {positions, block_of_positions()};
      load();
      multiply();
      if (p.last_step) {
        store();
      }
      return out.take();
    }

    // ONNXim streams up to as many positions in each direction as the array is wide.
    std::uint64_t block_of_positions() const {
      const std::uint64_t side = op.core().columns;
      const std::uint64_t block = op.tiles_.like_onnxim ? side * side : positions_a_block;
      return std::min(positions, std::max(block, op.core().rows));
    }

    std::uint64_t kernel_rows() const { return op.cuts_.kernel_rows.size(p.kernel_row); }
    std::uint64_t kernel_columns() const { return op.cuts_.kernel_columns.size(p.kernel_column); }

    void load() {
      const ConvolutionShape& s = op.spec_.shape;
      const std::uint64_t e = op.element_.count();
      for (std::uint64_t m = 0; m < output_blocks.parts(); ++m) {
        for (std::uint64_t n = 0; n < position_blocks.parts(); ++n) {
          sums.push_back(
              out.accumulator(Bytes(output_blocks.size(m) * position_blocks.size(n) * sum_bytes)));
        }
      }
      if (p.first_step) {
        load_first();
      }
      const std::uint64_t seen = rows.size() * columns.size();
      if (seen > 0) {
        pixels = out.scratchpad(Bytes(seen * channels * e));
        load_pixels(e, s);
      }
      for (std::uint64_t m = 0; m < output_blocks.parts(); ++m) {
        for (std::uint64_t kernel = 0; kernel < kernel_rows() * kernel_columns(); ++kernel) {
          for (std::uint64_t c = 0; c < channel_blocks.parts(); ++c) {
            load_weights(m, kernel, c);
          }
        }
      }
    }

    // Whole rows are contiguous where all channels are loaded, whole images where all columns are.
    void load_pixels(std::uint64_t e, const ConvolutionShape& s) {
      const std::uint64_t pixel = s.channels * e;
      if (channels != s.channels) {
        for (std::uint64_t row = 0; row < rows.size(); ++row) {
          out.mvin(image, {row * s.input[1] * pixel, channels * e, columns.size(), pixel}, pixels);
        }
      } else {
        out.mvin(image, {0, columns.size() * pixel, rows.size(), s.input[1] * pixel}, pixels);
      }
    }

    void load_first() {
      const ConvolutionShape& s = op.spec_.shape;
      const std::uint64_t e = op.element_.count();
      for (std::uint64_t m = 0; m < output_blocks.parts(); ++m) {
        const std::uint64_t width = output_blocks.size(m) * e;
        const BufferId first = sums[m * position_blocks.parts()];
        if (op.spec_.bias) {
          out.mvin(bias, {output_blocks.begin(m) * e, width, 1, width}, first);
        }
        for (std::uint64_t i = 0; i < op.spec_.residuals; ++i) {
          for (std::uint64_t n = 0; n < position_blocks.parts(); ++n) {
            Region region = output_region(m, n, s.outputs * e);
            region.offset += i * op.operands_[output_place].bytes.count();
            out.mvin(residual, region, sums[m * position_blocks.parts() + n]);
          }
        }
      }
    }

    void load_weights(std::uint64_t m, std::uint64_t kernel, std::uint64_t c) {
      const std::uint64_t bytes =
          output_blocks.size(m) * channel_blocks.size(c) * op.element_.count();
      const std::uint64_t place =
          op.weight_block(m, kernel / kernel_columns(), kernel % kernel_columns(), c);
      w.push_back(out.scratchpad(Bytes(bytes)));
      out.mvin(weights, {place * op.block_bytes(), bytes, 1, bytes}, w.back());
    }

    void multiply() {
      std::size_t block = 0;
      for (std::uint64_t m = 0; m < output_blocks.parts(); ++m) {
        for (std::uint64_t kernel = 0; kernel < kernel_rows() * kernel_columns(); ++kernel) {
          for (std::uint64_t c = 0; c < channel_blocks.parts(); ++c, ++block) {
            for (std::uint64_t n = 0; n < position_blocks.parts(); ++n) {
              out.gemm(n == 0, pixels, w[block], sums[m * position_blocks.parts() + n],
                       position_blocks.size(n), channel_blocks.size(c), output_blocks.size(m));
            }
          }
        }
      }
    }

    // Positions one after the other, although rows of the output have others in between where a
    // tile is not as wide as the image.
    Region output_region(std::uint64_t m, std::uint64_t n, std::uint64_t pixel) const {
      const std::uint64_t e = op.element_.count();
      return {position_blocks.begin(n) * pixel + output_blocks.begin(m) * e,
              output_blocks.size(m) * e, position_blocks.size(n), pixel};
    }

    void store() {
      const std::uint64_t pixel = op.spec_.shape.outputs * op.element_.count();
      for (std::uint64_t n = 0; n < position_blocks.parts(); ++n) {
        for (std::uint64_t m = 0; m < output_blocks.parts(); ++m) {
          const BufferId from = sums[m * position_blocks.parts() + n];
          if (op.spec_.then) {
            out.vector(vector_cycles(op.core(), *op.spec_.then, position_blocks.size(n),
                                     output_blocks.size(m)),
                       from, BufferId(), from);
          }
          out.mvout(output_place, output_region(m, n, pixel), from);
        }
      }
    }
  };

  ConvolutionSpec spec_;
  Bytes element_;
  ConvolutionTiles tiles_;
  Cuts cuts_;
  std::vector<Operand> operands_;
};

}  // namespace

std::unique_ptr<TiledOperator> make_convolution(const ConvolutionSpec& spec,
                                                const ConvolutionTiles& tiles,
                                                const Target& target) {
  return std::make_unique<TiledConvolution>(spec, tiles, target);
}

}  // namespace tessera::npu
