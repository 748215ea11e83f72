// What the nodes of a model compute as operators of layers, as the workload room has them.
//
//   product                  one, by (rows, columns, depth, count); a shared right side makes one
//   of
//                            all rows
//   convolution              a product of positions, channels and windows for each group
//   attention                the product of its projection, one of scores and values together (two
//                            where keys and values are of different widths), softmax, scale and
//                            mask as vector work without memory
//   recurrent cell           the product of the inputs of all steps, one of the state for each
//   step,
//                            the gates' functions
//   all else                 vector work, by the FLOPs of onnx/work.hpp
//   epilogue                 vector work behind its node, which reads what the steps read besides
//   view                     nothing
//
// Parameters are counted where they are first used as the weights of a product, or else first used.
// Another product that uses them has them as `shared_parameters`; vector work reads them as inputs.
// Elements that are no floating-point numbers, and those of 8 bits or less, count as so many of the
// workload's type as have their bytes.
//
// A product whose operands both come quantised has a type of its own (onnx/quantized.hpp), and
// where its output is of 8 bits or less, partial sums of it take 4 bytes each (int32 or fp32), as
// they are quantised behind the sum. Parameters of an operator that has some of 8 bits or less
// count as they are, and take the bytes of their own types; floating-point numbers of more bits
// those of the workload's.
#pragma once

#include <map>
#include <vector>

#include "onnx/cut/tensor_cut.hpp"
#include "onnx/survey.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::sim {

class OnnxOperators {
 public:
  // All must outlive it.
  OnnxOperators(const OnnxSurvey& survey, const std::vector<NodeCut>& cuts, DataType data_type);

  // In order; none for a view.
  std::vector<workload::Operator> of(NodeNumber number) const;
  std::uint64_t elements(const onnx::Tensor& tensor) const;

 private:
  std::uint64_t elements(std::uint64_t count, onnx::ElementType type) const;
  std::uint64_t read_of(NodeNumber number, std::size_t input) const;
  std::uint64_t written_by(NodeNumber number) const;
  void add_operands(NodeNumber number, workload::Operator& op) const;
  void add_parameter(NodeNumber number, std::size_t input, workload::Operator& op,
                     workload::WeightBytes& bytes) const;
  Bytes stored_bytes(const onnx::Tensor& parameter) const;
  bool has_narrow_weights(NodeNumber number) const;
  std::uint64_t summed_by(NodeNumber number) const;
  workload::Operator epilogue_of(NodeNumber number) const;
  void find_owners();

  const OnnxSurvey& survey_;
  const std::vector<NodeCut>& cuts_;
  DataType data_type_;
  std::map<onnx::TensorIndex, NodeNumber> owners_;  // of parameters
};

}  // namespace tessera::sim
