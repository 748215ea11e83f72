// The `transformer` workload: a language model of decoders, encoders or both. What its layers hold
// is in transformer/layers.hpp, the keys all workloads have in training.hpp.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/workload/workload.hpp"
#include "training.hpp"
#include "transformer/expert_keys.hpp"
#include "transformer/layers.hpp"
#include "transformer/mixers.hpp"
#include "transformer/product_keys.hpp"

namespace tessera::workload {
namespace {

double real(std::uint64_t count) {
  return static_cast<double>(count);
}

struct Bound {
  double products = 0;  // forward
  double vectors = 0;   // forward and backward
};

// Of latent attention beyond what plain attention of its keys takes, for one layer.
Bound latent_bound(const LatentShape& latent, double s, double h, double heads) {
  const double ranks = real(latent.q_rank + latent.kv_rank + latent.rope_width);
  const double values = heads * real(latent.value_width);
  const double wide = heads * real(latent.key_width() + latent.nope_width) + values;
  return {s * (2 * ranks * (h + wide) + (4 * s + 2 * h) * values), 32 * s * (ranks + 2 * wide)};
}

// Of a state-space layer; tokens may be rounded up to whole chunks.
Bound ssm_bound(const SsmShape& ssm, double s, double h) {
  const double inner = real(ssm.inner());
  const double state = real(ssm.state);
  const double shared = real(ssm.groups) * state;
  const double tokens = s + real(ssm.chunk);
  const double chunk = std::min(s, real(ssm.chunk));
  return {2 * s * h * (3 * inner + 2 * shared + real(ssm.heads)) +
              tokens * (2 * chunk * (shared + inner) + 4 * state * inner),
          s * (real(ssm.convolved()) * (6 * real(ssm.kernel) + 32) + 32 * real(ssm.heads) +
               64 * inner) +
              6 * tokens * state * inner};
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
    if (e.room != ExpertRoom::padded) {  // all may go to one part of the experts
      mlp_tokens = std::max(mlp_tokens, s * real(e.count + e.shared));
    }
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
  Bound more;
  if (shape.latent) {
    more = latent_bound(*shape.latent, s, h, real(shape.heads));
  }
  if (shape.ssm) {
    const Bound ssm = ssm_bound(*shape.ssm, s, h);
    more = {more.products + ssm.products, more.vectors + ssm.vectors};
  }
  return 3.5 * (products + layers * more.products) + vectors + layers * more.vectors + 32 * weights;
}

using Count = std::uint64_t;
using config::between;
using config::ChoiceKey;
using config::DerivedKey;
using config::Key;
using config::RequiredKey;

const ChoiceKey<Positions> positions{
    "positions",
    {{"learned", Positions::learned}, {"rotary", Positions::rotary}, {"none", Positions::none}},
    TransformerShape{}.positions,
    "learned (a vector for each position), rotary or none"};
const ChoiceKey<Norm> normalisation{"normalisation",
                                    {{"layer_norm", Norm::layer}, {"rms_norm", Norm::rms}},
                                    TransformerShape{}.norm,
                                    "layer_norm or rms_norm"};
const ChoiceKey<bool> norm_after{
    "normalise",
    {{"before", false}, {"after", true}},
    "before",
    "before: a norm before each sublayer and one in the head; after: a norm after each sublayer "
    "and one after the embedding (BERT)"};
const ChoiceKey<AttentionKind> attention{"attention",
                                         {{"plain", AttentionKind::plain},
                                          {"eager", AttentionKind::eager},
                                          {"flash", AttentionKind::flash}},
                                         TransformerShape{}.attention,
                                         "plain: scale, mask and softmax in one kernel; eager: a "
                                         "kernel for each, in fp32; flash: attention weights are "
                                         "never in memory"};
const ChoiceKey<Activation> mlp{
    "mlp",
    {{"gelu", Activation::gelu}, {"relu", Activation::relu}, {"swiglu", Activation::swiglu}},
    TransformerShape{}.mlp,
    "gelu, relu or swiglu"};
const ChoiceKey<Head> head = ChoiceKey<Head>("head",
                                             {{"language_model", Head::language_model},
                                              {"bert", Head::bert},
                                              {"pooler", Head::pooler},
                                              {"none", Head::none}},
                                             "language_model; none for an encoder alone",
                                             "language_model, bert, pooler or none")
                                 .derived();
const Key<bool> causal{"causal", false, "flash attention of decoders skips the masked half"};
const Key<bool> tie_embeddings{"tie_embeddings", TransformerShape{}.tie_embeddings,
                               "the head uses the word embedding's weights"};
const Key<bool> biases{"biases", TransformerShape{}.biases,
                       "the products of attention and MLP have biases"};
const Key<bool> query_key_norms{
    "query_key_norms", false,
    "self-attention normalises each head's queries and keys, before positions (Qwen 3, Gemma 3)"};
const ChoiceKey<Loss> loss{
    "loss",
    {{"plain", Loss::plain}, {"fused", Loss::fused}, {"eager", Loss::eager}},
    TransformerShape{}.loss_kernels,
    "plain: one operation at a time over logits in fp32; fused: one kernel each forward and "
    "backward; eager: in fp32 and nothing in place, as PyTorch's cross_entropy"};
const Key<Count> loss_metrics{
    "loss_metrics", 0,
    "additional losses over the same logits, without gradients, in fp32 as PyTorch's "
    "cross_entropy: metrics that a framework logs for each batch",
    between<Count>(0, 4)};
const Key<bool> join_gradients{
    "join_gradients", false,
    "gradients of queries, keys and values are computed separately, then joined for the product "
    "that computed all three (PyTorch's split and chunk)"};
const ChoiceKey<bool> bias_gradients{
    "bias_gradients",
    {{"fused", false}, {"apart", true}},
    "fused",
    "in training, gradients of the biases of self-attention and of MLPs without experts: fused: "
    "computed with those of weights; apart: by separate kernels that read the gradients of "
    "outputs again (PyTorch's sums)"};
const ChoiceKey<LayoutCopies> layout_copies{
    "layout_copies",
    {{"none", LayoutCopies::none},
     {"context", LayoutCopies::context},
     {"layers", LayoutCopies::layers}},
    TransformerShape{}.layout_copies,
    "what is copied into another layout; context: the output of plain or eager attention, from "
    "heads to rows of tokens (Megatron-LM); layers: also the input and output of each layer, "
    "between samples first and tokens first, and the incoming gradient (profiles of single "
    "layers)"};
const Key<bool> dropout{"dropout", TransformerShape{}.dropout,
                        "in training, dropout masks are computed and kept"};

void read_query_key_norms(config::Section& section, TransformerShape& shape) {
  shape.query_key_norms = query_key_norms.read(section);
  if (shape.query_key_norms && shape.latent) {
    section.error(query_key_norms.key(), "latent attention has norms of its own");
  } else if (shape.query_key_norms && !has_attention(shape)) {
    config::note_without_effect(section, query_key_norms.key(), "layers without attention");
    shape.query_key_norms = false;
  }
}

void read_names(config::Section& section, TransformerShape& shape) {
  shape.positions = positions.read(section);
  shape.norm = normalisation.read(section);
  shape.norm_after = norm_after.read(section);
  shape.attention = attention.read(section);
  shape.mlp = mlp.read(section);
  const bool encoder = shape.architecture == Architecture::encoder;
  shape.head = head.read(section, encoder ? "none" : "language_model");
  shape.causal = causal.read(section);
  if (shape.causal && encoder) {
    section.error("causal", "an encoder has no causal mask");
  } else if (shape.causal && shape.attention != AttentionKind::flash) {
    config::note_without_effect(section, "causal", "any attention but flash");
  }
  shape.tie_embeddings = tie_embeddings.read(section);
  shape.biases = biases.read(section);
  read_query_key_norms(section, shape);
  shape.dropout = dropout.read(section);
  shape.loss_kernels = loss.read(section);
  shape.loss_metrics = loss_metrics.read(section);
  shape.join_gradients = join_gradients.read(section);
  shape.sums_bias_gradients = bias_gradients.read(section);
  shape.layout_copies = layout_copies.read(section);
}

const ChoiceKey<Architecture> architecture{"architecture",
                                           {{"decoder", Architecture::decoder},
                                            {"encoder", Architecture::encoder},
                                            {"encoder-decoder", Architecture::encoder_decoder}},
                                           TransformerShape{}.architecture,
                                           "decoder, encoder or encoder-decoder"};
const RequiredKey<Count> layers{"layers", "layers of the decoder, or of an encoder alone",
                                between<Count>(1, 1 << 14)};
const RequiredKey<Count> sequence{"sequence", "tokens of a sample", between<Count>(1, 1 << 24)};
const DerivedKey<Count> encoder_layers{"encoder_layers", "layers", "encoder-decoder only",
                                       between<Count>(1, 1 << 14)};
const DerivedKey<Count> encoder_sequence{"encoder_sequence", "sequence", "encoder-decoder only",
                                         between<Count>(1, 1 << 24)};

void read_architecture(config::Section& section, TransformerShape& shape) {
  shape.architecture = architecture.read(section);
  shape.layers = layers.read(section);
  shape.sequence = sequence.read(section);
  if (shape.architecture == Architecture::encoder_decoder) {
    shape.encoder_layers = encoder_layers.read(section, shape.layers);
    shape.encoder_sequence = encoder_sequence.read(section, shape.sequence);
  }
}

const config::OptionalKey<Count> heads_key{"heads", "required if layers have attention",
                                           "attention heads", between<Count>(1, 1 << 20)};
// Grouped queries: Ainslie et al., arXiv:2305.13245.
const DerivedKey<Count> kv_heads{"kv_heads", "heads",
                                 "heads of keys and values, a divisor of heads",
                                 between<Count>(1, 1 << 20)};
const DerivedKey<Count> head_width{"head_width", "hidden / heads", "elements of a head's query",
                                   between<Count>(1, 1 << 16)};

// A complaint at each of the keys that is given.
bool refuse_keys(config::Section& section, const std::vector<const char*>& keys,
                 const std::string& why) {
  bool good = true;
  for (const char* key : keys) {
    if (section.has(key)) {
      section.raw(key);
      section.error(key, why);
      good = false;
    }
  }
  return good;
}

// Whether heads, and their keys and values, come out even.
bool read_heads(config::Section& section, TransformerShape& shape) {
  const std::uint64_t hidden = shape.hidden;
  if (!has_attention(shape)) {
    shape.heads = shape.kv_heads = shape.head_width = 1;
    return refuse_keys(section, {"heads", "kv_heads", "head_width"},
                       "no layer of 'pattern' has attention") &&
           hidden > 0;
  }
  if (!section.has("heads")) {
    section.error("heads", "missing: layers have attention");
    section.raw("kv_heads");
    section.raw("head_width");
    return false;
  }
  shape.heads = heads_key.read(section).value_or(0);
  if (shape.latent) {
    shape.kv_heads = shape.heads;
    shape.head_width = shape.latent->key_width();
    return refuse_keys(section, {"kv_heads", "head_width"}, "follows from 'latent'") &&
           hidden > 0 && shape.heads > 0;
  }
  const std::uint64_t heads = shape.heads;
  shape.kv_heads = kv_heads.read(section, heads);
  const bool given = section.has("head_width");
  shape.head_width = head_width.read(section, heads > 0 ? hidden / heads : 0);
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

const RequiredKey<Count> hidden_key{
    "hidden", "width of the residual stream; without head_width, a multiple of heads",
    between<Count>(1, 1 << 20)};
const RequiredKey<Count> vocabulary{"vocabulary", "rows of the word embedding",
                                    between<Count>(1, 1 << 28)};
const Key<Count> token_types{"token_types", 0, "rows of a second embedding for segments; 0: none",
                             between<Count>(0, 1 << 20)};
const DerivedKey<Count> ffn{"ffn", "4 * hidden", "hidden width of the MLP",
                            between<Count>(1, 1 << 24)};

// All but what training and inference differ in; nothing after a complaint.
std::optional<TransformerShape> read_shape(config::Section& section) {
  TransformerShape shape;
  read_architecture(section, shape);
  shape.hidden = hidden_key.read(section);
  const bool mixed = read_mixers(section, shape);
  const bool even = read_heads(section, shape);
  shape.vocabulary = vocabulary.read(section);
  shape.token_types = token_types.read(section);
  shape.ffn = ffn.read(section, 4 * shape.hidden);
  read_names(section, shape);
  const bool has_experts = section.has("experts");
  if (has_experts) {
    shape.experts = read_experts(section.section("experts"), shape.ffn);
  }
  const bool complete = shape.layers > 0 && shape.sequence > 0 && shape.vocabulary > 0 && mixed &&
                        even && (shape.experts || !has_experts) && check_mixers(section, shape);
  return complete ? std::optional(shape) : std::nullopt;
}

bool mixes_by_attention(const TransformerShape& shape) {
  return shape.pattern.empty() || std::ranges::any_of(shape.pattern, [](const LayerKind& kind) {
           return kind.mixer == Mixer::attention || kind.mixer == Mixer::local;
         });
}

bool joins_gradients(config::Section& section, const TransformerShape& shape, bool training) {
  if (!shape.join_gradients) {
    return false;
  }
  const char* why = !training      ? "inference"
                    : shape.latent ? "latent, whose queries, keys and values are separate products"
                    : !mixes_by_attention(shape) ? "layers without attention"
                                                 : nullptr;
  if (why) {
    config::note_without_effect(section, "join_gradients", why);
  }
  return !why;
}

// As far as they are in the file.
void note_unused_kernels(config::Section& section, TransformerShape& shape, bool training) {
  if (shape.sums_bias_gradients && (!training || !shape.biases)) {
    config::note_without_effect(section, "bias_gradients",
                                training ? "biases: false" : "inference");
    shape.sums_bias_gradients = false;
  }
  const char* const why = shape.latent                              ? "latent"
                          : !mixes_by_attention(shape)              ? "layers without attention"
                          : shape.attention == AttentionKind::flash ? "attention: flash"
                                                                    : nullptr;
  if (shape.layout_copies == LayoutCopies::context && why) {
    config::note_without_effect(section, "layout_copies", why);
  }
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
  const NumberFormat products =
      read_products(section, workload ? workload->data_type : DataType::fp16);
  if (!shape || !workload) {
    return std::nullopt;  // the section holds the complaint
  }
  workload->product_type = products.type;
  workload->product_format = products;
  if (!workload->training && shape->loss_kernels != Loss::plain) {
    config::note_without_effect(section, "loss", "inference");
  }
  if (!workload->training && shape->loss_metrics > 0) {
    config::note_without_effect(section, "loss_metrics", "inference");
  }
  shape->join_gradients = joins_gradients(section, *shape, workload->training);
  note_unused_kernels(section, *shape, workload->training);
  shape->data_type = workload->data_type;
  shape->dropout = shape->dropout && workload->training;
  shape->loss = workload->training;
  if (refuse_too_large(section, *shape)) {
    return std::nullopt;
  }
  workload->sequence_length = shape->sequence;
  workload->tokens_a_sample = shape->sequence;
  workload->layers = transformer_layers(*shape);
  if (!workload->training) {
    drop_training(*workload);
  }
  return workload;
}

}  // namespace

std::vector<ParameterInfo> transformer_parameters() {
  std::vector<ParameterInfo> list{
      architecture,  layers,         encoder_layers,   hidden_key,      heads_key,   kv_heads,
      head_width,    sequence,       encoder_sequence, vocabulary,      token_types, positions,
      normalisation, norm_after,     attention,        causal,          mlp,         ffn,
      head,          tie_embeddings, biases,           query_key_norms, dropout,     loss,
      loss_metrics,  join_gradients, bias_gradients,   layout_copies};
  for (std::vector<ParameterInfo> more :
       {product_parameters(), mixer_parameters(), expert_parameters(), training_parameters()}) {
    std::move(more.begin(), more.end(), std::back_inserter(list));
  }
  return list;
}

namespace {

const Registration transformer_registration(
    workloads(),
    {"transformer", "a language model of decoders, encoders or both (GPT, Llama, BERT, T5)",
     transformer_parameters()},
    read_transformer);

// What only plans go by. Of values, as resolved configurations state all of these keys.
void note_keys_of_plans(config::Section& section, const TransformerShape& shape) {
  if (!shape.dropout) {
    config::note_without_effect(section, dropout.key(), "requests");
  }
  if (shape.loss_kernels != Loss::plain) {
    config::note_without_effect(section, loss.key(), "requests");
  }
  if (shape.loss_metrics > 0) {
    config::note_without_effect(section, loss_metrics.key(), "requests");
  }
  if (shape.attention == AttentionKind::flash && !shape.causal) {
    config::note_without_effect(section, attention.key(),
                                "requests and causal: false, where nothing is skipped");
  }
}

}  // namespace

std::optional<TransformerShape> read_transformer_shape(config::Section& section,
                                                       Products products) {
  std::optional<TransformerShape> shape = read_shape(section);
  const DataType type = read_data_type(section);
  std::optional<NumberFormat> narrow;
  if (products == Products::of_own_type) {
    narrow = read_products(section, type);
  } else {
    leave_products(section, "NPU cores, which multiply in the data type");
  }
  note_training_keys(section, "requests");
  if (shape) {
    note_keys_of_plans(section, *shape);
  }
  if (!shape || refuse_too_large(section, *shape)) {
    return std::nullopt;
  }
  shape->data_type = type;
  shape->products = narrow && narrow->type != type ? narrow : std::nullopt;
  shape->dropout = false;
  shape->loss = false;
  shape->join_gradients = joins_gradients(section, *shape, false);
  if (shape->layout_copies != LayoutCopies::none) {
    config::note_without_effect(section, layout_copies.key(), "requests");
    shape->layout_copies = LayoutCopies::none;
  }
  note_unused_kernels(section, *shape, false);
  return shape;
}

}  // namespace tessera::workload
