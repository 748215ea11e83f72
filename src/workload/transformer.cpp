// The `transformer` workload: training of a decoder-only language model. What its layers hold is in
// transformer_layers.hpp.
//
//   key                default    meaning
//   layers                        decoder layers
//   hidden                        width of the residual stream; a multiple of `heads`
//   heads                         attention heads
//   sequence                      tokens a sample
//   vocabulary                    rows of the word embedding
//   ffn                4 hidden   width inside the MLP
//   batch                         samples of one step over all data-parallel replicas
//   data_type          fp16       of weights, activations and gradients
//   optimizer          adam       adam or sgd
//   learned_positions  true       a trained vector for each position
//   tie_embeddings     true       the head uses the word embedding's weights, which count once
//   biases             true       the products of attention and MLP have biases
//
// Bytes a parameter, after Rajbhandari et al., "ZeRO", arXiv:1910.02054, section 3.1. A gradient is
// of the data type. Below 32 bits Adam keeps the weight, momentum and variance in fp32 (12 bytes)
// and SGD the weight (4 bytes); from 32 bits on the weight is its own master copy, so that Adam
// keeps two numbers of the data type and SGD, here without momentum, nothing.

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/core/registry.hpp"
#include "tessera/workload/workload.hpp"
#include "transformer_layers.hpp"

namespace tessera::workload {
namespace {

// What one sample may cost, so that sums over layers and bytes of optimizer state fit 64 bits.
constexpr double most_flops_per_sample = 0x1p62;

Bytes optimizer_bytes(const std::string& optimizer, DataType type) {
  const Bytes element = element_size(type);
  const bool own_master = element >= element_size(DataType::fp32);
  const Bytes master = own_master ? Bytes(0) : element_size(DataType::fp32);
  const Bytes moment = own_master ? element : element_size(DataType::fp32);
  return optimizer == "adam" ? master + moment * 2 : master;
}

// An upper bound, in floating point because it may be far beyond 64 bits.
double flops_bound(const TransformerShape& shape, std::uint64_t layers) {
  const auto h = static_cast<double>(shape.hidden);
  const auto a = static_cast<double>(shape.heads);
  const auto s = static_cast<double>(shape.sequence);
  const auto v = static_cast<double>(shape.vocabulary);
  const auto f = static_cast<double>(shape.ffn);
  const double products =
      static_cast<double>(layers) * (8 * h * h + 4 * h * f + 4 * s * h) * s + 2 * s * h * v;
  // No vector operator has more than 32 FLOPs an element, forward and backward.
  const double vectors = 32 * s * (static_cast<double>(layers + 1) * (5 * h + f + a * s) + v);
  return 3 * products + vectors;
}

std::optional<Workload> read_transformer(config::Section& section) {
  const auto count = [&section](const char* key, std::int64_t most) {
    return static_cast<std::uint64_t>(
        section.get<std::int64_t>(key, config::between<std::int64_t>(1, most)));
  };
  TransformerShape shape;
  const std::uint64_t layers = count("layers", 1 << 14);
  shape.hidden = count("hidden", 1 << 20);
  shape.heads = count("heads", 1 << 20);
  shape.sequence = count("sequence", 1 << 24);
  shape.vocabulary = count("vocabulary", 1 << 28);
  shape.ffn = static_cast<std::uint64_t>(
      section.get_or<std::int64_t>("ffn", 4 * static_cast<std::int64_t>(shape.hidden),
                                   config::between<std::int64_t>(1, 1 << 24)));
  const std::uint64_t batch = count("batch", 1LL << 32);
  const auto data_type =
      data_type_from(section.get_name("data_type", data_type_names(), to_string(DataType::fp16)));
  const std::string optimizer = section.get_name("optimizer", {"adam", "sgd"}, "adam");
  shape.learned_positions = section.get_or("learned_positions", true);
  shape.tie_embeddings = section.get_or("tie_embeddings", true);
  shape.biases = section.get_or("biases", true);

  const bool complete = layers > 0 && shape.hidden > 0 && shape.heads > 0 && shape.sequence > 0 &&
                        shape.vocabulary > 0 && batch > 0 && data_type.has_value();
  if (!complete) {
    return std::nullopt;  // the section holds the complaint
  }
  shape.data_type = *data_type;
  if (shape.hidden % shape.heads != 0) {
    section.error("heads", "hidden (" + std::to_string(shape.hidden) + ") is not a multiple of " +
                               std::to_string(shape.heads) + " heads");
    return std::nullopt;
  }
  if (flops_bound(shape, layers) > most_flops_per_sample) {
    section.error("layers", "the model is too large: one sample takes more than 2^62 FLOP");
    return std::nullopt;
  }

  Workload workload;
  workload.data_type = shape.data_type;
  workload.sequence_length = shape.sequence;
  workload.samples = batch;
  workload.gradient_bytes_per_parameter = element_size(shape.data_type);
  workload.optimizer_bytes_per_parameter = optimizer_bytes(optimizer, shape.data_type);
  workload.layers.reserve(layers + 2);
  workload.layers.push_back(embedding_layer(shape));
  for (std::uint64_t i = 0; i < layers; ++i) {
    workload.layers.push_back(decoder_layer(shape, i));
  }
  workload.layers.push_back(head_layer(shape));
  return workload;
}

const Registration registration(
    workloads(),
    {"transformer",
     "training of a decoder-only language model (GPT, Megatron-LM)",
     {{"layers", "", "", "decoder layers"},
      {"hidden", "", "", "width of the residual stream, a multiple of heads"},
      {"heads", "", "", "attention heads"},
      {"sequence", "", "", "tokens a sample"},
      {"vocabulary", "", "", "rows of the word embedding"},
      {"ffn", "", "4 * hidden", "width inside the MLP"},
      {"batch", "", "", "samples of one step over all replicas"},
      {"data_type", "", "fp16", "of weights, activations and gradients"},
      {"optimizer", "", "adam", "adam or sgd"},
      {"learned_positions", "", "true", "a trained vector for each position"},
      {"tie_embeddings", "", "true", "the head uses the word embedding's weights"},
      {"biases", "", "true", "the products of attention and MLP have biases"}}},
    read_transformer);

}  // namespace
}  // namespace tessera::workload
