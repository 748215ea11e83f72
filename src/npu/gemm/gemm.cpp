// Matrix products in tiles. The output is cut by rows and columns, the sums in steps of depth.
//
// A tile loads blocks of weights, of the array's columns, and of activations, of so many rows, and
// multiplies as soon as two of them are there. A block of weights is loaded into the array once and
// all rows pass it, unless the order of the tiles says otherwise (ProductOrder).
//
// In memory weights are stored by columns of the product, as a framework's transposed B, in as many
// bytes as they take there (stored_weights.hpp).

#include <algorithm>
#include <utility>

#include "cut.hpp"
#include "gemm/tiling.hpp"
#include "reading.hpp"
#include "tessera/npu/specs.hpp"

namespace tessera::npu {
namespace {

// What a DMA instruction loads at least, where there is as much, so that there are few of them.
constexpr std::uint64_t block_bytes = std::uint64_t{32} * 1024;

enum OperandPlace : std::uint8_t { activations, weights, product, bias, residual };

// Which parts of the cuts a tile is, as its shape.
struct Shape {
  bool last_rows = false;
  bool last_columns = false;
  bool first_step = false;
  bool last_step = false;

  std::uint64_t code() const {
    return (last_rows ? 1U : 0U) | (last_columns ? 2U : 0U) | (first_step ? 4U : 0U) |
           (last_step ? 8U : 0U);
  }
  static Shape from(std::uint64_t code) {
    return {(code & 1) != 0, (code & 2) != 0, (code & 4) != 0, (code & 8) != 0};
  }
};

class TiledProduct final : public TiledOperator {
 public:
  TiledProduct(const ProductSpec& spec, const Target& target)
      : TiledOperator(target),
        spec_(spec),
        element_(target.element()),
        result_(spec.result.value_or(element_)),
        stored_(spec.stored.value_or(StoredWeights::plain(element_))),
        tiles_(product_tiles(spec.shape, stored_, target)),
        rows_{spec.shape.rows, tiles_.rows},
        columns_{spec.shape.columns, tiles_.columns},
        depth_{spec.shape.depth, tiles_.depth} {
    const ProductShape& s = spec_.shape;
    operands_ = {
        {"activations", element_ * (s.count * s.rows * s.depth)},
        {"weights",
         Bytes(weight_bytes((spec_.shared_weights ? 1 : s.count) * weight_columns(), s.depth))},
        {"product", result_ * (s.count * s.rows * s.columns)},
        {"bias", result_ * (spec_.bias ? s.columns : 0)},
        {"residual", result_ * (spec_.residuals * s.count * s.rows * s.columns)}};
  }

  const std::vector<Operand>& operands() const override { return operands_; }
  // What fills up the last block of weights is not loaded.
  Bytes least_traffic() const override {
    const ProductShape& s = spec_.shape;
    const std::uint64_t columns = (spec_.shared_weights ? 1 : s.count) * s.columns;
    return TiledOperator::least_traffic() - operands_[weights].bytes +
           Bytes(stored_.bytes_of(Wide{columns} * s.depth));
  }
  std::array<std::uint64_t, output_dimensions> output() const override {
    return {spec_.shape.count, spec_.shape.rows, spec_.shape.columns, 1};
  }
  std::uint64_t depth() const override { return spec_.shape.depth; }
  std::uint64_t macs() const override {
    const ProductShape& s = spec_.shape;
    return s.count * s.rows * s.columns * s.depth;
  }
  std::uint64_t groups() const override {
    return spec_.shape.count * rows_.parts() * columns_.parts();
  }
  std::uint64_t steps() const override { return depth_.parts(); }
  double vector_flops() const override {
    const ProductShape& s = spec_.shape;
    return flops_behind(s.count * s.rows * s.columns, spec_.residuals, spec_.then);
  }
  VectorWork vector_passes() const override { return spec_.then.value_or(VectorWork()); }

