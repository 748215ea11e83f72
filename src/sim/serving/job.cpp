#include "serving/job.hpp"

#include <algorithm>

#include "cuts/cutter_of_jobs.hpp"
#include "jobs/tiles.hpp"
#include "jobs/uncut.hpp"
#include "serving/experiment.hpp"
#include "serving/sections.hpp"
#include "serving/served/memory.hpp"
#include "serving/served/tiers.hpp"
#include "serving/traits.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/partition/partition_tools.hpp"
#include "tessera/serving/policy.hpp"
#include "tessera/serving/request.hpp"
#include "tessera/sim/serving/serving.hpp"
#include "tessera/workload/keys.hpp"

namespace tessera::sim {
namespace {

using config::Section;

// Where layers are of several kinds.
std::string kinds_of_cache(const executor::ServiceSettings& tenant) {
  const serving::CacheLayout& layout = tenant.batching.layout;
  std::string text = std::to_string(*tenant.batching.blocks) + " blocks; a sequence takes";
  const std::string each = " for " + std::to_string(tenant.batching.block) + " tokens";
  const char* separator = " ";
  if (layout.full > 0) {
    text += separator + std::to_string(layout.full) + each;
    separator = ", ";
  }
  if (layout.windowed > 0) {
    text += separator + std::to_string(layout.windowed) + each + " in a window of " +
            std::to_string(layout.window);
    separator = ", ";
  }
  if (layout.states > 0) {
    text += separator + std::to_string(layout.states) + " for states";
  }
  return text;
}

// What tenants ask for and take.
std::string tenant_table(const executor::ServingWork& work) {
  TextTable table(
      {"served model", "NPUs", "requests", "weights of an NPU [B]", "cache of an NPU [tokens]"});
  for (const executor::ServiceSettings& tenant : work.tenants) {
    const auto count = tenant.requests->count();
    const auto blocks = tenant.batching.blocks;
    table.add({tenant.name, std::to_string(tenant.npus.size()),
               count ? std::to_string(*count) : "as long as others",
               std::to_string(tenant.model->weights().count()),
               !tenant.of_language                 ? "-"
               : !blocks                           ? "any"
               : tenant.batching.layout.is_plain() ? std::to_string(*blocks * tenant.batching.block)
                                                   : kinds_of_cache(tenant)});
  }
  return table.to_string();
}

class ServingReader final : public JobReader {
 public:
  explicit ServingReader(const JobSetup& setup) : setup_(setup) {}

  std::unique_ptr<Job> read() override {
    Section workload = setup_.section.section("workload");
    refuse_cutting(setup_.section,
                   "the workload is requests to models, which are cut by their own keys (tensor, "
                   "pipeline, expert)");
    const std::string name = workload::read_title(workload);
    const Platform& platform = setup_.platform;
    auto serving = platform.compute
                       ? read_serving(workload, platform.machine, setup_.tiles.nodes.listed(),
                                      *platform.compute, setup_.machine,
                                      setup_.tiles.are_all ? nullptr : &setup_.section)
                       : nullptr;
    if (!serving) {
      return nullptr;
    }
    uses_host_ = settle_tiers(platform, *serving, workload);
    uses_remote_memory_ = has_memory_behind(*serving);
    traits_ = traits_of(*serving);
    auto job = std::make_unique<ServingJob>(std::move(serving), platform.memory->has_idle_time());
    job->name = name;
    return job;
  }
  bool uses_host() const override { return uses_host_; }
  bool uses_remote_memory() const override { return uses_remote_memory_; }
  compute::WorkTraits traits() const override { return traits_; }

 private:
  JobSetup setup_;
  compute::WorkTraits traits_;
  bool uses_host_ = false;
  bool uses_remote_memory_ = false;
};

std::vector<PartInfo> serving_parts() {
  return {
      {"serving", "models that serve requests", serving_parameters()},
      {"served", "one of the tenants: a model that serves requests", served_tenant_parameters()}};
}

const Registration serving_kind(
    work_kinds(), {"serving", "inference requests to models, served in batches", {}},
    WorkKind{.read = [](const JobSetup& setup) { return std::make_unique<ServingReader>(setup); },
             .include = include_served,
             .describe = describe_serving,
             .lists = {{"arrivals", [] { return serving::arrivals().infos(); }},
                       {"policies", [] { return serving::policies().infos(); }},
                       {"serving", serving_parts}}});

const Registration npus_cutter(cutters(),
                               {"npus", "runs of whole NPUs of equal work; for serving", {}},
                               cutter_of_jobs("npus", "cuts a workload of requests ('serving')"));

}  // namespace

JobDescription ServingJob::describe(const Platform&) const {
  JobDescription text;
  text.tables = "\n# served models\n" + tenant_table(*serving_);
  return text;
}

std::string ServingJob::brief() const {
  const std::string npus = serving_->on_tiles
                               ? " tiles, "
                               : " NPUs of " + std::to_string(serving_->cores()) + " cores, ";
  return "serving: " + std::to_string(serving_->npus.size()) + npus +
         std::to_string(serving_->tenants.size()) + " served models, " +
         std::to_string(serving_->requests()) + " requests";
}

// Runs of whole NPUs of nearly equal work.
SparseTable ServingJob::cut(const Platform& platform, int ranks,
                            const machine::Weights& weights) const {
  const auto& npus = serving_->npus;
  refuse_too_many_ranks(cutter(), npus.size(), "NPUs", ranks);
  std::vector<std::uint64_t> loads;
  for (const std::vector<EntityId>& cores : npus) {
    std::uint64_t& load = loads.emplace_back();
    for (const EntityId core : cores) {
      load += weights.of(core.value());
    }
  }
  const auto cuts =
      machine::even_cuts(machine::RunOfLoads(loads), static_cast<std::uint32_t>(ranks));
  SparseTable owner(platform.machine.topology->nodes(), no_owner);
  for (std::uint32_t rank = 0; rank + 1 < cuts.size(); ++rank) {
    for (std::uint32_t npu = cuts[rank]; npu < cuts[rank + 1]; ++npu) {
      for (const EntityId core : npus[npu]) {
        owner.set(core.value(), rank);
      }
    }
  }
  return owner;
}

std::shared_ptr<const workload::GraphSource> ServingJob::graphs(const Platform&) const {
  throw ConfigError("requests are no one Chakra graph: their batches depend on when they come");
}

void ServingJob::number(NextNumbers& next) {
  serving_->first_address = next.address;
  next.address += executor::bytes_of_operands(*serving_);
}

Job::BytesByNode ServingJob::kept(const Platform& platform, const ServingMemory& memory) const {
  BytesByNode kept = kept_in_tiers(*serving_);
  for (const auto& [node, bytes] :
       bytes_by_node(platform.machine, bytes_in_channels(platform.machine, memory, *serving_))) {
    kept[node] += bytes;
  }
  return kept;
}

void ServingJob::share_in(const machine::Machine& machine, ServingMemory& memory) const {
  add_npus(machine, *serving_, memory);
}

void ServingJob::fit(const machine::Machine& machine, const ServingMemory& memory,
                     Section workload) {
  fit_caches(machine, memory, has_idle_time_, *serving_, std::move(workload));
}

const executor::ServingWork* served_by(const Job& job) {
  const auto* const serving = dynamic_cast<const ServingJob*>(&job);
  return serving == nullptr ? nullptr : &serving->serving();
}

}  // namespace tessera::sim
