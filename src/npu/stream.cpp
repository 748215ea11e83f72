// Operators that only the vector unit works on. The output is rows and columns, cut in both
// directions.

#include <algorithm>
#include <utility>

#include "cut.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/npu/core/too_small.hpp"
#include "tessera/npu/specs.hpp"

namespace tessera::npu {
namespace {

// So many tiles for each core, so that one is loaded while another is computed or stored, but none
// smaller than this.
constexpr std::uint64_t tiles_a_core = 4;
constexpr std::uint64_t least_tile_bytes = 16 * 1024;

class TiledStream final : public TiledOperator {
 public:
  TiledStream(const StreamSpec& spec, const Target& target)
      : TiledOperator(target), spec_(spec), element_(target.element()) {
    stored_ = {"output", 0, spec_.columns, spec_.stored_per, spec_.stored_of};
    cut(target);
    uniform_ = is_uniform(stored_) &&
               std::all_of(spec_.inputs.begin(), spec_.inputs.end(),
                           [this](const StreamInput& input) { return is_uniform(input); });
    for (const StreamInput& input : spec_.inputs) {
      const std::uint64_t rows = input.for_all_rows ? 1 : spec_.rows;
      operands_.push_back({input.name, Bytes(rows * bytes_of_row(input))});
    }
    operands_.push_back({"output", element_ * (spec_.rows * width(stored_))});
  }

  const std::vector<Operand>& operands() const override { return operands_; }
  std::array<std::uint64_t, output_dimensions> output() const override {
    return {1, spec_.rows, spec_.columns, 1};
  }
  std::uint64_t groups() const override { return rows_.parts() * columns_.parts(); }
  VectorWork vector_passes() const override { return spec_.work; }
  double vector_flops() const override {
    return static_cast<double>(spec_.rows * spec_.columns) * static_cast<double>(spec_.work.flops);
  }

  OperatorTile tile(std::uint64_t group, std::uint64_t) const override {
    const Place place = place_of(group);
    const std::uint64_t e = element_.count();
    OperatorTile tile;
    // Inputs that serve some columns alone make all parts of the columns different.
    tile.shape = (rows_.is_last(place.row) ? 1U : 0U) | (shape_of(place.column) << 1U);
    tile.output = {Range{0, 1}, rows_.range(place.row), columns_.range(place.column), Range{0, 1}};
    tile.depth = {0, 1};
    for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
      const StreamInput& input = spec_.inputs[i];
      const Range columns = served(input, columns_.range(place.column));
      const std::uint64_t row = input.for_all_rows ? 0 : rows_.begin(place.row);
      tile.origins[i] =
          row * bytes_of_row(input) + stored_as(input).begin_of(loaded(input, columns).begin);
    }
    tile.origins[spec_.inputs.size()] =
        spec_.transposes ? (columns_.begin(place.column) * spec_.rows + rows_.begin(place.row)) * e
                         : (rows_.begin(place.row) * width(stored_) +
                            loaded(stored_, columns_.range(place.column)).begin) *
                               e;
    return tile;
  }

  TileProgram program(std::uint64_t shape) const override {
    ProgramWriter out(target());
    const std::uint64_t e = element_.count();
    const std::uint64_t rows = rows_.size_at((shape & 1) != 0);
    const Range columns = columns_.range(shape >> 1U);
    std::vector<BufferId> buffers;
    // Where a row is cut, its sums and its largest value take a pass of their own.
    const bool twice = columns_.parts() > 1 && spec_.work.trees > 0;
    for (int pass = 0; pass < (twice ? 2 : 1); ++pass) {
      for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
        const StreamInput& input = spec_.inputs[i];
        const std::uint64_t bytes =
            stored_as(input).bytes_of(loaded(input, served(input, columns)).size());
        if (bytes == 0) {
          continue;
        }
        const Region region{0, bytes, input.for_all_rows ? 1 : rows, bytes_of_row(input)};
        buffers.push_back(out.scratchpad(Bytes(region.bytes())));
        out.mvin(static_cast<std::uint8_t>(i), region, buffers.back());
      }
    }
    const std::uint64_t row_bytes = loaded(stored_, columns).size() * e;
    const BufferId result =
        out.scratchpad(Bytes(rows * (is_stored() ? row_bytes : columns.size() * e)));
    const std::uint64_t cycles = vector_cycles(core(), spec_.work, rows, columns.size());
    for (std::size_t i = 2; i < buffers.size(); i += 2) {  // waits for two at a time
      out.vector(0, buffers[i], i + 1 < buffers.size() ? buffers[i + 1] : BufferId(), result);
    }
    out.vector(cycles, buffers.empty() ? BufferId() : buffers[0],
               buffers.size() > 1 ? buffers[1] : BufferId(), result);
    if (!is_stored()) {
      return out.take();
    }
    const Region stored = spec_.transposes ? Region{0, rows * e, columns.size(), spec_.rows * e}
                                           : Region{0, row_bytes, rows, width(stored_) * e};
    out.mvout(static_cast<std::uint8_t>(spec_.inputs.size()), stored, result);
    return out.take();
  }

