// Products, convolutions, attention and recurrent cells as operators of a chip.
#include <algorithm>
#include <utility>

#include "onnx/lowering/state.hpp"
#include "onnx/quantized.hpp"
#include "onnx/vector_work.hpp"

namespace tessera::sim {
namespace {

// Sides that a tiled convolution takes; beyond, windows are gathered.
constexpr std::uint64_t longest_side = 8191;

// One side as a convolution takes it, with padding at both ends and as many positions. Where the
// ends differ the input is taken as so much longer or shorter.
void set_side(npu::ConvolutionShape& shape, std::size_t at, const onnx::Convolution& work,
              std::size_t axis) {
  const std::size_t rank = work.kernel.size();
  shape.kernel[at] = side(work.kernel[axis]);
  shape.stride[at] = side(work.strides[axis]);
  shape.dilation[at] = side(work.dilations[axis]);
  shape.input[at] = side(work.input[axis]);
  shape.padding[at] =
      work.pads.size() == 2 * rank ? side(std::max<std::int64_t>(0, work.pads[axis])) : 0;
  if (shape.positions()[at] == side(work.output[axis])) {
    return;
  }
  const std::uint64_t padded = shape.reach(at, side(work.output[axis]));
  shape.padding[at] = std::min(shape.padding[at], (padded - 1) / 2);
  shape.input[at] = padded - 2 * shape.padding[at];
}

}  // namespace

void Lowering::operator()(const onnx::Product& work) {
  if (work.count * work.rows * work.columns == 0 || work.depth == 0) {
    return;
  }
  const Finish with = finish(work.columns);
  npu::ProductSpec spec;
  spec.shape = {work.rows, work.columns, work.depth * (work.operations / 2), work.count};
  if (work.one_right_side) {
    spec.shape.rows *= std::exchange(spec.shape.count, 1);
  }
  spec.bias = with.bias;
  spec.residuals = with.residuals;
  spec.then = with.then;
  const npu::Target target = product_target();
  spec.stored = stored(work.columns * work.depth, target);
  spec.result = result(target);
  add("", npu::lower(spec, target));
}

// Wider than quantised operands, where it is not quantised.
std::optional<Bytes> Lowering::result(const npu::Target& target) const {
  const Tensor* const output = tensor(node_->outputs, 0);
  const bool is_quantised = input(0) != nullptr && is_narrow(input(0)->type);
  if (!is_quantised || output == nullptr) {
    return std::nullopt;
  }
  const Bytes element = element_size(elements_.type(output->type));
  return element == target.element() ? std::nullopt : std::optional(element);
}

void Lowering::operator()(const onnx::Convolution& work) {
  if (work.batch * onnx::elements_of(work.output) * onnx::elements_of(work.input) == 0 ||
      work.input_channels * work.output_channels * onnx::elements_of(work.kernel) == 0) {
    return;
  }
  if (work.transposed) {
    transposed(work);
    return;
  }
  npu::ConvolutionSpec spec;
  npu::ConvolutionShape& shape = spec.shape;
  shape.images = work.batch;
  shape.channels = work.input_channels;
  shape.outputs = work.output_channels;
  shape.groups = work.groups;
  // Axes before the last two: each position is an image, and what its windows see is channels.
  const std::size_t rank = work.kernel.size();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (axis + 2 < rank) {
      shape.images *= side(work.output[axis]);
      shape.channels *= side(work.kernel[axis]);
    } else {
      set_side(shape, rank == 1 ? 1 : axis + 2 - rank, work, axis);
    }
  }
  const auto is_long = [](std::uint64_t extent) { return extent > longest_side; };
  spec.gathers = std::any_of(shape.input.begin(), shape.input.end(), is_long) ||
                 std::any_of(shape.kernel.begin(), shape.kernel.end(), is_long);
  const Finish with = finish(work.output_channels);
  spec.bias = with.bias;
  spec.residuals = with.residuals;
  spec.then = with.then;
  const npu::Target target = product_target();
  spec.stored = stored(0, target);
  add("", npu::lower(spec, target));
}

// Each element of the input becomes a window; overlapping windows are added up.
void Lowering::transposed(const onnx::Convolution& work) {
  const npu::Target target = product_target();
  npu::ProductSpec product;
  product.shape = {work.batch * onnx::elements_of(work.input),
                   onnx::elements_of(work.kernel) * (work.output_channels / work.groups),
                   work.input_channels / work.groups, work.groups};
  product.stored = stored(0, target);
  const npu::ProductShape& s = product.shape;
  add("windows", npu::lower(product, target));
  const std::uint64_t parts = s.rows * s.columns * s.count;
  const std::uint64_t stored = written(target);
  std::vector<Read> reads{{"windows", parts}};
  if (bias() != nullptr) {
    reads.push_back({"bias", size_of(*bias(), target)});
  }
  for (const onnx::Epilogue& step : node_->epilogue) {
    for (const TensorIndex operand : step.operands) {
      reads.push_back({"operand", size_of(graph_.tensor(operand), target)});
    }
  }
  stream("sum", std::max(parts, stored), reads, stored,
         npu::vector_work("add") + epilogue_work(false), target);
}

