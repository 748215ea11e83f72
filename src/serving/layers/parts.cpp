#include "layers/parts.hpp"

namespace tessera::serving {

const std::vector<std::string>& part_names() {
  static const std::vector<std::string> plain{
      "norm_in",     "qkv",         "attention",   "out",       "reduce_out", "norm_mid",
      "router",      "up",          "gate",        "down",      "expert_up",  "expert_gate",
      "expert_down", "reduce_down", "hand_on",     "embedding", "last_norm",  "head",
      "softmax",     "latent_down", "latent_norm", "query_up",  "absorb",     "value_up",
      "shared_up",   "shared_gate", "shared_down"};
  static const std::vector<std::string> whole = [] {
    std::vector<std::string> names = plain;
    for (const char* const product : {"qkv", "out", "up", "down"}) {
      names.push_back(std::string(product) + "_shrink");
      names.push_back(std::string(product) + "_expand");
    }
    for (const char* const name :
         {"swap_tokens", "local_attention", "ssm_input", "ssm_convolution", "ssm_scan", "ssm_gate",
          "ssm_output", "rotary", "cache_write", "query_key_norm"}) {
      names.emplace_back(name);
    }
    return names;
  }();
  return whole;
}

Part adapted_part(Part part) {
  switch (part) {
    case qkv_shrink:
    case qkv_expand:
      return qkv;
    case out_shrink:
    case out_expand:
      return out;
    case up_shrink:
    case up_expand:
      return up;
    case down_shrink:
    case down_expand:
      return down;
    default:
      return part;
  }
}

}  // namespace tessera::serving
