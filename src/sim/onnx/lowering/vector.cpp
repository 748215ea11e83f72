// Rows, pooling, element-wise operators, lookups and movement as operators of a chip.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "onnx/lowering/state.hpp"
#include "onnx/vector_work.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/onnx/turned_matrix.hpp"

namespace tessera::sim {
namespace {

// Elements of a window that a pooling loads for each output at most; of larger ones sums are made
// as their parts come by.
constexpr std::uint64_t most_window = 64;

}  // namespace

void Lowering::operator()(const onnx::RowWork& work) {
  const npu::Target target = stream_target();
  const std::uint64_t stored = written(target);
  if (work.rows * work.columns == 0 || stored == 0) {
    return;
  }
  StreamSpec spec;
  spec.rows = work.rows;
  spec.columns = work.columns;
  load(spec, reads(target));
  const std::uint64_t of_row = quotient_up(stored, work.rows);
  const std::uint64_t common = std::gcd(of_row, work.columns);
  spec.stored_per = of_row / common;
  spec.stored_of = work.columns / common;
  spec.work = row_work(node_->op, work) + epilogue_work(false);
  add("", npu::lower(spec, target));
}

void Lowering::operator()(const onnx::Pooling& work) {
  const npu::Target target = stream_target();
  const std::uint64_t stored = written(target);
  const std::vector<Read> read = reads(target);
  std::uint64_t largest = work.outputs;
  for (const Read& each : read) {
    largest = std::max(largest, each.elements);
  }
  const bool by_output = work.outputs > 0 && largest / work.outputs <= most_window;
  const std::uint64_t columns = by_output ? work.outputs : largest;
  if (columns == 0) {
    return;
  }
  const Wide flops = Wide{work.outputs} * work.window * work.flops_per_element;
  VectorWork of_window{.adds = static_cast<std::uint64_t>((flops + columns - 1) / columns)};
  stream("", columns, read, stored, of_window + epilogue_work(false), target);
}

void Lowering::operator()(const onnx::ElementWise& work) {
  const npu::Target target = stream_target();
  const std::uint64_t stored = written(target);
  stream("", std::max(stored, work.elements), reads(target), stored,
         element_work(node_->op, work.flops_per_element) + epilogue_work(false), target);
}

void Lowering::operator()(const onnx::Lookup& work) {
  const npu::Target target = stream_target();
  const std::uint64_t stored = written(target);
  std::vector<Read> read = reads(target);
  if (!read.empty() && input(0) != nullptr) {
    const std::uint64_t of_element =
        input(0)->elements() == 0 ? 0
                                  : quotient_up(size_of(*input(0), target), input(0)->elements());
    read[0].elements = std::min(
        read[0].elements, work.rows * work.row_elements * std::max<std::uint64_t>(1, of_element));
  }
  stream("", stored, read, stored, npu::vector_work("copy"), target);
}

// No more is read of a tensor than is written. A matrix that is turned is cut as the operator
// `transpose` is, by rows where it is read and by columns where it is written.
void Lowering::move() {
  const npu::Target target = stream_target();
  const std::uint64_t stored = written(target);
  std::vector<Read> read = reads(target);
  for (Read& each : read) {
    each.elements = std::min(each.elements, stored);
  }
  const VectorWork copy = npu::vector_work("copy") + epilogue_work(false);
  const std::optional<onnx::TurnedMatrix> matrix = onnx::turned_matrix(graph_, *node_);
  if (!matrix || stored != matrix->rows * matrix->columns) {
    stream("", stored, read, stored, copy, target);
    return;
  }
  StreamSpec spec;
  spec.rows = matrix->rows;
  spec.columns = matrix->columns;
  spec.transposes = true;
  spec.work = copy;
  load(spec, std::move(read));
  add("", npu::lower(spec, target));
}

// New rows, read and written; the cache stays.
void Lowering::append() {
  const npu::Target target = stream_target();
  const std::uint64_t rows = size_of(*input(1), target);
  stream("", rows, {{"rows", rows}}, rows, npu::vector_work("copy"), target);
}

void Lowering::operator()(const onnx::Other& work) {
  const npu::Target target = stream_target();
  const std::uint64_t stored = written(target);
  const std::vector<Read> read = reads(target);
  std::uint64_t columns = stored;
  for (const Read& each : read) {
    columns = std::max(columns, each.elements);
  }
  if (columns > 0) {
    const VectorWork copy{.adds = std::max<std::uint64_t>(1, quotient_up(work.flops, columns))};
    stream("", columns, read, std::max<std::uint64_t>(stored, 1), copy, target);
  }
}

}  // namespace tessera::sim
