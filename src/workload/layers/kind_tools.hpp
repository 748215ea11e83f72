// Shared by the kinds of operators of the `layers` workload.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layers/layer_builder.hpp"

namespace tessera::workload {

using Inputs = std::vector<LayerTensor>;
using Output = std::optional<LayerTensor>;

// Complains about a key of the operator; always without output.
Output refuse(OperatorSpec& spec, const char* key, const std::string& message);
// Complains when the elements of a shape, or these times `work`, may be beyond 64 bits.
bool too_large(OperatorSpec& spec, const Shape& shape, double work);
// Of an operator without a product of its own.
Sharding sharding_after(const LayerTensor& tensor);

// Their keys.
std::vector<ParameterInfo> keys_of_linear();
std::vector<ParameterInfo> keys_of_convolution();
std::vector<ParameterInfo> keys_of_pool();

bool read_linear(config::Section& section, OperatorSpec& spec);
bool read_convolution(config::Section& section, OperatorSpec& spec);
bool read_pool(config::Section& section, OperatorSpec& spec);
Output build_linear(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs);
Output build_convolution(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs);
Output build_pool(LayerBuilder& layer, OperatorSpec& spec, const Inputs& inputs);

}  // namespace tessera::workload
