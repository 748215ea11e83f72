#include "transformer/mixers.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "tessera/config/key.hpp"

namespace tessera::workload {
namespace {

using config::between;
using config::DerivedKey;
using config::Key;
using config::RequiredKey;
using Count = std::uint64_t;

// Made when asked for, as kinds of work register before this file's own objects are there.
struct MixerKeys {
  config::ListKey<std::string> pattern{
      "pattern",
      {},
      "kinds of the layers of a decoder, repeated over all of them: attention, local or ssm, "
      "each followed by an MLP or experts; attention-alone, local-alone, ssm-alone or mlp-alone; "
      "empty: attention"};
  Key<Count> window{"window", 0, "tokens that a token of a local layer sees, including itself",
                    between<Count>(0, 1 << 24)};
  RequiredKey<Count> kv_rank{"latent.kv_rank",
                             "latent attention: elements of the vector from which keys and "
                             "values of all heads are computed",
                             between<Count>(1, 1 << 20)};
  Key<Count> q_rank{"latent.q_rank", 0,
                    "elements of the vector from which queries are computed; 0: from the "
                    "residual stream",
                    between<Count>(0, 1 << 20)};
  RequiredKey<Count> nope_width{"latent.nope_width",
                                "elements of a head's query and key without positional encoding",
                                between<Count>(1, 1 << 16)};
  Key<Count> rope_width{"latent.rope_width", 0,
                        "additional elements with positional encoding; those of keys are one "
                        "vector for all heads",
                        between<Count>(0, 1 << 16)};
  DerivedKey<Count> value_width{"latent.value_width", "nope_width", "elements of a head's value",
                                between<Count>(1, 1 << 16)};
  RequiredKey<Count> state{"ssm.state",
                           "state-space layers (Mamba-2): elements of the state of each channel",
                           between<Count>(1, 1 << 16)};
  DerivedKey<Count> heads{"ssm.heads", "2 * hidden / head_width", "heads of channels",
                          between<Count>(1, 1 << 16)};
  Key<Count> head_width{"ssm.head_width", 64, "channels of a head", between<Count>(1, 1 << 16)};
  Key<Count> groups{"ssm.groups", SsmShape{}.groups,
                    "groups of heads that share the inputs and outputs of their states, a "
                    "divisor of heads",
                    between<Count>(1, 1 << 16)};
  Key<Count> kernel{"ssm.kernel", SsmShape{}.kernel,
                    "kernel size of the preceding convolution, in tokens",
                    between<Count>(1, 1 << 10)};
  Key<Count> chunk{"ssm.chunk", SsmShape{}.chunk, "tokens that are processed as one product",
                   between<Count>(1, 1 << 20)};
};

const MixerKeys& mixer_keys() {
  static const MixerKeys made;
  return made;
}

using Names = std::vector<std::pair<std::string, LayerKind>>;

const Names& layer_kinds() {
  static const Names names{
      {"attention", {Mixer::attention, true}}, {"attention-alone", {Mixer::attention, false}},
      {"local", {Mixer::local, true}},         {"local-alone", {Mixer::local, false}},
      {"mlp-alone", {Mixer::none, true}},      {"ssm", {Mixer::ssm, true}},
      {"ssm-alone", {Mixer::ssm, false}}};
  return names;
}

bool read_pattern(config::Section& section, TransformerShape& shape) {
  for (const std::string& name : mixer_keys().pattern.read(section)) {
    const auto found = std::find_if(layer_kinds().begin(), layer_kinds().end(),
                                    [&](const auto& kind) { return kind.first == name; });
    if (found == layer_kinds().end()) {
      std::string known;
      for (const auto& kind : layer_kinds()) {
        known += (known.empty() ? "" : ", ") + kind.first;
      }
      section.error("pattern", "'" + name + "' is no layer; expected one of " + known);
      return false;
    }
    shape.pattern.push_back(found->second);
  }
  return true;
}

bool mixes_by(const TransformerShape& shape, Mixer mixer) {
  return std::any_of(shape.pattern.begin(), shape.pattern.end(),
                     [&](const LayerKind& kind) { return kind.mixer == mixer; });
}

bool read_latent(config::Section section, TransformerShape& shape) {
  LatentShape latent;
  latent.q_rank = mixer_keys().q_rank.read(section);
  latent.kv_rank = mixer_keys().kv_rank.read(section);
  latent.nope_width = mixer_keys().nope_width.read(section);
  latent.rope_width = mixer_keys().rope_width.read(section);
  latent.value_width = mixer_keys().value_width.read(section, latent.nope_width);
  shape.latent = latent;
  return latent.kv_rank > 0 && latent.nope_width > 0;
}

bool read_ssm(config::Section section, TransformerShape& shape) {
  SsmShape ssm;
  ssm.state = mixer_keys().state.read(section);
  ssm.head_width = mixer_keys().head_width.read(section);
  const bool given = section.has("heads");
  const std::uint64_t inner = 2 * shape.hidden;
  ssm.heads = mixer_keys().heads.read(section, ssm.head_width > 0 ? inner / ssm.head_width : 0);
  ssm.groups = mixer_keys().groups.read(section);
  ssm.kernel = mixer_keys().kernel.read(section);
  ssm.chunk = mixer_keys().chunk.read(section);
  shape.ssm = ssm;
  if (ssm.state == 0 || ssm.head_width == 0 || ssm.groups == 0 || shape.hidden == 0) {
    return false;  // the section holds the complaint
  }
  if (!given && (ssm.heads == 0 || inner % ssm.head_width != 0)) {
    section.error("head_width", "2 * hidden (" + std::to_string(inner) + ") is not a multiple of " +
                                    std::to_string(ssm.head_width) + " channels; give 'heads'");
    return false;
  }
  if (ssm.heads == 0 || ssm.heads % ssm.groups != 0) {
    section.error("groups", "heads (" + std::to_string(ssm.heads) + ") is not a multiple of " +
                                std::to_string(ssm.groups) + " groups");
    return false;
  }
  return true;
}

// A complaint at one of the keys, which only decoders have.
bool refuse_all(config::Section& section) {
  for (const char* key : {"pattern", "window", "latent", "ssm"}) {
    if (section.has(key)) {
      section.raw(key);
      section.error(key, "is for 'architecture: decoder' alone");
      return false;
    }
  }
  return true;
}

}  // namespace

bool has_attention(const TransformerShape& shape) {
  return shape.pattern.empty() || mixes_by(shape, Mixer::attention) ||
         mixes_by(shape, Mixer::local);
}

bool read_mixers(config::Section& section, TransformerShape& shape) {
  if (shape.architecture != Architecture::decoder) {
    return refuse_all(section);
  }
  bool good = read_pattern(section, shape);
  shape.window = mixer_keys().window.read(section);
  if (section.has("latent")) {
    good = read_latent(section.section("latent"), shape) && good;
  }
  if (section.has("ssm")) {
    good = read_ssm(section.section("ssm"), shape) && good;
  }
  return good;
}

bool check_mixers(config::Section& section, const TransformerShape& shape) {
  const bool local = mixes_by(shape, Mixer::local);
  const auto refuse = [&](const char* key, const std::string& why) {
    section.error(key, why);
    return false;
  };
  if (local && shape.window == 0) {
    return refuse("pattern", "local layers need 'window'");
  }
  if (!local && shape.window > 0) {
    return refuse("window", "is for layers that are 'local' in 'pattern'");
  }
  if (local && (shape.attention != AttentionKind::flash || !shape.causal)) {
    return refuse("window",
                  "needs 'attention: flash' and 'causal: true', which skip what a mask hides");
  }
  if (local && shape.latent) {
    return refuse("latent", "local layers have no latent attention");
  }
  if (mixes_by(shape, Mixer::ssm) && !shape.ssm) {
    return refuse("pattern", "layers that are 'ssm' need the section 'ssm'");
  }
  if (!mixes_by(shape, Mixer::ssm) && shape.ssm) {
    return refuse("ssm", "no layer of 'pattern' is 'ssm'");
  }
  if (shape.latent && !has_attention(shape)) {
    return refuse("latent", "no layer of 'pattern' has attention");
  }
  return true;
}

std::vector<ParameterInfo> mixer_parameters() {
  const MixerKeys& all = mixer_keys();
  return {all.pattern,    all.window,      all.kv_rank, all.q_rank, all.nope_width,
          all.rope_width, all.value_width, all.state,   all.heads,  all.head_width,
          all.groups,     all.kernel,      all.chunk};
}

}  // namespace tessera::workload
