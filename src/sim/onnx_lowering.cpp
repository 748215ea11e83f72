#include "tessera/sim/onnx_lowering.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "onnx_vector_work.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/npu/specs.hpp"
#include "tessera/onnx/work.hpp"

namespace tessera::sim {
namespace {

using npu::StreamInput;
using npu::StreamSpec;
using npu::VectorWork;
using onnx::Graph;
using onnx::Node;
using onnx::Tensor;
using onnx::TensorIndex;

using Numbers = std::vector<std::uint32_t>;  // of operators, ascending

// Sides that a tiled convolution takes; beyond, windows are gathered.
constexpr std::uint64_t longest_side = 8191;
// Elements of a window that a pooling loads for each output at most; of larger ones sums are made
// as their parts come by.
constexpr std::uint64_t most_window = 64;

std::uint64_t quotient_up(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

std::uint64_t side(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

void merge(Numbers& into, const Numbers& more) {
  Numbers both;
  std::set_union(into.begin(), into.end(), more.begin(), more.end(), std::back_inserter(both));
  into = std::move(both);
}

// Storage of tensors, and the type that stands for elements of such a size.
class Elements {
 public:
  explicit Elements(std::optional<DataType> real) : real_(real) {}

  std::uint64_t bytes(const Tensor& tensor) const {
    return real_ && onnx::is_real(tensor.type) ? tensor.elements() * element_size(*real_).count()
                                               : tensor.bytes().count();
  }
  DataType type(onnx::ElementType type) const {
    if (real_ && onnx::is_real(type)) {
      return *real_;
    }
    const std::uint64_t bits = onnx::bits_of(type);
    return bits > 32   ? DataType::fp64
           : bits > 16 ? DataType::fp32
           : bits > 8  ? DataType::fp16
                       : DataType::int8;
  }

 private:
  std::optional<DataType> real_;
};

class Lowering {
 public:
  Lowering(const Graph& graph, const LoweringOptions& options)
      : graph_(graph),
        options_(options),
        elements_(options.data_type),
        makers_(graph.tensors.size()) {}

  std::vector<executor::ChipOperator> lower() {
    for (const Node& node : graph_.nodes) {
      begin(node);
      const onnx::Work work = onnx::work_of(graph_, node);
      const std::size_t made = made_.size();
      std::visit(*this, work);
      if (options_.drain && made_.size() > made) {
        drained_ = last_;
      }
      for (const TensorIndex output : node.outputs) {
        if (output != onnx::no_tensor) {
          makers_[output] = last_;
        }
      }
    }
    return std::move(made_);
  }

  // Of each kind of work; called by std::visit.
  void operator()(const onnx::Product& work);
  void operator()(const onnx::Convolution& work);
  void operator()(const onnx::Attention& work);
  void operator()(const onnx::Recurrent& work);
  void operator()(const onnx::RowWork& work);
  void operator()(const onnx::Pooling& work);
  void operator()(const onnx::ElementWise& work);
  void operator()(const onnx::Lookup& work);
  void operator()(const onnx::Movement&) { move(); }
  void operator()(const onnx::Append&) { append(); }
  void operator()(const onnx::View&) {}
  void operator()(const onnx::Other& work);

 private:
  // What a product does besides: from its bias and its epilogue.
  struct Finish {
    bool bias = false;
    std::uint64_t residuals = 0;
    std::optional<VectorWork> then;
  };
  struct Read {
    std::string name;
    std::uint64_t elements = 0;
  };

  void begin(const Node& node) {
    node_ = &node;
    last_ = drained_;
    for (const TensorIndex input : node.inputs) {
      if (input != onnx::no_tensor) {
        merge(last_, makers_[input]);
      }
    }
  }

  const Tensor* input(std::size_t at) const { return tensor(node_->inputs, at); }
  const Tensor* tensor(const std::vector<TensorIndex>& list, std::size_t at) const {
    return at < list.size() && list[at] != onnx::no_tensor ? &graph_.tensor(list[at]) : nullptr;
  }
  // Of operands of the array, and of data that is moved.
  npu::Target product_target() const {
    const Tensor* const first = input(0);
    return target(first != nullptr ? first->type : onnx::ElementType::float32);
  }
  npu::Target stream_target() const {
    const Tensor* const first = tensor(node_->outputs, 0);
    return target(first != nullptr ? first->type : onnx::ElementType::float32);
  }
  npu::Target target(onnx::ElementType type) const {
    return {options_.core, options_.cores, elements_.type(type)};
  }
  // In elements of the target.
  std::uint64_t size_of(const Tensor& tensor, const npu::Target& target) const {
    return quotient_up(elements_.bytes(tensor), target.element().count());
  }

  // An operator behind `after`, or behind the last one of the node; it is the last one then.
  std::uint32_t add(const std::string& part, std::unique_ptr<npu::TiledOperator> tiles) {
    return add(part, std::move(tiles), last_);
  }
  std::uint32_t add(const std::string& part, std::unique_ptr<npu::TiledOperator> tiles,
                    Numbers after) {
    const auto number = static_cast<std::uint32_t>(made_.size());
    made_.push_back({part.empty() ? node_->name : node_->name + "/" + part, std::move(tiles),
                     std::move(after)});
    last_ = {number};
    return number;
  }

  // Distinct inputs of more than one element; those of the epilogue are among them.
  std::vector<Read> reads(const npu::Target& target) const;
  std::uint64_t written(const npu::Target& target) const;
  // Each is loaded in proportion over all columns; the last stands for those that are too many.
  void load(StreamSpec& spec, std::vector<Read> reads) const;
  void stream(const std::string& part, std::uint64_t columns, std::vector<Read> reads,
              std::uint64_t stored, const VectorWork& work, const npu::Target& target);
  void move();
  void append();
  void project(std::uint64_t flops);
  void attend_in_parts(const onnx::Attention& work, const npu::Target& target);

  VectorWork epilogue_work(bool sums_are_free) const;
  Finish finish(std::uint64_t columns) const;
  bool adds_bias() const;
  void transposed(const onnx::Convolution& work);
  void step(const onnx::Recurrent& work, const npu::Target& target);

  const Graph& graph_;
  const LoweringOptions& options_;
  Elements elements_;
  std::vector<Numbers> makers_;  // [tensors] operators that must be over
  std::vector<executor::ChipOperator> made_;
  const Node* node_ = nullptr;
  Numbers last_;     // that what comes next of the node waits for
  Numbers drained_;  // that the next node waits for in any case
};

// --- what all kinds share ---

std::vector<Lowering::Read> Lowering::reads(const npu::Target& target) const {
  std::vector<Read> found;
  std::set<TensorIndex> seen;
  for (const TensorIndex at : node_->inputs) {
    if (at == onnx::no_tensor || !seen.insert(at).second) {
      continue;
    }
    const Tensor& tensor = graph_.tensor(at);
    if (tensor.elements() > 1) {
      found.push_back({tensor.name, size_of(tensor, target)});
    }
  }
  return found;
}

std::uint64_t Lowering::written(const npu::Target& target) const {
  std::uint64_t sum = 0;
  for (const TensorIndex at : node_->outputs) {
    sum += at == onnx::no_tensor ? 0 : size_of(graph_.tensor(at), target);
  }
  return sum;
}

void Lowering::load(StreamSpec& spec, std::vector<Read> reads) const {
  constexpr std::size_t most = npu::most_operands - 1;
  while (reads.size() > most) {
    reads[reads.size() - 2].elements += reads.back().elements;
    reads.pop_back();
  }
  for (const Read& read : reads) {
    // Of a tensor that is the same for all rows one row is loaded, of others its part of a row.
    const bool for_all_rows = read.elements % spec.rows != 0 || read.elements == spec.columns;
    const std::uint64_t of_row = for_all_rows ? read.elements : read.elements / spec.rows;
    const std::uint64_t common = std::gcd(of_row, spec.columns);
    spec.inputs.push_back({read.name, 0, spec.columns, of_row / common, spec.columns / common,
                           for_all_rows && spec.rows > 1});
  }
}

void Lowering::stream(const std::string& part, std::uint64_t columns, std::vector<Read> reads,
                      std::uint64_t stored, const VectorWork& work, const npu::Target& target) {
  if (columns == 0 || stored == 0) {
    return;
  }
  StreamSpec spec;
  spec.columns = columns;
  load(spec, std::move(reads));
  const std::uint64_t common = std::gcd(stored, columns);
  spec.stored_per = stored / common;
  spec.stored_of = columns / common;
  spec.work = work;
  add(part, npu::lower(spec, target));
}

VectorWork Lowering::epilogue_work(bool sums_are_free) const {
  const Tensor* const output = tensor(node_->outputs, 0);
  const std::uint64_t elements = output != nullptr ? output->elements() : 0;
  VectorWork sum;
  for (const onnx::Epilogue& step : node_->epilogue) {
    if (!(sums_are_free && step.op == "Add") && elements > 0) {
      sum = sum + element_work(step.op, quotient_up(step.flops, elements));
    }
  }
  return sum;
}

bool Lowering::adds_bias() const {
  static const std::set<std::string> ops{"Gemm", "Conv", "ConvTranspose", "FusedConv", "FusedGemm"};
  return ops.count(node_->op) > 0;
}

Lowering::Finish Lowering::finish(std::uint64_t columns) const {
  Finish finish;
  const auto take = [&](const Tensor& tensor) {
    if (tensor.elements() <= columns) {
      finish.bias = true;
    } else {
      ++finish.residuals;
    }
  };
  if (adds_bias() && input(2) != nullptr) {
    take(*input(2));
  }
  for (const onnx::Epilogue& step : node_->epilogue) {
    for (const TensorIndex operand : step.operands) {
      if (graph_.tensor(operand).elements() > 1) {
        take(graph_.tensor(operand));
      }
    }
  }
  const VectorWork work = epilogue_work(true);
  if (!node_->epilogue.empty() && work != VectorWork{}) {
    finish.then = work;
  }
  return finish;
}

// --- the array's ---

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
  add("", npu::lower(spec, product_target()));
}

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
  add("", npu::lower(spec, product_target()));
}

// Each element of the input becomes a window; overlapping windows are added up.
void Lowering::transposed(const onnx::Convolution& work) {
  const npu::Target target = product_target();
  npu::ProductSpec product;
  product.shape = {work.batch * onnx::elements_of(work.input),
                   onnx::elements_of(work.kernel) * (work.output_channels / work.groups),
                   work.input_channels / work.groups, work.groups};
  const npu::ProductShape& s = product.shape;
  add("windows", npu::lower(product, target));
  const std::uint64_t parts = s.rows * s.columns * s.count;
  const std::uint64_t stored = written(target);
  std::vector<Read> reads{{"windows", parts}};
  if (input(2) != nullptr) {
    reads.push_back({"bias", size_of(*input(2), target)});
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
  add("projection", npu::lower(product, product_target()));
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

// --- the vector unit's ---

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

// No more is read of a tensor than is written.
void Lowering::move() {
  const npu::Target target = stream_target();
  const std::uint64_t stored = written(target);
  std::vector<Read> read = reads(target);
  for (Read& each : read) {
    each.elements = std::min(each.elements, stored);
  }
  stream("", stored, read, stored, npu::vector_work("copy") + epilogue_work(false), target);
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

}  // namespace

std::vector<executor::ChipOperator> lower_graph(const Graph& graph,
                                                const LoweringOptions& options) {
  return Lowering(graph, options).lower();
}

}  // namespace tessera::sim
