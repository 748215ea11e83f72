// Keys of served work, for `tessera list`.
#include <utility>

#include "serving/keys.hpp"
#include "serving/served/adapters.hpp"
#include "serving/served/classes.hpp"
#include "serving/served/tiers.hpp"
#include "serving/served/weight_types.hpp"
#include "tessera/npu/stored_weights.hpp"
#include "tessera/serving/request.hpp"
#include "tessera/sim/serving/serving.hpp"

namespace tessera::sim {

const ServingKeys& serving_keys() {
  static const ServingKeys keys;
  return keys;
}

const ServedKeys& served_keys() {
  static const ServedKeys keys;
  return keys;
}

// As many as there are.
ParameterInfo any_npu_cores() {
  ParameterInfo cores = npu_cores_key(1);
  cores.high.clear();
  return cores;
}

std::vector<ParameterInfo> serving_parameters() {
  const ServingKeys& keys = serving_keys();
  return {keys.seed,  any_npu_cores(), keys.message, keys.all_reduce,
          keys.steps, keys.policy,     keys.tenants};
}

std::vector<ParameterInfo> keys_beside_models() {
  std::vector<ParameterInfo> all = served_keys().beside_model();
  for (const auto& some : {class_parameters(), tier_parameters(), adapter_parameters()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  for (ParameterInfo& one : npu::stored_weights_parameters()) {
    all.push_back(std::move(one));
  }
  for (const std::string& part : weight_part_keys()) {
    for (ParameterInfo& one : npu::stored_weights_parameters("weights." + part)) {
      one.is_required = false;
      all.push_back(std::move(one));
    }
  }
  return all;
}

std::vector<ParameterInfo> served_tenant_parameters() {
  std::vector<ParameterInfo> all = served_keys().of_model();
  all.push_back(serving::arrivals_parameter());
  for (ParameterInfo& one : keys_beside_models()) {
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace tessera::sim