  OperatorTile tile(std::uint64_t group, std::uint64_t step) const override {
    const std::uint64_t column = group % columns_.parts();
    const std::uint64_t row = group / columns_.parts() % rows_.parts();
    const std::uint64_t number = group / columns_.parts() / rows_.parts();
    const ProductShape& s = spec_.shape;
    const std::uint64_t e = element_.count();
    OperatorTile tile;
    tile.shape =
        Shape{rows_.is_last(row), columns_.is_last(column), step == 0, depth_.is_last(step)}.code();
    tile.output = {Range{number, number + 1}, rows_.range(row), columns_.range(column),
                   Range{0, 1}};
    tile.depth = depth_.range(step);
    const std::uint64_t first_row = number * s.rows + rows_.begin(row);
    const std::uint64_t first_column =
        (spec_.shared_weights ? 0 : number * weight_columns()) + columns_.begin(column);
    const std::uint64_t first_output = first_row * s.columns + columns_.begin(column);
    tile.origins[activations] = (first_row * s.depth + tile.depth.begin) * e;
    tile.origins[weights] = weight_begin(first_column, tile.depth.begin);
    const std::uint64_t of_result = result_.count();
    tile.origins[product] = first_output * of_result;
    tile.origins[bias] = columns_.begin(column) * of_result;
    tile.origins[residual] = first_output * of_result;
    return tile;
  }

  TileProgram program(std::uint64_t code) const override {
    const Shape shape = Shape::from(code);
    Writing writing{*this,
                    ProgramWriter(target()),
                    shape,
                    rows_.size_at(shape.last_rows),
                    columns_.size_at(shape.last_columns),
                    depth_.size_at(shape.last_step)};
    return writing.write();
  }

 private:
  // One program under way.
  struct Writing {
    const TiledProduct& op;
    ProgramWriter out;
    Shape shape;
    std::uint64_t rows;
    std::uint64_t columns;
    std::uint64_t depth;
    Cut row_blocks{};
    Cut column_blocks{};
    Cut loads{};  // of depth
    std::vector<BufferId> a{};
    std::vector<BufferId> w{};
    std::vector<BufferId> sums{};

    TileProgram write() {
      const CoreConfig& core = op.core();
      const ProductOrder& order = op.tiles_.order;
      const std::uint64_t height =
          rounded_up(std::max(order.least_rows_a_block, core.rows), core.rows);
      row_blocks = {rows, std::min(rows, height)};
      column_blocks = {columns, std::min(columns, core.columns)};
      loads = {depth, order.loads_whole_depth ? depth : load_depth()};
      make_buffers();
      load_first();
      for (std::uint64_t m = 0; m < column_blocks.parts(); ++m) {
        load_column(m);
      }
      if (op.spec_.gathers) {
        gather();
      }
      for (std::uint64_t m = 0; m < column_blocks.parts(); ++m) {
        order.keeps_weights ? multiply(m) : multiply_block_by_block(m);
      }
      if (shape.last_step) {
        store();
      }
      return out.take();
    }

    std::uint64_t load_depth() const {
      const std::uint64_t height = op.target().array_depth();
      const std::uint64_t wanted =
          rounded_up(op.depth_of_load(row_blocks.length, column_blocks.length), height);
      return std::min(depth, wanted);
    }

    void make_buffers() {
      const std::uint64_t e = op.element_.count();
      for (std::uint64_t n = 0; n < row_blocks.parts(); ++n) {
        for (std::uint64_t k = 0; k < loads.parts(); ++k) {
          a.push_back(out.scratchpad(Bytes(row_blocks.size(n) * loads.size(k) * e)));
        }
      }
      for (std::uint64_t m = 0; m < column_blocks.parts(); ++m) {
        for (std::uint64_t k = 0; k < loads.parts(); ++k) {
          w.push_back(out.scratchpad(Bytes(op.weight_bytes(column_blocks.size(m), loads.size(k)))));
        }
      }
      for (std::uint64_t m = 0; m < column_blocks.parts(); ++m) {
        for (std::uint64_t n = 0; n < row_blocks.parts(); ++n) {
          sums.push_back(
              out.accumulator(Bytes(column_blocks.size(m) * row_blocks.size(n) * sum_bytes)));
        }
      }
    }

