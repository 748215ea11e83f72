#include "tessera/explore/candidates.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tessera/core/error.hpp"
#include "tessera/plan/schedule/schedule.hpp"

namespace tessera::explore {
namespace {

using plan::Recompute;

constexpr std::uint64_t most_degree = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t most_context = 16;
constexpr std::uint64_t most_chunks = 8;

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

bool is_power_of_two(std::uint64_t number) {
  return (number & (number - 1)) == 0;
}

std::string word_of(bool value) {
  return value ? "true" : "false";
}

// As settings have it; `char` is a yes or no.
std::string text_of(std::uint64_t number) {
  return std::to_string(number);
}
std::string text_of(std::uint32_t number) {
  return std::to_string(number);
}
std::string text_of(char yes) {
  return word_of(yes != 0);
}
std::string text_of(Recompute recompute) {
  return name_of(recompute);
}
std::string text_of(const std::string& name) {
  return name;
}

// Of `values` those that are given, where some are.
template <class T>
void leave_given(const CandidateLimits& limits, const char* key, std::vector<T>& values) {
  const auto given = limits.given.find(key);
  if (given != limits.given.end()) {
    std::erase_if(values, [&](const T& value) { return !given->second.contains(text_of(value)); });
  }
}

// `values`, or the experiment's own where the key is kept, or those that are given.
template <class T>
std::vector<T> free_or_own(const CandidateLimits& limits, const char* key, T own,
                           std::vector<T> values) {
  if (limits.kept.contains(key)) {
    return {own};
  }
  leave_given(limits, key, values);
  return values;
}

// Whether any number is looked at, in place of some.
bool takes_any(const CandidateLimits& limits, const char* key) {
  return limits.full || limits.given.contains(key);
}

std::vector<std::uint64_t> tensor_degrees(const CandidateLimits& limits) {
  std::vector<std::uint64_t> degrees = divisors_of(
      limits.head_counts.empty() ? limits.devices : limits.head_counts.front(), limits.devices);
  std::erase_if(degrees, [&](std::uint64_t degree) {
    return degree < limits.adapters ||
           std::any_of(limits.head_counts.begin(), limits.head_counts.end(),
                       [&](std::uint64_t heads) { return heads % degree != 0; });
  });
  return free_or_own<std::uint64_t>(limits, "tensor", limits.own.degrees.tensor, degrees);
}

std::vector<std::uint64_t> data_degrees(const CandidateLimits& limits, std::uint64_t most) {
  return free_or_own<std::uint64_t>(limits, "data", limits.own.degrees.data,
                                    divisors_of(limits.batch, most));
}

std::vector<std::uint64_t> context_degrees(const CandidateLimits& limits, std::uint64_t most) {
  std::vector<std::uint64_t> degrees =
      divisors_of(limits.cuts_tokens ? limits.sequence : 1, std::min(most, most_context));
  std::erase_if(degrees, [](std::uint64_t degree) { return !is_power_of_two(degree); });
  return free_or_own<std::uint64_t>(limits, "context", limits.own.context, degrees);
}

std::vector<std::uint64_t> stage_counts(const CandidateLimits& limits, std::uint64_t group) {
  const std::uint64_t most = std::min({limits.devices / group, limits.layers, most_degree});
  std::vector<std::uint64_t> counts;
  if (limits.kept.contains("pipeline")) {
    counts.push_back(limits.own.degrees.pipeline);
    std::erase_if(counts, [&](std::uint64_t count) { return count > most; });
    return counts;
  }
  if (takes_any(limits, "pipeline")) {
    counts.resize(most);
    std::iota(counts.begin(), counts.end(), 1);
    leave_given(limits, "pipeline", counts);
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

// Fixed values of one candidate after the other, key by key.
class Visits {
 public:
  Visits(const CandidateLimits& limits, const DegreesOfCandidates& degrees,
         const std::function<void(const Candidate&)>& visit)
      : limits_(limits),
        visit_(visit),
        replicas_(degrees.degrees.data * degrees.context),
        layouts_(limits.layouts) {
    leave_given(limits, "placement", layouts_);
    now_.degrees = degrees.degrees;
    now_.context = degrees.context;
  }

  void all() {
    for (const std::uint64_t expert : expert_degrees()) {
      now_.expert = static_cast<std::uint32_t>(expert);
      for (const bool cut : sequence_values()) {
        now_.sequence_parallel = cut;
        for (const std::uint64_t size : micro_batches()) {
          now_.micro_batch = static_cast<std::uint32_t>(size);
          each_recomputation();
        }
      }
    }
  }

 private:
  bool has_tensor_groups() const { return now_.degrees.tensor > 1; }

  std::vector<std::uint64_t> expert_degrees() const {
    std::vector<std::uint64_t> degrees{1};
    if (limits_.experts > 0) {
      degrees = divisors_of(std::gcd(limits_.experts, std::uint64_t{replicas_}), most_degree);
    }
    return free_or_own<std::uint64_t>(limits_, "expert", limits_.own.expert, degrees);
  }

  std::vector<char> sequence_values() const {
    std::vector<char> values{0};
    if (has_tensor_groups() && limits_.adapters == 0 && limits_.sequence > 1 &&
        limits_.sequence / now_.context % now_.degrees.tensor == 0) {
      values.push_back(1);
    }
    return free_or_own<char>(limits_, "sequence_parallel", limits_.own.sequence_parallel ? 1 : 0,
                             values);
  }

  std::vector<std::uint64_t> micro_batches() const {
    std::vector<std::uint64_t> sizes = divisors_of(limits_.batch / now_.degrees.data, most_degree);
    if (!takes_any(limits_, "micro_batch")) {
      std::erase_if(sizes, [](std::uint64_t size) { return !is_power_of_two(size); });
    }
    return free_or_own<std::uint64_t>(limits_, "micro_batch", limits_.own.micro_batch, sizes);
  }

  void each_recomputation() {
    std::vector<Recompute> values{Recompute::none};
    if (limits_.training) {
      if (limits_.selective) {
        values.push_back(Recompute::selective);
      }
      values.push_back(Recompute::full);
      if (limits_.given.contains("recompute")) {
        values.push_back(Recompute::alternate);
      }
    }
    for (const Recompute value : free_or_own(limits_, "recompute", limits_.own.recompute, values)) {
      now_.recompute = value;
      std::vector<char> beside{0};
      if (limits_.training && has_tensor_groups()) {
        beside.push_back(1);
      }
      for (const char overlaps : free_or_own<char>(limits_, "overlap_tensor",
                                                   limits_.own.overlap_tensor ? 1 : 0, beside)) {
        now_.overlap_tensor = overlaps != 0;
        each_kind_of_product();
      }
    }
  }

  // In pieces, tensor groups have no sums left that `overlap_tensor` could hide.
  void each_kind_of_product() {
    std::vector<char> pieces{0};
    if (now_.sequence_parallel && (!now_.overlap_tensor || is_fixed("overlap_tensor"))) {
      pieces.push_back(1);
    }
    for (const char in_pieces :
         free_or_own<char>(limits_, "async_tensor", limits_.own.async_tensor ? 1 : 0, pieces)) {
      now_.async_tensor = in_pieces != 0;
      each_sharing();
    }
  }

  // Whether a key has one value in all candidates.
  bool is_fixed(const char* key) const {
    return limits_.kept.contains(key) ||
           (limits_.given.contains(key) && limits_.given.at(key).size() == 1);
  }

  void each_sharing() {
    std::vector<std::uint32_t> stages{0};
    if (replicas_ > 1 && limits_.training) {
      stages = {0, 1, 2, 3};
    }
    for (const std::uint32_t zero : free_or_own(limits_, "zero", limits_.own.zero, stages)) {
      now_.zero = zero;
      each_group_of_sharing();
    }
  }

  // Replicas that share out: all, or those of a server.
  std::vector<std::uint32_t> shards() const {
    std::vector<std::uint32_t> values{0};
    if (now_.zero > 0 && now_.expert == 1) {
      const std::uint64_t near = limits_.near / now_.degrees.tensor;
      for (const std::uint64_t count : divisors_of(replicas_, replicas_ / 2)) {
        if (count > 1 && (count == near || takes_any(limits_, "shard"))) {
          values.push_back(static_cast<std::uint32_t>(count));
        }
      }
    }
    return free_or_own(limits_, "shard", now_.zero > 0 ? limits_.own.shard : 0, values);
  }

  void each_group_of_sharing() {
    for (const std::uint32_t shard : shards()) {
      now_.shard = shard;
      std::vector<char> beside{0};
      if (replicas_ > 1 && limits_.training) {
        beside.push_back(1);
      }
      for (const char overlaps : free_or_own<char>(limits_, "overlap_gradients",
                                                   limits_.own.overlap_gradients ? 1 : 0, beside)) {
        now_.overlap_gradients = overlaps != 0;
        each_schedule();
      }
    }
  }

  void each_schedule() {
    const std::uint64_t samples = std::uint64_t{now_.degrees.data} * now_.micro_batch;
    if (limits_.batch % samples != 0) {
      return;
    }
    const std::uint64_t count = limits_.batch / samples;
    if (count > most_degree) {
      return;
    }
    for (const std::uint64_t chunks : chunk_counts()) {
      now_.chunks = static_cast<std::uint32_t>(chunks);
      const plan::PipelineShape shape{now_.degrees.pipeline, now_.chunks,
                                      static_cast<std::uint32_t>(count), limits_.training};
      for (const std::string& name : schedules_of(shape)) {
        now_.schedule = name;
        each_turn();
      }
    }
  }

  std::vector<std::uint64_t> chunk_counts() const {
    std::vector<std::uint64_t> counts{1};
    const std::uint64_t most = limits_.layers / now_.degrees.pipeline;
    for (std::uint64_t chunks = 2;
         now_.degrees.pipeline > 1 && limits_.training && chunks <= std::min(most, most_chunks);
         chunks += takes_any(limits_, "chunks") ? 1 : chunks) {
      counts.push_back(chunks);
    }
    return free_or_own<std::uint64_t>(limits_, "chunks", limits_.own.chunks, counts);
  }

  // Those that can run the shape and are not the same as one before: with one stage, or one
  // micro-batch, there is nothing to order.
  std::vector<std::string> schedules_of(const plan::PipelineShape& shape) const {
    std::vector<std::string> names;
    if (!limits_.training) {
      names = {"streaming"};
    } else if (limits_.kept.contains("schedule")) {
      names = {limits_.own.schedule};
    } else if (shape.chunks > 1) {
      names = {"interleaved"};
      if (shape.stages > 1 && shape.micro_batches > 1) {
        names.insert(names.end(), {"zb-v", "dualpipe-v"});
      }
    } else if (shape.stages == 1 || shape.micro_batches == 1) {
      names = {"1f1b"};
    } else {
      names = {"1f1b", "gpipe", "zb-h1"};
    }
    leave_given(limits_, "schedule", names);
    std::erase_if(names, [&](const std::string& name) {
      return !plan::schedules().at(name).objection(shape).empty();
    });
    return names;
  }

  // Without exchanges over experts one pass is over before the other begins.
  void each_turn() {
    std::vector<char> turns{0};
    if (limits_.experts > 0) {
      turns.push_back(1);
    }
    const bool own = limits_.own.overlap_passes;
    for (const char turn : now_.has_pairs()
                               ? free_or_own<char>(limits_, "overlap_passes", own ? 1 : 0, turns)
                               : std::vector<char>{0}) {
      now_.overlap_passes = turn != 0;
      each_layout();
    }
  }

  void each_layout() {
    for (const std::string& layout : layouts_) {
      now_.layout = layout;
      visit_(now_);
    }
  }

  const CandidateLimits& limits_;
  const std::function<void(const Candidate&)>& visit_;
  std::uint32_t replicas_;
  std::vector<std::string> layouts_;
  Candidate now_;
};

// Of the first server, or whatever is close together on the machine.
std::uint64_t tiles_close_together(const machine::Machine& machine) {
  const machine::Topology& topology = *machine.topology;
  const std::uint64_t computing = topology.computing_nodes();
  std::uint32_t count = 1;
  while (count < computing && topology.domain(EntityId(count)) == topology.domain(EntityId(0))) {
    ++count;
  }
  return count;
}

}  // namespace

CandidateLimits limits_of(const machine::Machine& machine, const workload::Workload& workload,
                          std::uint64_t devices, bool full) {
  CandidateLimits limits;
  const std::uint64_t computing = machine.topology->computing_nodes();
  limits.devices = devices == 0 ? computing : std::min(devices, computing);
  limits.layers = workload.layers.size();
  limits.batch = workload.samples;
  limits.near = tiles_close_together(machine);
  limits.training = workload.training;
  std::set<std::uint64_t> heads;
  bool gathers = false;
  for (const workload::Layer& layer : workload.layers) {
    for (const workload::Operator& op : layer.operators) {
      if (op.sharding == workload::Sharding::heads && op.product.count > 0) {
        heads.insert(op.product.count);
        heads.insert(op.kv_heads > 0 ? op.kv_heads : op.product.count);
      }
      gathers = gathers || op.context_elements > 0;
      limits.cuts_tokens = limits.cuts_tokens && op.kind != "ssm";
      limits.experts = std::gcd(limits.experts, op.experts);
      if (!op.loads.of_expert.empty()) {
        throw ConfigError(
            "workload.experts.room: strategies are proposed for padded experts alone");
      }
      limits.selective = limits.selective || op.recomputed_selectively;
    }
  }
  limits.head_counts.assign(heads.begin(), heads.end());
  limits.sequence = gathers ? std::max<std::uint64_t>(1, workload.sequence_length) : 1;
  const bool grid = machine.topology->grid().has_value();
  limits.layouts = grid ? std::vector<std::string>{"s-shape", "line", "linear", "replicas"}
                        : std::vector<std::string>{"linear"};
  limits.full = full;
  return limits;
}

std::vector<DegreesOfCandidates> degrees_of_candidates(const CandidateLimits& limits) {
  std::vector<DegreesOfCandidates> list;
  std::uint64_t most_tiles = 0;
  const auto tiles = [](const DegreesOfCandidates& each) {
    return each.degrees.tiles() * each.context;
  };
  for (const std::uint64_t tensor : tensor_degrees(limits)) {
    for (const std::uint64_t data : data_degrees(limits, limits.devices / tensor)) {
      for (const std::uint64_t context :
           context_degrees(limits, limits.devices / (tensor * data))) {
        const std::uint64_t group = tensor * data * context;
        if (group > limits.devices) {
          continue;
        }
        for (const std::uint64_t stages : stage_counts(limits, group)) {
          list.push_back({{static_cast<std::uint32_t>(stages), static_cast<std::uint32_t>(data),
                           static_cast<std::uint32_t>(tensor)},
                          static_cast<std::uint32_t>(context)});
          most_tiles = std::max(most_tiles, tiles(list.back()));
        }
      }
    }
  }
  std::erase_if(list,
                [&](const DegreesOfCandidates& each) { return 2 * tiles(each) < most_tiles; });
  return list;
}

void visit_candidates(const CandidateLimits& limits, const DegreesOfCandidates& degrees,
                      const std::function<void(const Candidate&)>& visit) {
  Visits(limits, degrees, visit).all();
}

}  // namespace tessera::explore
