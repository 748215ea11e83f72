// Keys of the workload `serving`; serving_experiment.cpp reads them.
#include <utility>

#include "tessera/npu/stored_weights.hpp"
#include "tessera/sim/serving.hpp"

namespace tessera::sim {

std::vector<ParameterInfo> serving_parameters() {
  return {{"seed", "", "1", "of random arrivals and lengths"},
          {"npu_cores", "", "all",
           "cores of an NPU: so many computing nodes after each other; 1 on tiles of other models"},
          {"message", "B", "32 B",
           "two begin a core's share of an operator, one ends it; on tiles four begin a step"},
          {"all_reduce", "", "ring", "algorithm between NPUs"},
          {"scheduler.policy", "", "first-come", "how tenants share cores"},
          {"tenants", "", "", "a list"}};
}

std::vector<ParameterInfo> served_tenant_parameters() {
  std::vector<ParameterInfo> all{
      {"name", "", "kind and place", ""},
      {"language_model", "", "", "keys of the workload transformer, or a file of them"},
      {"onnx", "", "", "keys of a model of ONNX, and data_type"},
      {"onnx.batch", "", "none", "dimension of the model that the samples of a batch are"},
      {"requests.arrivals", "", "", "kind of arrivals, with its keys beside"},
      {"batching.continuous", "", "true", "requests join and leave from step to step"},
      {"batching.sequences", "", "256", "that run at a time, at most"},
      {"batching.tokens", "", "8192", "of a step, at most"},
      {"batching.chunk", "", "none", "tokens of a step with parts of prompts; none: whole ones"},
      {"batching.block", "", "16", "tokens of a block of the cache"},
      {"batching.cache", "B", "memory beside weights", "room for keys and values on each NPU"},
      {"batching.samples", "", "1", "of a step of a model that is no language model"},
      {"tensor", "", "1", "NPUs that share each layer"},
      {"pipeline", "", "1", "stages, each of that many NPUs"},
      {"npus", "", "from 0 on", "NPUs that the model runs on, stage by stage"},
      {"cores", "", "an even part", "FIRST-LAST of an NPU, for the policy spatial"},
      {"target.first_token", "ps", "none", "wanted at most, since the arrival"},
      {"target.between_tokens", "ps", "none", "wanted at most"},
      {"target.latency", "ps", "none", "wanted at most, of other models"},
      {"background", "", "false", "asks as long as others are not served"}};
  for (ParameterInfo& one : npu::stored_weights_parameters()) {
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace tessera::sim
