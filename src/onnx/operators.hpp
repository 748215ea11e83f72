// What is known of each operator: how its outputs' shapes follow, what work it is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "operands.hpp"
#include "tessera/onnx/work.hpp"

namespace tessera::onnx {

struct OperatorRule {
  const char* kind;  // "Conv", "com.microsoft.Gelu"
  // Sets type and shape of every output. Throws NotKnown.
  void (*shape)(Operands& node);
  // When the shapes are known. `flops` is the rule's.
  Work (*work)(const Operands& node, std::uint64_t flops);
  // Of an element; of which is up to `work`.
  std::uint64_t flops;
};

// Null for an operator that nobody knows.
const OperatorRule* find_rule(const std::string& domain, const std::string& op);

// By family, each in a file of its own.
std::span<const OperatorRule> element_wise_rules();
std::span<const OperatorRule> product_rules();
std::span<const OperatorRule> window_rules();
std::span<const OperatorRule> row_rules();
std::span<const OperatorRule> layout_rules();
std::span<const OperatorRule> resize_rules();
std::span<const OperatorRule> selection_rules();
std::span<const OperatorRule> generator_rules();
std::span<const OperatorRule> contributed_rules();
std::span<const OperatorRule> attention_rules();
std::span<const OperatorRule> linear_attention_rules();

// Shapes that many families share: outputs like input 0.
void shape_as_input(Operands& node);
// Of all inputs, broadcast.
void shape_broadcast(Operands& node);

// Work that many families share, of output 0 unless it says otherwise.
Work element_wise(const Operands& node, std::uint64_t flops);
Work activation(const Operands& node, std::uint64_t flops);
Work movement(const Operands& node, std::uint64_t flops);
Work view(const Operands& node, std::uint64_t flops);
Work traffic(const Operands& node, std::uint64_t flops);       // flops a call
Work norm_of_last(const Operands& node, std::uint64_t flops);  // rows of the last side of input 0

}  // namespace tessera::onnx