// The operator projects its input to queries, keys and values itself.
void Lowering::project(std::uint64_t flops) {
  const Tensor* const weights = input(1);
  if (flops == 0 || weights == nullptr || !weights->shape || weights->shape->size() != 2) {
    return;
  }
  npu::ProductSpec product;
  product.shape.depth = side((*weights->shape)[0]);
  product.shape.columns = side((*weights->shape)[1]);
  product.shape.rows = flops / 2 / (product.shape.depth * product.shape.columns);
  product.bias = input(2) != nullptr;
  const npu::Target target = product_target();
  product.stored = stored(0, target);
  add("projection", npu::lower(product, target));
}

void Lowering::operator()(const onnx::Attention& work) {
  if (work.batch * work.heads * work.queries * work.keys == 0 ||
      work.key_width * work.value_width == 0) {
    return;
  }
  project(work.projection_flops);
  const npu::Target target = product_target();
  npu::AttentionSpec spec;
  spec.batch = work.batch;
  spec.heads = work.heads;
  spec.kv_heads = work.kv_heads;
  spec.queries = work.queries;
  spec.keys = work.keys;
  spec.width = work.key_width;
  spec.value_width = work.value_width;
  // An operator that gives its cache puts the new tokens into it.
  const bool caches = tensor(node_->outputs, 1) != nullptr;
  spec.append = caches ? std::min(work.queries, work.keys) : 0;
  auto tiles = npu::lower(spec, target);
  if (tiles) {
    add(node_->epilogue.empty() && work.projection_flops == 0 ? "" : "attention", std::move(tiles));
  } else {
    attend_in_parts(work, target);
  }
  if (!node_->epilogue.empty()) {
    const std::uint64_t stored = written(target);
    std::vector<Read> reads{{"attention", stored}};
    for (const onnx::Epilogue& step : node_->epilogue) {
      for (const TensorIndex operand : step.operands) {
        reads.push_back({"operand", size_of(graph_.tensor(operand), target)});
      }
    }
    stream("epilogue", stored, reads, stored, epilogue_work(false), target);
  }
}

void Lowering::attend_in_parts(const onnx::Attention& work, const npu::Target& target) {
  const std::uint64_t rows = work.heads / work.kv_heads * work.queries;
  const std::uint64_t count = work.batch * work.kv_heads;
  npu::ProductSpec scores;
  scores.shape = {rows, work.keys, work.key_width, count};
  add("scores", npu::lower(scores, target));
  StreamSpec softmax;
  softmax.rows = count * rows;
  softmax.columns = work.keys;
  softmax.inputs.push_back({"scores", 0, work.keys});
  softmax.work = npu::vector_work("softmax");
  add("softmax", npu::lower(softmax, target));
  npu::ProductSpec values;
  values.shape = {rows, work.value_width, work.keys, count};
  add("values", npu::lower(values, target));
}

void Lowering::operator()(const onnx::Recurrent& work) {
  if (work.steps * work.batch * work.hidden_width == 0) {
    return;
  }
  const npu::Target target = product_target();
  const Numbers before = last_;
  Numbers ends;
  for (std::uint64_t direction = 0; direction < work.directions; ++direction) {
    last_ = before;
    if (work.input_width > 0) {
      npu::ProductSpec inputs;
      inputs.shape = {work.steps * work.batch, work.gates * work.hidden_width, work.input_width, 1};
      inputs.bias = input(3) != nullptr;
      add("inputs", npu::lower(inputs, target));
    }
    for (std::uint64_t number = 0; number < work.steps; ++number) {
      step(work, target);
    }
    merge(ends, last_);
  }
  last_ = ends;
}

// The state's part of the gates, to which that of the inputs is added; then the gates' functions.
void Lowering::step(const onnx::Recurrent& work, const npu::Target& target) {
  npu::ProductSpec state;
  state.shape = {work.batch, work.gates * work.hidden_width, work.hidden_width, 1};
  state.residuals = 1;
  add("state", npu::lower(state, target));
  const std::uint64_t states = work.batch * work.hidden_width;
  const std::uint64_t kept = work.gates == 4 ? 2 : 1;  // an LSTM has a state beside its output
  stream("gates", states, {{"gates", states * work.gates}, {"state", states}}, states * kept,
         gate_work(work.gates), target);
}

}  // namespace tessera::sim
