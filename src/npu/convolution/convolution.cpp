// Convolutions in tiles. The output is cut by images, groups, rows, columns and channels; sums in
// steps of kernel positions and input channels.
//
// A window's elements come out of the scratchpad as the array needs them (implicit im2col, as
// Gemmini's and ONNXim's).

#include "convolution/convolution.hpp"

#include <utility>
#include <vector>

#include "convolution/layout.hpp"

namespace tessera::npu {
namespace {

class TiledConvolution final : public TiledOperator {
 public:
  TiledConvolution(const ConvolutionSpec& spec, const ConvolutionTiles& tiles, const Target& target)
      : TiledOperator(target), layout_(spec, tiles, target) {
    const ConvolutionShape& s = spec.shape;
    const std::uint64_t e = layout_.element();
    const std::uint64_t out = layout_.output_bytes();
    operands_ = {{"image", Bytes(s.images * s.input[0] * s.input[1] * s.channels * e)},
                 {"weights", Bytes(layout_.weight_bytes())},
                 {"output", Bytes(out)},
                 {"bias", Bytes(spec.bias ? s.outputs * e : 0)},
                 {"residual", Bytes(spec.residuals * out)}};
  }

  const std::vector<Operand>& operands() const override { return operands_; }
  // Strides may step over rows and columns of the image; ONNXim's order leaves out more, but stores
  // the output.
  Bytes least_traffic() const override {
    const ConvolutionOrder& order = layout_.tiles().order;
    if (order.shared_block_request > 0 || order.loads_met_pixels || !order.has_fused) {
      return operands_[output_place].bytes;
    }
    const ConvolutionShape& s = layout_.shape();
    const Bytes seen(s.images * s.seen(0) * s.seen(1) * s.channels * layout_.element());
    // What fills up blocks of weights is not loaded.
    const Bytes of_weights(layout_.stored().bytes_of(Wide{s.outputs} * s.group_channels() *
                                                     s.kernel[0] * s.kernel[1]));
    return TiledOperator::least_traffic() - operands_[image].bytes - operands_[weights].bytes +
           seen + of_weights;
  }
  std::array<std::uint64_t, output_dimensions> output() const override {
    const Sides positions = layout_.shape().positions();
    return {layout_.shape().images, positions[0], positions[1], layout_.shape().outputs};
  }
  std::uint64_t depth() const override {
    const ConvolutionShape& s = layout_.shape();
    return s.kernel[0] * s.kernel[1] * s.group_channels();
  }
  std::uint64_t macs() const override {
    const auto extents = output();
    return extents[0] * extents[1] * extents[2] * extents[3] * depth();
  }
  std::uint64_t groups() const override { return layout_.groups(); }
  std::uint64_t steps() const override { return layout_.steps(); }
  double vector_flops() const override {
    const auto extents = output();
    return flops_behind(extents[0] * extents[1] * extents[2] * extents[3], layout_.spec().residuals,
                        layout_.spec().then);
  }
  VectorWork vector_passes() const override {
    return multiplications(1) + layout_.spec().then.value_or(VectorWork());
  }

  OperatorTile tile(std::uint64_t group, std::uint64_t step) const override {
    const ConvolutionPlace p = layout_.place(group, step);
    const ConvolutionLayout::Cuts& cuts = layout_.cuts();
    const ConvolutionShape& s = layout_.shape();
    const std::uint64_t e = layout_.element();
    OperatorTile tile;
    ConvolutionPlace shape = p;
    shape.row = layout_.alike(0, cuts.rows, p.row);
    shape.column = layout_.alike(1, cuts.columns, p.column);
    tile.shape = shape.code();
    const std::uint64_t first_group = cuts.groups.begin(p.groups);
    const std::uint64_t first_output =
        first_group * s.group_outputs() + cuts.outputs.begin(p.outputs);
    const std::uint64_t outputs = cuts.groups.size(p.groups) * cuts.outputs.size(p.outputs);
    tile.output = {Range{p.image, p.image + 1}, cuts.rows.range(p.row),
                   cuts.columns.range(p.column), Range{first_output, first_output + outputs}};
    const std::uint64_t begin = first_sum(p);
    tile.depth = {begin, begin + cuts.kernel_rows.size(p.kernel_row) *
                                     cuts.kernel_columns.size(p.kernel_column) *
                                     cuts.channels.size(p.channels)};
    const std::uint64_t first_channel =
        first_group * s.group_channels() + cuts.channels.begin(p.channels);
    const Range rows =
        layout_.seen(0, cuts.rows.range(p.row), cuts.kernel_rows.range(p.kernel_row));
    const Range columns =
        layout_.seen(1, cuts.columns.range(p.column), cuts.kernel_columns.range(p.kernel_column));
    tile.origins[image] =
        (((p.image * s.input[0] + rows.begin) * s.input[1] + columns.begin) * s.channels +
         first_channel) *
        e;
    tile.origins[weights] =
        layout_.group_begin(first_group) +
        layout_.weight_begin(cuts.outputs.begin(p.outputs), cuts.kernel_rows.begin(p.kernel_row),
                             cuts.kernel_columns.begin(p.kernel_column),
                             cuts.channels.begin(p.channels));
    const Sides positions = s.positions();
    tile.origins[output_place] =
        (((p.image * positions[0] + cuts.rows.begin(p.row)) * positions[1] +
          cuts.columns.begin(p.column)) *
             s.outputs +
         first_output) *
        e;
    tile.origins[bias] = first_output * e;
    tile.origins[residual] = tile.origins[output_place];
    return tile;
  }

  TileProgram program(std::uint64_t code) const override {
    return convolution_program(layout_, ConvolutionPlace::from(code));
  }

 private:
  // Where the sums of a step begin, counted in the order of steps.
  std::uint64_t first_sum(const ConvolutionPlace& p) const {
    const ConvolutionLayout::Cuts& cuts = layout_.cuts();
    const std::uint64_t rows = cuts.kernel_rows.size(p.kernel_row);
    return (cuts.kernel_rows.begin(p.kernel_row) * layout_.shape().kernel[1] +
            cuts.kernel_columns.begin(p.kernel_column) * rows) *
               layout_.shape().group_channels() +
           cuts.channels.begin(p.channels) * rows * cuts.kernel_columns.size(p.kernel_column);
  }

  ConvolutionLayout layout_;
  std::vector<Operand> operands_;
};

}  // namespace

std::unique_ptr<TiledOperator> make_convolution(const ConvolutionSpec& spec,
                                                const ConvolutionTiles& tiles,
                                                const Target& target) {
  return std::make_unique<TiledConvolution>(spec, tiles, target);
}

}  // namespace tessera::npu