 private:
  struct Place {
    std::uint64_t row = 0;
    std::uint64_t column = 0;
  };
  Place place_of(std::uint64_t group) const {
    return {group / columns_.parts(), group % columns_.parts()};
  }

  bool is_stored() const { return stored_.per > 0; }

  // Whether all whole parts of the columns load as much of it, from where they begin.
  bool is_uniform(const StreamInput& input) const {
    return input.begin == 0 && input.end == spec_.columns &&
           (input.of == 1 || columns_.length % input.of == 0);
  }

  // The first part of the columns that looks like this one.
  std::uint64_t shape_of(std::uint64_t column) const {
    return uniform_ && !columns_.is_last(column) ? 0 : column;
  }

  // Elements of a row of the input, and which of them are for some columns that it serves.
  std::uint64_t width(const StreamInput& input) const {
    return loaded(input, {input.begin, input.end}).end;
  }
  StoredWeights stored_as(const StreamInput& input) const {
    return input.stored.value_or(StoredWeights::plain(element_));
  }
  std::uint64_t bytes_of_row(const StreamInput& input) const {
    return stored_as(input).bytes_of(width(input));
  }
  static Range loaded(const StreamInput& input, const Range& columns) {
    const Wide begin = Wide{columns.begin - input.begin} * input.per;
    const Wide end = Wide{columns.end - input.begin} * input.per;
    return {static_cast<std::uint64_t>(begin / input.of),
            static_cast<std::uint64_t>((end + input.of - 1) / input.of)};
  }
  static Range served(const StreamInput& input, const Range& columns) {
    const std::uint64_t begin = std::clamp(columns.begin, input.begin, input.end);
    return {begin, std::clamp(columns.end, begin, input.end)};
  }

  // Bytes of the scratchpad that one element of the output takes, rounded up.
  std::uint64_t bytes_an_element() const {
    std::uint64_t sum = element_.count() * (is_stored() ? quotient_up(stored_.per, stored_.of) : 1);
    for (const StreamInput& input : spec_.inputs) {
      sum += stored_as(input).bytes_of(quotient_up(input.per, input.of));
    }
    return spec_.work.trees > 0 ? 2 * sum : sum;
  }

  void cut(const Target& target) {
    const std::uint64_t of_one = bytes_an_element();
    const std::uint64_t most = core().scratchpad_half().count() / of_one;
    if (most == 0) {
      throw CoreTooSmall(core(), "vector work of " + to_string(Bytes(of_one)) + " an element");
    }
    const std::uint64_t fair = quotient_up(spec_.rows * spec_.columns, target.cores * tiles_a_core);
    const std::uint64_t elements =
        std::min(std::max(fair, quotient_up(least_tile_bytes, of_one)), most);
    // Rows stay whole where they can: sums over a cut one take two passes.
    const bool keeps_rows = spec_.columns <= (spec_.work.trees > 0 ? most : elements);
    if (keeps_rows && !spec_.transposes) {
      columns_ = {spec_.columns, spec_.columns};
      rows_ = {spec_.rows, std::clamp<std::uint64_t>(elements / spec_.columns, 1, spec_.rows)};
      return;
    }
    // Else as square as can be, which is best for a transposition; without rows, columns alone.
    std::uint64_t side = 1;
    while ((side + 1) * (side + 1) <= elements) {
      ++side;
    }
    rows_ = {spec_.rows, spec_.transposes ? std::min(spec_.rows, side) : 1};
    columns_ = {spec_.columns, std::min(spec_.columns, elements / rows_.length)};
  }

  StreamSpec spec_;
  StreamInput stored_;  // the output, in the same terms
  Bytes element_;
  Cut rows_;
  Cut columns_;
  bool uniform_ = true;
  std::vector<Operand> operands_;
};

}  // namespace

std::unique_ptr<TiledOperator> lower(const StreamSpec& spec, const Target& target) {
  ensure(spec.inputs.size() < most_operands, "an operator has too many operands");
  return std::make_unique<TiledStream>(spec, target);
}

}  // namespace tessera::npu
