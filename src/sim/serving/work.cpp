// Work that is requests to models of several tenants.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "notes/library_note.hpp"
#include "notes/through_host_note.hpp"
#include "serving/job.hpp"
#include "serving/kept_memory.hpp"
#include "serving/npu_notes.hpp"
#include "serving/prediction.hpp"
#include "tessera/compute/timed.hpp"
#include "tessera/network/sharing.hpp"
#include "tessera/npu/core/cores.hpp"
#include "tessera/serving/language_model.hpp"
#include "tessera/sim/work.hpp"

namespace tessera::sim {
namespace {

// Of an NPU that a model runs on; those of its stage work at a time.
compute::CoresOfNpu cores_of(const machine::Machine& machine, const executor::ServingWork& work,
                             const executor::ServiceSettings& tenant, std::size_t unit) {
  const auto channel_of = [&](EntityId core) { return machine.channel_of[core.value()]; };
  std::set<std::uint32_t> channels;
  for (const EntityId core : work.npus[tenant.npus[unit]]) {
    channels.insert(channel_of(core));
  }
  compute::CoresOfNpu found{work.cores(), static_cast<std::uint32_t>(channels.size()), 0};
  const std::size_t units = tenant.npus.size() / tenant.model->stages();
  const std::size_t first = unit / units * units;
  for (std::size_t other = first; other < first + units; ++other) {
    for (const EntityId core : work.npus[tenant.npus[other]]) {
      found.sharers += channels.contains(channel_of(core)) ? 1 : 0;
    }
  }
  return found;
}

// As that of its NPUs which has the least of its channels, for which the others wait.
compute::CoresOfNpu cores_of(const Platform& platform, const executor::ServingWork& work,
                             const executor::ServiceSettings& tenant) {
  compute::CoresOfNpu least{work.cores()};
  if (!work.of_cores || platform.machine.channels.empty() || !platform.memory->shares_channels()) {
    return least;
  }
  for (std::size_t unit = 0; unit < tenant.npus.size(); ++unit) {
    const compute::CoresOfNpu found = cores_of(platform.machine, work, tenant, unit);
    const bool is_less = std::uint64_t{found.channels} * least.sharers <
                         std::uint64_t{least.channels} * found.sharers;
    least = unit == 0 || is_less ? found : least;
  }
  return least;
}

std::vector<compute::CoresOfNpu> cores_of_all(const Platform& platform,
                                              const executor::ServingWork& work) {
  std::vector<compute::CoresOfNpu> all;
  for (const executor::ServiceSettings& tenant : work.tenants) {
    all.push_back(cores_of(platform, work, tenant));
  }
  return all;
}

SimTime time_of(const Platform& platform, const compute::CoresOfNpu& npu, const machine::Tile& tile,
                const serving::TileOperation& made) {
  const auto time = [&](const workload::Operation& operation) {
    return platform.compute->of(tile).shared_duration(platform.machine, tile, operation, npu);
  };
  const bool is_joined = made.apart.empty() || platform.compute->of(tile).joins_sequences();
  const std::vector<workload::Operation>& several = is_joined ? made.kernels : made.apart;
  if (several.empty()) {
    return time(made.operation);
  }
  SimTime sum;
  for (const workload::Operation& operation : several) {
    sum += time(operation);
  }
  return sum;
}

// Messages wait for those before them at the links by which they leave and come in, wherever a
// network shares more than nothing; what else it shares, the closed form of a step does not know.
std::function<executor::IdleMessage(EntityId, EntityId, Bytes)> idle_messages_of(
    const Platform& platform, const std::shared_ptr<const machine::Routing>& routing) {
  constexpr std::size_t most_known = 20'000;
  struct Way {
    machine::Path path;
    unsigned port = 0;
    machine::Hop last;
    Bandwidth last_bandwidth;
  };
  const bool shares = network::sharing_of(*platform.network) != plan::Sharing::nothing;
  return [&platform, shares, routing,
          known = std::make_shared<std::map<std::pair<EntityId, EntityId>, Way>>()](
             EntityId from, EntityId to, Bytes bytes) -> executor::IdleMessage {
    if (from == to) {
      return {};
    }
    if (known->size() >= most_known) {
      known->clear();
    }
    const auto [found, is_new] = known->try_emplace({from, to});
    Way& way = found->second;
    if (is_new) {
      const machine::Topology& topology = *platform.machine.topology;
      way = {machine::path_between(topology, *routing, from, to),
             routing->next_port(from, to),
             {},
             {}};
      machine::walk_route(topology, *routing, from, to,
                          [&](EntityId node, unsigned port, const machine::Link& link) {
                            way.last = {node, port};
                            way.last_bandwidth = topology.link_classes()[link.link_class].bandwidth;
                          });
    }
    const SimTime time = platform.network->idle_time(way.path, bytes);
    if (!shares) {
      executor::IdleMessage message;
      message.time = time;
      message.port = way.port;
      return message;
    }
    return {time,          way.port,      serialization_time(bytes, way.path.bottleneck),
            way.last.node, way.last.port, serialization_time(bytes, way.last_bandwidth)};
  };
}

// A network that is solved apart would go by pairs that it knows, on one rank too.
bool job_promises(const Platform& platform, const executor::ServingWork& work) {
  return executor::serving_promises(work) && !platform.network->needs_pairs();
}

class ServedWork final : public Work {
 public:
  ServedWork(const Platform& platform, const executor::ServingWork& work)
      : platform_(platform),
        work_(work),
        operators_(work.on_tiles ? nullptr : executor::make_operator_source(work_)) {}

