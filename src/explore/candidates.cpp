#include "tessera/explore/candidates.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "tessera/plan/schedule/schedule.hpp"

namespace tessera::explore {
namespace {

constexpr std::uint64_t most_degree = std::numeric_limits<std::int32_t>::max();

std::vector<std::uint64_t> divisors_of(std::uint64_t number, std::uint64_t most) {
  std::vector<std::uint64_t> low;
  std::vector<std::uint64_t> high;
  for (std::uint64_t divisor = 1; divisor <= number / divisor; ++divisor) {
    if (number % divisor != 0) {
      continue;
    }
    low.push_back(divisor);
    if (divisor != number / divisor) {
      high.push_back(number / divisor);
    }
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  std::erase_if(low, [&](std::uint64_t divisor) { return divisor > most; });
  return low;
}

std::vector<std::uint64_t> tensor_degrees(const CandidateLimits& limits) {
  std::vector<std::uint64_t> degrees = divisors_of(
      limits.head_counts.empty() ? limits.devices : limits.head_counts.front(), limits.devices);
  std::erase_if(degrees, [&](std::uint64_t degree) {
    return std::any_of(limits.head_counts.begin(), limits.head_counts.end(),
                       [&](std::uint64_t heads) { return heads % degree != 0; });
  });
  return degrees;
}

std::vector<std::uint64_t> stage_counts(const CandidateLimits& limits, std::uint64_t group) {
  const std::uint64_t most = std::min({limits.devices / group, limits.layers, most_degree});
  std::vector<std::uint64_t> counts;
  if (limits.full) {
    for (std::uint64_t stages = 1; stages <= most; ++stages) {
      counts.push_back(stages);
    }
    return counts;
  }
  const std::uint64_t layers_a_stage = (limits.layers + most - 1) / most;
  const std::uint64_t fewest = (limits.layers + layers_a_stage - 1) / layers_a_stage;
  counts.push_back(fewest);
  if (fewest < most) {
    counts.push_back(most);
  }
  return counts;
}

std::vector<std::uint64_t> micro_batches(const CandidateLimits& limits, std::uint64_t data) {
  std::vector<std::uint64_t> sizes = divisors_of(limits.batch / data, most_degree);
  if (!limits.full) {
    std::erase_if(sizes, [](std::uint64_t size) { return (size & (size - 1)) != 0; });
  }
  return sizes;
}

std::vector<plan::Degrees> degrees_within(const CandidateLimits& limits) {
  std::vector<plan::Degrees> list;
  std::uint64_t most_tiles = 0;
  for (const std::uint64_t tensor : tensor_degrees(limits)) {
    for (const std::uint64_t data : divisors_of(limits.batch, limits.devices / tensor)) {
      for (const std::uint64_t stages : stage_counts(limits, tensor * data)) {
        list.push_back({static_cast<std::uint32_t>(stages), static_cast<std::uint32_t>(data),
                        static_cast<std::uint32_t>(tensor)});
        most_tiles = std::max(most_tiles, list.back().tiles());
      }
    }
  }
  std::erase_if(list,
                [&](const plan::Degrees& degrees) { return 2 * degrees.tiles() < most_tiles; });
  return list;
}

}  // namespace

std::vector<std::string> Candidate::settings(const std::string& layout) const {
  return {"strategy.pipeline=" + std::to_string(degrees.pipeline),
          "strategy.tensor=" + std::to_string(degrees.tensor),
          "strategy.data=" + std::to_string(degrees.data),
          "strategy.micro_batch=" + std::to_string(micro_batch),
          "strategy.schedule=" + schedule,
          "strategy.recompute=" + recompute,
          "strategy.placement={layout: " + layout + "}"};
}

CandidateLimits limits_of(const machine::Machine& machine, const workload::Workload& workload,
                          std::uint64_t devices, bool full) {
  CandidateLimits limits;
  const std::uint64_t computing = machine.topology->computing_nodes();
  limits.devices = devices == 0 ? computing : std::min(devices, computing);
  limits.layers = workload.layers.size();
  limits.batch = workload.samples;
  std::set<std::uint64_t> heads;
  for (const workload::Layer& layer : workload.layers) {
    for (const workload::Operator& op : layer.operators) {
      if (op.sharding == workload::Sharding::heads && op.product.count > 0) {
        heads.insert(op.product.count);
        heads.insert(op.kv_heads > 0 ? op.kv_heads : op.product.count);
      }
    }
  }
  limits.head_counts.assign(heads.begin(), heads.end());
  limits.schedules = plan::schedules().names();
  limits.recomputations = {"none", "full"};
  limits.full = full;
  return limits;
}

std::vector<Candidate> candidates(const CandidateLimits& limits) {
  std::vector<Candidate> list;
  for (const plan::Degrees& degrees : degrees_within(limits)) {
    for (const std::uint64_t micro_batch : micro_batches(limits, degrees.data)) {
      for (const std::string& schedule : limits.schedules) {
        for (const std::string& recompute : limits.recomputations) {
          list.push_back({degrees, static_cast<std::uint32_t>(micro_batch), schedule, recompute});
        }
      }
    }
  }
  return list;
}

}  // namespace tessera::explore
