// The `transformer` workload: a language model of decoders, encoders or both. What its layers hold
// is in transformer_layers.hpp, the keys all workloads have in training.hpp.
//
//   key                      default        meaning
//   architecture             decoder        decoder, encoder or encoder-decoder
//   layers                                  of the decoder; of the encoder when it is alone
//   encoder_layers           layers         encoder-decoder only
//   hidden                                  width of the residual stream
//   heads                                   attention heads; without head_width a divisor of hidden
//   kv_heads                 heads          heads of keys and values, a divisor of heads
//                                           (grouped queries, Ainslie et al., arXiv:2305.13245)
//   head_width               hidden/heads   elements of a head's query
//   sequence                                tokens a sample
//   encoder_sequence         sequence       encoder-decoder only
//   vocabulary                              rows of the word embedding
//   token_types              0              rows of a second embedding (segments), 0: none
//   positions                learned        learned (a vector each), rotary or none
//   normalisation            layer_norm     layer_norm or rms_norm
//   normalise                before         before each part, with a last one in the head, or after
//                                           it, with one after the embedding (as BERT)
//   attention                plain          plain, or flash
//   causal                   false          flash attention skips the masked half of decoders
//   mlp                      gelu           gelu, relu or swiglu
//   ffn                      4 hidden       width inside the MLP
//   experts                                 mixture of experts, see read_experts
//   head                     language_model language_model, bert, pooler or none; of an encoder
//                                           alone none
//   tie_embeddings           true           the head uses the word embedding's weights
//   biases                   true           the products of attention and MLP have biases
//   dropout                  true           masks are computed and kept; in inference there is none

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "tessera/core/registry.hpp"
#include "tessera/workload/workload.hpp"
#include "training.hpp"
#include "transformer_layers.hpp"