  std::uint64_t tiles() const override { return work_.npus.size() * work_.cores(); }
  std::vector<EntityId> nodes() const override {
    std::vector<EntityId> all;
    for (const auto& cores : work_.npus) {
      all.insert(all.end(), cores.begin(), cores.end());
    }
    return all;
  }
  std::uint32_t iterations() const override { return 1; }
  std::uint64_t instructions() const override { return work_.requests(); }
  // 0: of several types of numbers.
  double peak_flops_per_s() const override {
    const auto type = data_type();
    double sum = 0;
    for (std::size_t npu = 0; type && npu < work_.npus.size(); ++npu) {
      sum += sum_of_peaks(platform_, work_.npus[npu], *type);
    }
    return sum;
  }
  std::uint64_t samples() const override { return work_.requests(); }
  double flops_of_sample() const override { return 0; }  // found as batches come

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    if (platform_.compute && platform_.compute->has_hosts()) {
      notes.push_back(no_hosts + "served models, which have hosts of their own (batching.host)");
    }
    if (!platform_.network->overheads().collective.is_nothing()) {
      notes.emplace_back(
          "overheads of collectives (machine.network) have no effect on exchanges of served "
          "models");
    }
    note_unused_library(*platform_.network, notes);
    note_unused_way_of(platform_.machine, "served models", notes);
    if (work_.whole_steps && work_.npus.size() > 1) {
      notes.emplace_back(
          "steps are whole: exchanges and messages from the host to NPUs take the time of an "
          "otherwise idle network, message by message");
    }
    if (work_.on_tiles && serves(true)) {
      notes.emplace_back(
          "the attention of a step is timed by sums over its prompts and over its generating "
          "sequences");
    }
    if (!work_.on_tiles && serves(true)) {
      notes.emplace_back("NPU cores also compute the masked part of attention in prompts");
    }
    if (!work_.on_tiles && work_.core.operands == npu::Operands::sram) {
      notes.emplace_back(
          "cores assume that operands are in SRAM and access no memory (machine.compute.operands)");
    }
    if (hands_over(false)) {
      notes.emplace_back(
          "keys and values are handed over when a prompt has been computed, for all layers "
          "together");
    }
    if (hands_over(true)) {
      notes.emplace_back(
          "keys and values of a prompt are handed over layer by layer with the step that completes "
          "it, including those of earlier chunks");
    }
    if (spreads_experts()) {
      notes.emplace_back(
          "sequences of a step, including prompts, are distributed evenly over the NPUs of "
          "'expert' and treated as alike, so that all wait for an NPU with the most sequences; "
          "tokens are spread evenly over experts");
    }
    if (spreads_experts() && stores_blocks()) {
      notes.emplace_back(
          "blocks of sequences on one of the NPUs of 'expert' are moved to the memory behind by "
          "all of these NPUs, an even share by each");
    }
    if (stores_blocks()) {
      notes.emplace_back(
          "cache blocks move to the memory behind NPUs and return before a step, which waits for "
          "them; reading and writing them in the NPU's own memory takes no time");
    }
    if (work_.of_cores) {
      notes.emplace_back(
          "whole steps of NPU cores take, for each operator, the time of the first core for its "
          "share, with an even share of its NPU's memory at the bandwidth of machine.dram, on the "
          "NPU of its model that has the least: banks and the network to them count only where "
          "steps are walked");
      if (hands_over(false)) {
        notes.emplace_back(
            "keys and values are sent from the first core of one NPU to the first core of another");
      }
    }
    if (work_.on_tiles && serves(false)) {
      notes.emplace_back(
          "only the weights of ONNX models occupy memory and stream from it; activations are where "
          "operators need them");
    }
    for (const executor::ServiceSettings& tenant : work_.tenants) {
      const std::vector<std::string> of_requests = tenant.requests->notes();
      notes.insert(notes.end(), of_requests.begin(), of_requests.end());
    }
    for (const executor::ServiceSettings& tenant : work_.tenants) {
      note_streams(tenant, notes);
    }
    for (std::size_t number = 0; number < work_.tenants.size(); ++number) {
      if (work_.tenants[number].lead == number) {
        note_long_prompts(work_.tenants[number], notes);
      }
    }
    note_npus(work_, notes);
    if (network::sharing_of(*platform_.network) != plan::Sharing::nothing) {
      note_ports(work_, notes);
    }
    note_channels(platform_, work_, notes);
    if (!data_type()) {
      notes.emplace_back("no peak is stated, as served models compute in several data types");
    }
    return notes;
  }
  std::vector<std::pair<std::string, std::uint64_t>> draws() const override {
    std::vector<std::pair<std::string, std::uint64_t>> all;
    for (std::size_t number = 0; number < work_.tenants.size(); ++number) {
      const executor::ServiceSettings& tenant = work_.tenants[number];
      if (tenant.lead == number && tenant.requests->is_drawn()) {
        all.emplace_back(model_name(tenant), tenant.drawn_from);
      }
    }
    return all;
  }
  std::vector<std::string> phases() const override { return services(); }
  std::vector<std::string> services() const override {
    std::vector<std::string> names;
    for (const executor::ServiceSettings& tenant : work_.tenants) {
      names.push_back(tenant.name);
    }
    return names;
  }
  std::vector<Kept> kept() const override {
    std::vector<Kept> all;
    for (const executor::ServiceSettings& tenant : work_.tenants) {
      all.push_back({tenant.model->weights(), tenant.of_language
                                                  ? tenant.model->cache_block(tenant.batching.block)
                                                  : Bytes()});
    }
    return all;
  }
  std::vector<std::string> service_totals() const override {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < work_.tenants.size(); ++i) {
      const executor::ServiceSettings& tenant = work_.tenants[i];
      if (tenant.lead != i) {
        continue;
      }
      const std::string name = model_name(tenant);
      if (tenant.replicas > 1) {
        names.push_back(name);
      }
      for (const executor::ServedClass& one : tenant.classes) {
        names.push_back(name + " [" + one.name + "]");
      }
    }
    return names;
  }
  std::vector<executor::Activity> activities() const override {
    std::vector<executor::Activity> some{executor::Activity::compute};
    if (exchanges()) {
      some.push_back(executor::Activity::tensor);
    }
    some.push_back(executor::Activity::bubble);
    return some;
  }
  std::vector<Part> parts() const override {
    std::vector<Part> parts;
    for (std::size_t npu = 0; npu < work_.npus.size(); ++npu) {
      parts.push_back({"NPU " + std::to_string(npu), work_.cores()});
    }
    return parts;
  }
  std::size_t part_of(std::uint32_t role) const override { return role; }
  const std::vector<std::string>& names() const override { return work_.names; }
  std::vector<EntityId> samples_of_parts() const override {
    std::vector<EntityId> all;
    for (const auto& cores : work_.npus) {
      all.insert(all.end(), cores.begin(), cores.end());
    }
    return all;
  }
  void describe(EntityId node, trace::NodeRow& row) const override {
    for (std::size_t npu = 0; npu < work_.npus.size(); ++npu) {
      const auto& cores = work_.npus[npu];
      if (std::find(cores.begin(), cores.end(), node) != cores.end()) {
        row.stage = static_cast<std::int64_t>(npu);
      }
    }
  }

