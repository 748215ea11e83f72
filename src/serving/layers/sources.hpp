// Which operators of a trained transformer (workload::token_layers) each part of a served step
// computes: widths, parameters, kernels and FLOPs are those of these operators, and a layer has the
// parts that its operators ask for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "layers/parts.hpp"
#include "tessera/workload/transformer/transformer.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::serving {

class PartSources {
 public:
  // Throws InternalError for an operator that no part computes.
  explicit PartSources(const workload::TransformerShape& shape);

  // Whether any layer has it; of what only a step has, as exchanges: no.
  bool has(Part part) const { return has_products(part) || !others_[part].empty(); }
  bool has_products(Part part) const { return !products_[part].empty(); }
  // Products with weights, of one token and not cut: of one depth, joined by their columns.
  const std::vector<workload::Operator>& products_of(Part part) const { return products_[part]; }
  // All else that it computes, likewise.
  const std::vector<workload::Operator>& others_of(Part part) const { return others_[part]; }
  // In the order of a step, exchanges and adapters apart.
  const std::vector<Part>& parts_of(std::uint64_t layer) const { return layers_[layer]; }
  // Behind the last layer, of what gives a token; it is chosen by `softmax`.
  const std::vector<Part>& head() const { return head_; }
  // Of the sum with what was skipped, a token.
  std::uint64_t skip_flops() const { return skip_flops_; }

 private:
  using Operators = std::array<std::vector<workload::Operator>, part_count>;  // [Part]

  std::vector<Part> add_layer(const workload::Layer& layer, bool is_local);

  Operators products_;
  Operators others_;
  std::vector<std::vector<Part>> layers_;
  std::vector<Part> head_;
  std::uint64_t skip_flops_ = 0;
};

// Biases that are joined to a product's weights.
inline std::uint64_t biases_of(const workload::Operator& op) {
  return op.parameters + op.shared_parameters -
         op.product.columns * op.product.depth * op.product.count;
}

}  // namespace tessera::serving
