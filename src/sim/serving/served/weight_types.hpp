// How weights of a served language model lie in memory: the key `weights` of a tenant, with types
// of all products of layers, of a class of products and of one operator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/number_format.hpp"
#include "tessera/serving/weight_types.hpp"
#include "tessera/workload/transformer/transformer.hpp"

namespace tessera::sim {

// Classes, and then operators, that have a mapping below `weights`.
const std::vector<std::string>& weight_part_keys();

serving::WeightTypes read_weight_types(config::Section& tenant,
                                       const std::optional<workload::TransformerShape>& shape);

// Notes types of what the model does not have, of a class whose products all have types of their
// own, and of all classes where that is so of each.
void note_unused_types(config::Section& tenant, const workload::TransformerShape& shape);

// Weights of products that are multiplied in a narrower type lie so, with their scales, where
// nothing else is said of them: published weights do, and requests have no use for wider ones.
void keep_as_multiplied(const NumberFormat& products, DataType data_type,
                        serving::WeightTypes& weights);

}  // namespace tessera::sim