  std::size_t shared_bytes() const override {
    constexpr std::size_t of_tenant = std::size_t{1} << 20U;  // operators and steps
    return work_.tenants.size() * of_tenant + kept_memory(work_);
  }
  std::size_t bytes_a_tile() const override {
    constexpr std::size_t of_core = 512;
    return of_core;
  }
  std::size_t compute_bytes(std::uint64_t nodes) const override {
    constexpr std::size_t of_tile = 64;
    return work_.on_tiles ? nodes * of_tile : platform_.compute->predicted_bytes(nodes);
  }
  // Found as steps come.
  Wide operand_bytes() const override { return 0; }
  SparseCounts predicted_events() const override {
    if (work_.on_tiles) {
      return predicted_events_of_tiles(platform_, work_);
    }
    return sim::predicted_events(platform_, work_, *operators_);
  }
  std::unique_ptr<compute::Compute> make_compute(std::span<const EntityId> members) const override {
    if (work_.on_tiles) {
      return compute::make_timed_tiles(members, compute_slot);
    }
    return npu::make_cores(
        {platform_.machine, members, work_.core, operators_, false, compute_slot, memory_slot});
  }
  std::unique_ptr<executor::Executor> make_executor(
      std::span<const EntityId> members, executor::Observer* observer,
      const executor::OutlookSetup& outlook) const override {
    const Platform& platform = platform_;
    const std::shared_ptr<const machine::Routing> routing =
        machine::make_routing(platform.network->routing(), *platform.machine.topology);
    return executor::make_serving_executor(
        {platform.machine, work_, operators_, members, executor_slot, network_slot, compute_slot,
         observer,
         [&platform, npus = cores_of_all(platform, work_)](
             std::uint32_t tenant, const machine::Tile& tile, const serving::TileOperation& made) {
           return time_of(platform, npus[tenant], tile, made);
         },
         memory_slot, idle_messages_of(platform, routing),
         [routing](EntityId from, EntityId to) { return routing->next_port(from, to); },
         [&platform](const memory::IdleAccess& access, const memory::IdleSend& send) {
           return platform.memory->idle_time(platform.machine, access, send);
         },
         platform.memory->shares_channels(),
         [&platform](Bytes bytes) {
           return platform.remote_memory
                      ? platform.remote_memory->access_time(bytes, memory::InSwitch::none)
                      : platform.machine.host.copy_time(bytes);
         },
         platform.remote_memory == nullptr,
         executor::serving_promises(work_) ? outlook : executor::OutlookSetup{}});
  }
  bool knows_pairs() const override { return job_promises(platform_, work_); }
  void visit_pairs(const std::function<void(EntityId, EntityId)>& visit) const override {
    executor::visit_serving_pairs(work_, visit);
  }