namespace tessera::workload {
namespace {

double real(std::uint64_t count) {
  return static_cast<double>(count);
}

// An upper bound on the FLOPs of a sample, in floating point because it may be far beyond 64 bits;
// also at least 32 for each parameter, so that bytes of optimizer state fit as well.
double flops_bound(const TransformerShape& shape) {
  const bool crosses = shape.architecture == Architecture::encoder_decoder;
  const double s = real(std::max(shape.sequence, shape.encoder_sequence));
  const double h = real(shape.hidden);
  const double layers = real(shape.layers + shape.encoder_layers);
  const double attentions = layers + (crosses ? real(shape.layers) : 0);
  const double q = real(shape.heads) * real(shape.head_width);
  const double kv = real(shape.kv_heads) * real(shape.head_width);
  const double matrices = shape.mlp == Activation::swiglu ? 3 : 2;
  double mlp_tokens = s;  // times layer
  double width = real(shape.ffn);
  double stored_mlps = 1;
  if (shape.experts) {
    const ExpertShape& e = *shape.experts;
    mlp_tokens =
        std::max(s, real(expert_capacity(e, static_cast<std::uint64_t>(s))) * real(e.count)) +
        s * real(e.shared);
    width = std::max(width, real(e.ffn));
    stored_mlps = real(e.count + e.shared);
  }
  const double products = attentions * s * (4 * h * (q + kv) + 4 * s * q) +
                          layers * mlp_tokens * 2 * matrices * h * width +
                          2 * s * h * (real(shape.vocabulary) + h);
  // No vector operator has more than 32 FLOPs an element, forward and backward.
  const double vectors =
      32 * ((attentions + 1) * s * (8 * h + q + kv + real(shape.heads) * s) +
            layers * mlp_tokens * (h + width + stored_mlps) + s * real(shape.vocabulary));
  const double weights = layers * stored_mlps * matrices * h * width;
  return 3.5 * products + vectors + 32 * weights;
}

// experts.KEY    default  meaning
// count                   experts of a layer
// top_k                   experts that each token goes to, at most `count`
// every          1        one layer in so many has experts, the last of them
// capacity_factor 1       room for copies of tokens: 1 is that of an even spread
// shared         0        further experts that work on every token
// ffn            ffn      width inside one expert
std::optional<ExpertShape> read_experts(config::Section section, std::uint64_t ffn) {
  ExpertShape experts;
  experts.count = read_count(section, "count", 1 << 16);
  experts.top_k = read_count(section, "top_k", 1 << 16);
  experts.every = read_count_or(section, "every", 1, 1 << 14);
  experts.capacity_millionths = static_cast<std::uint64_t>(
      std::llround(1e6 * section.get_or<double>("capacity_factor", 1, config::between(1e-3, 1e3))));
  experts.shared = static_cast<std::uint64_t>(
      section.get_or<std::int64_t>("shared", 0, config::between<std::int64_t>(0, 1 << 10)));
  experts.ffn = read_count_or(section, "ffn", ffn, 1 << 24);
  if (experts.count == 0 || experts.top_k == 0) {
    return std::nullopt;
  }
  if (experts.top_k > experts.count) {
    section.error("top_k", "a token cannot go to " + std::to_string(experts.top_k) + " of " +
                               std::to_string(experts.count) + " experts");
    return std::nullopt;
  }
  return experts;
}

void read_names(config::Section& section, TransformerShape& shape) {
  const std::string positions =
      section.get_name("positions", {"learned", "rotary", "none"}, "learned");
  shape.positions = positions == "rotary" ? Positions::rotary
                    : positions == "none" ? Positions::none
                                          : Positions::learned;
  const std::string norm =
      section.get_name("normalisation", {"layer_norm", "rms_norm"}, "layer_norm");
  shape.norm = norm == "rms_norm" ? Norm::rms : Norm::layer;
  shape.norm_after = section.get_name("normalise", {"before", "after"}, "before") == "after";
  const std::string attention = section.get_name("attention", {"plain", "flash"}, "plain");
  shape.attention = attention == "flash" ? AttentionKind::flash : AttentionKind::plain;
  const std::string mlp = section.get_name("mlp", {"gelu", "relu", "swiglu"}, "gelu");
  shape.mlp = mlp == "swiglu" ? Activation::swiglu
              : mlp == "relu" ? Activation::relu
                              : Activation::gelu;
  const bool encoder = shape.architecture == Architecture::encoder;
  const std::string head = section.get_name("head", {"language_model", "bert", "pooler", "none"},
                                            encoder ? "none" : "language_model");
  shape.head = head == "language_model" ? Head::language_model
               : head == "bert"         ? Head::bert
               : head == "pooler"       ? Head::pooler
                                        : Head::none;
  shape.causal = section.get_or("causal", false);
  if (shape.causal && encoder) {
    section.error("causal", "an encoder has no causal mask");
  }
  shape.tie_embeddings = section.get_or("tie_embeddings", true);
  shape.biases = section.get_or("biases", true);
  shape.dropout = section.get_or("dropout", true);
}

void read_architecture(config::Section& section, TransformerShape& shape) {
  const std::string name =
      section.get_name("architecture", {"decoder", "encoder", "encoder-decoder"}, "decoder");
  shape.layers = read_count(section, "layers", 1 << 14);
  shape.sequence = read_count(section, "sequence", 1 << 24);
  if (name == "encoder") {
    shape.architecture = Architecture::encoder;
  } else if (name == "encoder-decoder") {
    shape.architecture = Architecture::encoder_decoder;
    shape.encoder_layers = read_count_or(section, "encoder_layers", shape.layers, 1 << 14);
    shape.encoder_sequence = read_count_or(section, "encoder_sequence", shape.sequence, 1 << 24);
  }
}

// Whether heads, and their keys and values, come out even.
bool read_heads(config::Section& section, TransformerShape& shape) {
  const std::uint64_t hidden = shape.hidden;
  shape.heads = read_count(section, "heads", 1 << 20);
  const std::uint64_t heads = shape.heads;
  shape.kv_heads = read_count_or(section, "kv_heads", heads, 1 << 20);
  const bool given = section.has("head_width");
  shape.head_width = read_count_or(section, "head_width", heads > 0 ? hidden / heads : 0, 1 << 16);
  if (hidden == 0 || heads == 0) {
    return false;  // the section holds the complaint
  }
  if (!given && hidden % heads != 0) {
    section.error("heads", "hidden (" + std::to_string(hidden) + ") is not a multiple of " +
                               std::to_string(heads) + " heads");
    return false;
  }
  if (heads % shape.kv_heads != 0) {
    section.error("kv_heads", "heads (" + std::to_string(heads) + ") is not a multiple of " +
                                  std::to_string(shape.kv_heads) + " heads of keys and values");
    return false;
  }
  return true;
}

// All but what training and inference differ in; nothing after a complaint.
std::optional<TransformerShape> read_shape(config::Section& section) {
  TransformerShape shape;
  read_architecture(section, shape);
  shape.hidden = read_count(section, "hidden", 1 << 20);
  const bool even = read_heads(section, shape);
  shape.vocabulary = read_count(section, "vocabulary", 1 << 28);
  shape.token_types = static_cast<std::uint64_t>(
      section.get_or<std::int64_t>("token_types", 0, config::between<std::int64_t>(0, 1 << 20)));
  shape.ffn = read_count_or(section, "ffn", 4 * shape.hidden, 1 << 24);
  read_names(section, shape);
  const bool has_experts = section.has("experts");
  if (has_experts) {
    shape.experts = read_experts(section.section("experts"), shape.ffn);
  }
  const bool complete = shape.layers > 0 && shape.sequence > 0 && shape.vocabulary > 0 && even &&
                        (shape.experts || !has_experts);
  return complete ? std::optional(shape) : std::nullopt;
}

bool refuse_too_large(config::Section& section, const TransformerShape& shape) {
  if (flops_bound(shape) > most_flops_per_sample) {
    section.error("layers", "the model is too large: one sample takes more than 2^62 FLOP");
    return true;
  }
  return false;
}

std::optional<Workload> read_transformer(config::Section& section) {
  std::optional<TransformerShape> shape = read_shape(section);
  std::optional<Workload> workload = read_training(section);
  if (!shape || !workload) {
    return std::nullopt;  // the section holds the complaint
  }
  shape->data_type = workload->data_type;
  shape->dropout = shape->dropout && workload->training;
  shape->loss = workload->training;
  if (refuse_too_large(section, *shape)) {
    return std::nullopt;
  }
  workload->sequence_length = shape->sequence;
  workload->layers = transformer_layers(*shape);
  if (!workload->training) {
    drop_training(*workload);
  }
  return workload;
}

std::vector<ParameterInfo> parameters() {
  std::vector<ParameterInfo> list{
      {"architecture", "", "decoder", "decoder, encoder or encoder-decoder"},
      {"layers", "", "", "of the decoder, or of an encoder alone"},
      {"encoder_layers", "", "layers", "encoder-decoder only"},
      {"hidden", "", "", "width of the residual stream, without head_width a multiple of heads"},
      {"heads", "", "", "attention heads"},
      {"kv_heads", "", "heads", "heads of keys and values, a divisor of heads"},
      {"head_width", "", "hidden / heads", "elements of a head's query"},
      {"sequence", "", "", "tokens a sample"},
      {"encoder_sequence", "", "sequence", "encoder-decoder only"},
      {"vocabulary", "", "", "rows of the word embedding"},
      {"token_types", "", "0", "rows of a second embedding for segments; 0: none"},
      {"positions", "", "learned", "learned, rotary or none"},
      {"normalisation", "", "layer_norm", "layer_norm or rms_norm"},
      {"normalise", "", "before", "before or after each part"},
      {"attention", "", "plain", "plain, or flash: attention weights are never in memory"},
      {"causal", "", "false", "flash attention of decoders skips the masked half"},
      {"mlp", "", "gelu", "gelu, relu or swiglu"},
      {"ffn", "", "4 * hidden", "width inside the MLP"},
      {"experts.count", "", "", "experts of a layer; without experts there is one MLP"},
      {"experts.top_k", "", "", "experts that each token goes to"},
      {"experts.every", "", "1", "one layer in so many has experts"},
      {"experts.capacity_factor", "", "1", "room for tokens; 1 is that of an even spread"},
      {"experts.shared", "", "0", "further experts that work on every token"},
      {"experts.ffn", "", "ffn", "width inside one expert"},
      {"head", "", "language_model",
       "language_model, bert, pooler or none (usual for an encoder alone)"},
      {"tie_embeddings", "", "true", "the head uses the word embedding's weights"},
      {"biases", "", "true", "the products of attention and MLP have biases"},
      {"dropout", "", "true", "dropout in training"}};
  for (ParameterInfo& info : training_parameters()) {
    list.push_back(std::move(info));
  }
  return list;
}

const Registration registration(
    workloads(),
    {"transformer", "a language model of decoders, encoders or both (GPT, Llama, BERT, T5)",
     parameters()},
    read_transformer);

}  // namespace

std::optional<TransformerShape> read_transformer_shape(config::Section& section) {
  std::optional<TransformerShape> shape = read_shape(section);
  const auto type =
      data_type_from(section.get_name("data_type", data_type_names(), to_string(DataType::fp16)));
  for (const ParameterInfo& info : training_parameters()) {
    section.raw(info.name);
  }
  if (!shape || !type || refuse_too_large(section, *shape)) {
    return std::nullopt;
  }
  shape->data_type = *type;
  shape->dropout = false;
  shape->loss = false;
  return shape;
}

}  // namespace tessera::workload
