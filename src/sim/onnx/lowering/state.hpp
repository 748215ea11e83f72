// The lowering of a model under way: lowering.cpp has what all kinds of work share,
// matrix.cpp those of the array, vector.cpp those of the vector unit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/quotient.hpp"
#include "tessera/npu/specs.hpp"
#include "tessera/onnx/work.hpp"
#include "tessera/sim/onnx/lowering.hpp"

namespace tessera::sim {

using npu::StreamSpec;
using npu::VectorWork;
using onnx::Graph;
using onnx::Node;
using onnx::Tensor;
using onnx::TensorIndex;

using Numbers = std::vector<std::uint32_t>;  // of operators, ascending
void merge(Numbers& into, const Numbers& more);

inline std::uint64_t side(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

// Storage of tensors, and the type that stands for elements of such a size.
class Elements {
 public:
  explicit Elements(std::optional<DataType> real) : real_(real) {}

  std::uint64_t bytes(const Tensor& tensor) const {
    return replaces(tensor.type) ? tensor.elements() * element_size(*real_).count()
                                 : tensor.bytes().count();
  }
  DataType type(onnx::ElementType type) const {
    if (replaces(type)) {
      return *real_;
    }
    const std::uint64_t bits = onnx::bits_of(type);
    return bits > 32             ? DataType::fp64
           : bits > 16           ? DataType::fp32
           : bits > 8            ? DataType::fp16
           : onnx::is_real(type) ? DataType::fp8
                                 : DataType::int8;
  }

 private:
  // Numbers of 8 bits and less are what a model was quantised to.
  bool replaces(onnx::ElementType type) const {
    return real_ && onnx::is_real(type) && onnx::bits_of(type) > 8;
  }

  std::optional<DataType> real_;
};

class Lowering {
 public:
  Lowering(const Graph& graph, const LoweringOptions& options)
      : graph_(graph),
        options_(options),
        elements_(options.data_type),
        makers_(graph.tensors.size()) {}

  std::vector<executor::ChipOperator> lower();

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

  void begin(const Node& node);
  void count_flops(std::size_t first);

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

  // By position; null for what a fused step or a scale has put there.
  const Tensor* own_input(std::size_t at) const;
  // The right operand's in memory, of so many elements where its tensor does not tell.
  std::optional<npu::StoredWeights> stored(std::uint64_t elements, const npu::Target& target) const;

  // Of an element of a product's output; none: as of the target.
  std::optional<Bytes> result(const npu::Target& target) const;

  VectorWork epilogue_work(bool sums_are_free) const;
  Finish finish(std::uint64_t columns) const;
  const Tensor* bias() const;
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

}  // namespace tessera::sim