 private:
  // That all models compute in.
  std::optional<DataType> data_type() const {
    const std::optional<DataType> first = work_.tenants.front().data_type;
    const bool alike = first && std::all_of(work_.tenants.begin(), work_.tenants.end(),
                                            [&](const executor::ServiceSettings& one) {
                                              return one.data_type == first &&
                                                     one.product_type.value_or(*first) == *first;
                                            });
    return alike ? first : std::nullopt;
  }
  bool serves(bool of_language) const {
    return std::any_of(work_.tenants.begin(), work_.tenants.end(),
                       [of_language](const executor::ServiceSettings& tenant) {
                         return tenant.of_language == of_language;
                       });
  }
  // What SRAM does not hold whole is not held in part.
  void note_streams(const executor::ServiceSettings& tenant,
                    std::vector<std::string>& notes) const {
    const machine::Tile& tile = platform_.machine.tile_of(work_.npus[tenant.npus.front()].front());
    if (tenant.streams_weights) {
      notes.push_back("weights of " + tenant.name + " (" +
                      to_short_string(tenant.model->weights()) +
                      " on a tile) do not fit entirely in SRAM (" + to_short_string(tile.sram) +
                      "): all of them are streamed from DRAM in each step");
    } else if (tenant.streams_cache) {
      notes.push_back("keys and values of " + tenant.name + " do not fit entirely in SRAM (" +
                      to_short_string(tile.sram) +
                      ") beside the weights: all of them are streamed from DRAM in each step");
    }
  }
  // Without the number of a replica.
  static std::string model_name(const executor::ServiceSettings& tenant) {
    return tenant.replicas > 1 ? tenant.name.substr(0, tenant.name.rfind('.')) : tenant.name;
  }
  static void note_long_prompts(const executor::ServiceSettings& tenant,
                                std::vector<std::string>& notes) {
    const serving::BatchOptions& batching = tenant.batching;
    const std::uint32_t most = batching.chunk > 0 ? batching.chunk : batching.tokens;
    if (tenant.of_language && most > serving::most_queries &&
        tenant.requests->largest().prompt > serving::most_queries) {
      notes.push_back(
          "a step of " + model_name(tenant) + " computes at most " +
          std::to_string(serving::most_queries) +
          " tokens of one prompt, the following steps the rest (batching.chunk, batching.tokens)");
    }
  }
  bool hands_over(bool by_layers) const {
    return std::any_of(work_.tenants.begin(), work_.tenants.end(),
                       [by_layers](const executor::ServiceSettings& tenant) {
                         return tenant.prefill > 0 && tenant.by_layers == by_layers;
                       });
  }
  bool spreads_experts() const {
    return std::any_of(
        work_.tenants.begin(), work_.tenants.end(),
        [](const executor::ServiceSettings& tenant) { return tenant.experts_spread; });
  }
  bool stores_blocks() const {
    return std::any_of(
        work_.tenants.begin(), work_.tenants.end(),
        [](const executor::ServiceSettings& tenant) { return tenant.tier.has_value(); });
  }
  bool exchanges() const {
    return std::any_of(
        work_.tenants.begin(), work_.tenants.end(),
        [](const executor::ServiceSettings& tenant) { return tenant.model->units() > 1; });
  }

  const Platform& platform_;
  const executor::ServingWork& work_;
  std::shared_ptr<const npu::OperatorSource> operators_;
};

}  // namespace

bool ServingJob::promises(const Platform& platform) const {
  return job_promises(platform, *serving_);
}

std::unique_ptr<Work> ServingJob::work(const Platform& platform) const {
  return std::make_unique<ServedWork>(platform, *serving_);
}

}  // namespace tessera::sim