    BufferId a_at(std::uint64_t n, std::uint64_t k) const { return a[n * loads.parts() + k]; }
    BufferId w_at(std::uint64_t m, std::uint64_t k) const { return w[m * loads.parts() + k]; }
    BufferId sums_at(std::uint64_t m, std::uint64_t n) const {
      return sums[m * row_blocks.parts() + n];
    }

    void load_weights(std::uint64_t m, std::uint64_t k) {
      const std::uint64_t offset = op.weight_begin(column_blocks.begin(m), loads.begin(k));
      const std::uint64_t columns_here = column_blocks.size(m);
      const std::uint64_t bytes = op.weight_bytes(columns_here, loads.size(k));
      if (op.tiles_.order.weights_by_column) {
        out.mvin(weights,
                 {offset, bytes / columns_here, columns_here, op.stored_.bytes_of(op.depth())},
                 w_at(m, k));
      } else {
        out.mvin(weights, {offset, bytes, 1, bytes}, w_at(m, k));
      }
    }

    void load_activations(std::uint64_t n, std::uint64_t k) {
      const std::uint64_t e = op.element_.count();
      const std::uint64_t pitch = op.spec_.shape.depth * e;
      out.mvin(activations,
               {row_blocks.begin(n) * pitch + loads.begin(k) * e, loads.size(k) * e,
                row_blocks.size(n), pitch},
               a_at(n, k));
    }

    // What the output begins with.
    void load_first() {
      if (!shape.first_step) {
        return;
      }
      const std::uint64_t e = op.result_.count();
      const std::uint64_t pitch = op.spec_.shape.columns * e;
      for (std::uint64_t m = 0; m < column_blocks.parts(); ++m) {
        const std::uint64_t width = column_blocks.size(m) * e;
        for (std::uint64_t n = 0; n < row_blocks.parts(); ++n) {
          if (op.spec_.bias && n == 0) {
            out.mvin(bias, {column_blocks.begin(m) * e, width, 1, width}, sums_at(m, n));
          }
          for (std::uint64_t i = 0; i < op.spec_.residuals; ++i) {
            out.mvin(
                residual,
                {i * op.output_bytes() + row_blocks.begin(n) * pitch + column_blocks.begin(m) * e,
                 width, row_blocks.size(n), pitch},
                sums_at(m, n));
          }
        }
      }
    }

    void load_column(std::uint64_t m) {
      for (std::uint64_t k = 0; k < loads.parts(); ++k) {
        load_weights(m, k);
        for (std::uint64_t n = 0; m == 0 && n < row_blocks.parts(); ++n) {
          load_activations(n, k);
        }
      }
    }

    void gather() {
      for (std::uint64_t k = 0; k < loads.parts(); ++k) {
        for (std::uint64_t n = 0; n < row_blocks.parts(); ++n) {
          out.im2col(row_blocks.size(n) * loads.size(k), a_at(n, k), a_at(n, k));
        }
      }
    }

    void multiply(std::uint64_t m) {
      for (std::uint64_t k = 0; k < loads.parts(); ++k) {
        const Cut heights{loads.size(k), std::min(loads.size(k), op.target().array_depth())};
        for (std::uint64_t h = 0; h < heights.parts(); ++h) {
          for (std::uint64_t n = 0; n < row_blocks.parts(); ++n) {
            out.gemm(n == 0, a_at(n, k), w_at(m, k), sums_at(m, n), row_blocks.size(n),
                     heights.size(h), column_blocks.size(m));
          }
        }
      }
    }

    void multiply_block_by_block(std::uint64_t m) {
      const Cut heights{depth, std::min(depth, op.target().array_depth())};
      for (std::uint64_t n = 0; n < row_blocks.parts(); ++n) {
        for (std::uint64_t h = 0; h < heights.parts(); ++h) {
          out.gemm(true, a_at(n, 0), w_at(m, 0), sums_at(m, n), row_blocks.size(n), heights.size(h),
                   column_blocks.size(m));
        }
      }
    }

