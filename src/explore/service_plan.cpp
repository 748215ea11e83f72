#include "tessera/explore/service_plan.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "rate_search.hpp"
#include "tessera/core/error.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::explore {
namespace {

const std::string tenant_path = "workload.tenants.0.";

struct Layout {
  std::uint64_t tensor = 1;
  std::uint64_t pipeline = 1;
  std::uint64_t replicas = 1;
  std::uint64_t prefill = 0;  // of the replicas
  std::string chunk;          // as written; empty: as the experiment has it

  std::vector<std::string> values(bool with_chunk) const {
    std::vector<std::string> list{std::to_string(tensor), std::to_string(pipeline),
                                  std::to_string(replicas), std::to_string(prefill)};
    if (with_chunk) {
      list.push_back(chunk);
    }
    return list;
  }
};

std::uint64_t whole_at(const config::Value& root, const std::string& path, std::uint64_t usual) {
  const config::Value* const value = value_at(root, path);
  std::uint64_t number = usual;
  if (value != nullptr) {
    std::from_chars(value->text.data(), value->text.data() + value->text.size(), number);
  }
  return std::max<std::uint64_t>(number, 1);
}

// Tokens of a step: the experiment's own, and others where it lets prompts go in parts.
std::vector<std::string> chunks_of(const config::Value& root) {
  const config::Value* const own = value_at(root, tenant_path + "batching.chunk");
  std::vector<std::string> chunks;
  if (own != nullptr) {
    chunks = {own->text, "512", "2048", "8192"};
    for (auto again = chunks.begin() + 1; again != chunks.end();) {
      again = *again == own->text ? chunks.erase(again) : again + 1;
    }
  }
  return chunks;
}

// All NPUs are used as far as whole replicas go; what has no place is refused when it is tried.
std::vector<Layout> layouts(std::uint64_t npus, const std::vector<std::string>& chunks) {
  std::vector<Layout> list;
  for (std::uint64_t tensor = 1; tensor <= npus; tensor *= 2) {
    for (std::uint64_t pipeline = 1; tensor * pipeline <= npus; pipeline *= 2) {
      Layout layout{tensor, pipeline, npus / (tensor * pipeline), 0, {}};
      std::vector<std::uint64_t> apart{0};
      for (const std::uint64_t part : {4, 2}) {  // a quarter, a half of them
        if (layout.replicas >= part && layout.replicas / part != apart.back()) {
          apart.push_back(layout.replicas / part);
        }
      }
      for (const std::uint64_t prefill : apart) {
        layout.prefill = prefill;
        if (chunks.empty()) {
          list.push_back(layout);
        }
        for (const std::string& chunk : chunks) {
          layout.chunk = chunk;
          list.push_back(layout);
        }
      }
    }
  }
  return list;
}

std::uint64_t npus_of(const ServicePlanRequest& request, const config::Value& root) {
  config::Diagnostics diagnostics;
  config::Section all(root, "", diagnostics);
  config::Section section = all.section("machine");
  const auto machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  ensure(machine.has_value(), "a machine was not read and nothing was complained about");
  const std::uint64_t there =
      machine->topology->computing_node_ids().size() / whole_at(root, "workload.npu_cores", 1);
  return request.devices == 0 ? there : std::min(request.devices, there);
}

}  // namespace

bool is_service(const std::string& experiment, const std::vector<std::string>& overrides,
                const config::TextLoader& load) {
  const config::Value root = sim::read_configuration(experiment, overrides, load);
  return value_at(root, tenant_path + "target") != nullptr;
}

ServicePlan plan_service(const ServicePlanRequest& request, const config::TextLoader& load) {
  const config::Value root =
      sim::read_configuration(request.capacity.experiment, request.capacity.overrides, load);
  const double first = first_rate(request.capacity, root);
  if (value_at(root, "workload.tenants")->items.size() != 1) {
    throw ConfigError(
        "plans a service of one tenant; of several, tessera capacity --over searches "
        "values of their keys");
  }
  if (value_at(root, tenant_path + "npus") != nullptr) {
    throw ConfigError(tenant_path + "npus: NPUs are what is planned");
  }
  const std::vector<std::string> chunks = chunks_of(root);
  const std::vector<Layout> candidates = layouts(npus_of(request, root), chunks);

  ServicePlan plan;
  plan.candidates = candidates.size();
  CapacityOutcome& found = plan.found;
  for (const char* const key : {"tensor", "pipeline", "replicas", "prefill"}) {
    found.keys.push_back(tenant_path + key);
  }
  if (!chunks.empty()) {
    found.keys.push_back(tenant_path + "batching.chunk");
  }
  double best = 0;
  for (const Layout& layout : candidates) {
    std::vector<std::string> values = layout.values(!chunks.empty());
    std::vector<std::string> settings;
    for (std::size_t i = 0; i < values.size(); ++i) {
      settings.push_back(found.keys[i] + "=" + values[i]);
    }
    std::vector<std::string> all = request.capacity.overrides;
    all.insert(all.end(), settings.begin(), settings.end());
    std::optional<CapacityRow> row =
        RateSearch(request.capacity, load, std::move(all)).run(first, request.all ? 0 : best);
    if (!row) {
      found.complete = false;
      break;
    }
    if (row->rate > best) {
      best = row->rate;
      plan.best_settings = std::move(settings);
    }
    row->values = std::move(values);
    found.rows.push_back(std::move(*row));
    if (request.capacity.on_note) {
      request.capacity.on_note(std::to_string(found.rows.size()) + " of " +
                               std::to_string(candidates.size()) + " candidates, best rate " +
                               std::to_string(best));
    }
  }
  sort_rows(found);
  return plan;
}

}  // namespace tessera::explore
