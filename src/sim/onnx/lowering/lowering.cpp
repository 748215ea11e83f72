#include "tessera/sim/onnx/lowering.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <variant>

#include "onnx/lowering/state.hpp"
#include "onnx/vector_work.hpp"

namespace tessera::sim {

void merge(Numbers& into, const Numbers& more) {
  Numbers both;
  std::set_union(into.begin(), into.end(), more.begin(), more.end(), std::back_inserter(both));
  into = std::move(both);
}

std::vector<executor::ChipOperator> Lowering::lower() {
  for (const Node& node : graph_.nodes) {
    begin(node);
    const std::size_t made = made_.size();
    if (options_.free.contains(node.op)) {
      add("", npu::lower_nothing(stream_target()));
    } else {
      std::visit(*this, onnx::work_of(graph_, node));
    }
    count_flops(made);
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

// The first operator of a node stands for all of its FLOPs; those of free ones are not done.
void Lowering::count_flops(std::size_t first) {
  for (std::size_t number = first; number < made_.size(); ++number) {
    made_[number].flops = number == first && !options_.free.contains(node_->op)
                              ? onnx::cost_of(graph_, *node_).flops()
                              : Flops();
  }
}

void Lowering::begin(const Node& node) {
  node_ = &node;
  last_ = drained_;
  for (const TensorIndex input : node.inputs) {
    if (input != onnx::no_tensor) {
      merge(last_, makers_[input]);
    }
  }
}

std::vector<Lowering::Read> Lowering::reads(const npu::Target& target) const {
  std::vector<Read> found;
  std::set<TensorIndex> seen;
  for (std::size_t i = 0; i < node_->inputs.size(); ++i) {
    const TensorIndex at = node_->inputs[i];
    if (at == onnx::no_tensor || !seen.insert(at).second) {
      continue;
    }
    const Tensor& tensor = graph_.tensor(at);
    if (tensor.elements() > 1) {
      const std::uint64_t whole = size_of(tensor, target);
      const std::uint64_t read = onnx::elements_read(graph_, *node_, i);
      found.push_back({tensor.name, read == tensor.elements()
                                        ? whole
                                        : read * quotient_up(whole, tensor.elements())});
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

const Tensor* Lowering::own_input(std::size_t at) const {
  const Tensor* const found = input(at);
  const auto holds = [&](const std::vector<TensorIndex>& list) {
    return found != nullptr && std::count(list.begin(), list.end(), node_->inputs[at]) > 0;
  };
  const bool is_fused =
      holds(node_->widened_by) ||
      std::any_of(node_->epilogue.begin(), node_->epilogue.end(),
                  [&](const onnx::Epilogue& step) { return holds(step.operands); });
  return is_fused ? nullptr : found;
}

const Tensor* Lowering::bias() const {
  static const std::map<std::string, std::size_t> places{{"Gemm", 2},
                                                         {"Conv", 2},
                                                         {"ConvTranspose", 2},
                                                         {"CausalConvWithState", 2},
                                                         {"FusedConv", 2},
                                                         {"FusedGemm", 2},
                                                         {"QGemm", 6},
                                                         {"QLinearConv", 8},
                                                         {"MatMulNBits", 5},
                                                         {"MatMulIntegerToFloat", 6},
                                                         {"DynamicQuantizeMatMul", 4}};
  const auto found = places.find(node_->op);
  return found == places.end() ? nullptr : own_input(found->second);
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
  if (bias() != nullptr) {
    take(*bias());
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

Bytes parameter_bytes(const Graph& graph, std::optional<DataType> data_type) {
  const Elements elements(data_type);
  std::set<TensorIndex> seen;
  Bytes sum;
  for (const Node& node : graph.nodes) {
    for (const TensorIndex at : node.inputs) {
      if (at == onnx::no_tensor || graph.tensor(at).role != onnx::Role::parameter ||
          !onnx::counts_as_parameter(graph.tensor(at).type) || !seen.insert(at).second) {
        continue;
      }
      sum += Bytes(elements.bytes(graph.tensor(at)));
    }
  }
  return sum;
}

std::vector<executor::ChipOperator> lower_graph(const Graph& graph,
                                                const LoweringOptions& options) {
  return Lowering(graph, options).lower();
}

}  // namespace tessera::sim