    void store() {
      const std::uint64_t e = op.result_.count();
      const std::uint64_t pitch = op.spec_.shape.columns * e;
      for (std::uint64_t m = 0; m < column_blocks.parts(); ++m) {
        for (std::uint64_t n = 0; n < row_blocks.parts(); ++n) {
          const BufferId from = sums_at(m, n);
          if (op.spec_.then) {
            out.vector(
                vector_cycles(op.core(), *op.spec_.then, row_blocks.size(n), column_blocks.size(m)),
                from, BufferId(), from);
          }
          out.mvout(product,
                    {row_blocks.begin(n) * pitch + column_blocks.begin(m) * e,
                     column_blocks.size(m) * e, row_blocks.size(n), pitch},
                    from);
        }
      }
    }
  };

  // So many elements from one in the depth to the next, and columns with those that fill up the
  // last block.
  std::uint64_t weight_pitch() const {
    return tiles_.order.weights_by_column ? 1 : std::min(spec_.shape.columns, core().columns);
  }
  std::uint64_t weight_columns() const { return rounded_up(spec_.shape.columns, weight_pitch()); }
  // Where those of a column begin, so deep [B].
  std::uint64_t weight_begin(std::uint64_t column, std::uint64_t depth_before) const {
    const std::uint64_t depth = spec_.shape.depth;
    return tiles_.order.weights_by_column
               ? column * stored_.bytes_of(depth) + stored_.begin_of(depth_before)
               : stored_.begin_of(column * depth + depth_before * weight_pitch());
  }
  std::uint64_t weight_bytes(std::uint64_t columns, std::uint64_t depth) const {
    return tiles_.order.weights_by_column ? columns * stored_.bytes_of(depth)
                                          : stored_.bytes_of(Wide{columns} * depth);
  }
  // Of blocks so wide, of which the wider one takes block_bytes.
  std::uint64_t depth_of_load(std::uint64_t rows, std::uint64_t columns) const {
    return std::min(quotient_up(stored_.elements_in(block_bytes), columns),
                    quotient_up(block_bytes, rows * element_.count()));
  }

  std::uint64_t output_bytes() const { return operands_[product].bytes.count(); }

  ProductSpec spec_;
  Bytes element_;
  Bytes result_;  // of an element of the output, the bias and residuals
  StoredWeights stored_;
  ProductTiles tiles_;
  Cut rows_;
  Cut columns_;
  Cut depth_;
  std::vector<Operand> operands_;
};

const auto rows_key = extent_key("rows", "rows of the activations and of the output");
const auto columns_key = extent_key("columns", "columns of the weights and of the output");
const auto depth_key = extent_key("depth", "elements that are summed up for each output");
const auto count_key = extent_key("count", 1, "number of such products");
const config::Key<bool> shared_weights{"shared_weights", false,
                                       "all products have the same weights, which are in memory "
                                       "once and are loaded for each"};
const config::Key<bool> bias_key{"bias", false, "a row is added to each row of the output"};
const config::Key<bool> residual_key{"residual", false,
                                     "a matrix is added, as by a skip connection"};

std::unique_ptr<TiledOperator> make(config::Section& section, const Target& target) {
  ProductSpec spec;
  spec.shape.rows = rows_key.read(section);
  spec.shape.columns = columns_key.read(section);
  spec.shape.depth = depth_key.read(section);
  spec.shape.count = count_key.read(section);
  spec.shared_weights = shared_weights.read(section);
  spec.bias = bias_key.read(section);
  spec.residuals = residual_key.read(section) ? 1 : 0;
  spec.then = read_then(section);
  spec.stored = read_stored_weights(section);
  const ProductShape& s = spec.shape;
  if (!is_countable(section, {s.rows, s.columns, s.depth, s.count})) {
    return nullptr;
  }
  return lower(spec, target);
}

const Registration registration(
    operators(),
    {"gemm", "matrix products, optionally with a bias, a residual and an activation",
     with_stored_weights({rows_key, columns_key, depth_key, count_key, shared_weights, bias_key,
                          residual_key, then_parameter()})},
    make);

}  // namespace

std::unique_ptr<TiledOperator> lower(const ProductSpec& spec, const Target& target) {
  return std::make_unique<TiledProduct>(spec, target);
}

}  // namespace tessera::npu
