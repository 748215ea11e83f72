#include "tessera/explore/service_plan.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "capacity/rate_searches.hpp"
#include "search/search_folder.hpp"
#include "tessera/core/error.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/sim/cuts/cut_workload.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/sections.hpp"
#include "whole_number.hpp"

namespace tessera::explore {
namespace {

constexpr std::string_view service_heading = "# A service that tessera plan laid out:\n";
// Candidates between two looks at what the best rate is; of any number of ranks.
constexpr std::size_t most_at_a_time = 8;

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
  std::uint64_t npus() const { return tensor * pipeline * replicas; }
  friend bool operator==(const Layout&, const Layout&) = default;
};

std::uint64_t whole_at(const config::Value& root, const std::string& path, std::uint64_t usual) {
  const config::Value* const value = value_at(root, path);
  return value == nullptr ? usual : whole_number(value->text).value_or(usual);
}

// That the experiment has. `tenant`: what its keys begin with.
Layout own_layout(const config::Value& root, const std::string& tenant,
                  const std::vector<std::string>& chunks) {
  const auto count = [&](const char* key, std::uint64_t usual) {
    return whole_at(root, tenant + key, usual);
  };
  return {count("tensor", 1), count("pipeline", 1), count("replicas", 1), count("prefill", 0),
          chunks.empty() ? "" : chunks.front()};
}

// Tokens of a step: the experiment's own, and others where it lets prompts go in parts.
std::vector<std::string> chunks_of(const config::Value& root, const std::string& tenant) {
  const config::Value* const own = value_at(root, tenant + "batching.chunk");
  std::vector<std::string> chunks;
  if (own != nullptr) {
    chunks = {own->text, "512", "2048", "8192"};
    for (auto again = chunks.begin() + 1; again != chunks.end();) {
      again = *again == own->text ? chunks.erase(again) : again + 1;
    }
  }
  return chunks;
}

// The experiment's own first. All NPUs are used as far as whole replicas go; what has no place is
// refused when it is tried.
std::vector<Layout> layouts(std::uint64_t npus, const Layout& own,
                            const std::vector<std::string>& chunks) {
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
  std::erase(list, own);
  if (own.npus() <= npus) {
    list.insert(list.begin(), own);
  }
  return list;
}

std::uint64_t npus_of(const ServicePlanRequest& request, const config::Value& root) {
  config::Diagnostics diagnostics;
  config::Section all(root, "", diagnostics);
  all.declare([] { return sim::sections_of_file("experiment"); });
  config::Section section = all.section("machine");
  auto machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  ensure(machine.has_value(), "a machine was not read and nothing was complained about");
  sim::Platform platform;
  platform.machine = std::move(*machine);
  const std::uint64_t tiles = sim::tiles_of_single_job(all, platform);
  diagnostics.throw_if_any();
  const std::uint64_t cores =
      std::max<std::uint64_t>(whole_at(root, request.capacity.job + "workload.npu_cores", 1), 1);
  const std::uint64_t there = tiles / cores;
  return request.devices == 0 ? there : std::min(request.devices, there);
}

constexpr const char* kind_of_search = "service";

trace::JsonText question_of(const ServicePlanRequest& request) {
  trace::JsonText json = question_about(request.capacity.experiment, request.capacity.overrides);
  json.put("kind", kind_of_search)
      .put("devices", request.devices)
      .put("all", request.all)
      .put("rate", request.capacity.key)
      .put("share", request.capacity.share)
      .put("within", request.capacity.within);
  return json;
}

class Planner {
 public:
  Planner(const ServicePlanRequest& request, comm::Communicator& communicator,
          const config::TextLoader& load)
      : request_(request),
        tenant_(request.capacity.job + "workload.tenants.0."),
        searches_(request.capacity, load, communicator) {}

  ServicePlan run() {
    const config::Value root = searches_.configuration();
    check(root);
    first_ = searches_.first_rate();
    const std::vector<std::string> chunks = chunks_of(root, tenant_);
    layouts_ = layouts(npus_of(request_, root), own_layout(root, tenant_, chunks), chunks);
    plan_.candidates = layouts_.size();
    if (!request_.folder.empty()) {
      searches_.keep_in({request_.folder, request_.resume, request_.capacity.experiment},
                        question_of(request_));
    }
    for (const char* const key : {"tensor", "pipeline", "replicas", "prefill"}) {
      plan_.found.keys.push_back(tenant_ + key);
    }
    if (!chunks.empty()) {
      plan_.found.keys.push_back(tenant_ + "batching.chunk");
    }
    std::size_t count = 1;
    for (std::size_t begin = 0; begin < layouts_.size() && plan_.found.complete; begin += count) {
      count = std::min(begin == 0 ? 1 : 2 * count, most_at_a_time);
      look_at(begin, std::min(layouts_.size(), begin + count));
    }
    sort_rows(plan_.found);
    confirm();
    write(plan_.found.complete);
    if (!plan_.best_settings.empty()) {
      plan_.best_yaml = best_yaml();
    }
    return std::move(plan_);
  }

 private:
  void check(const config::Value& root) const {
    const std::string list = request_.capacity.job + "workload.tenants";
    const config::Value* const tenants = value_at(root, list);
    const std::size_t count = tenants == nullptr ? 0 : tenants->items.size();
    if (count > 1) {
      throw ConfigError(list + ": a plan lays out the service of one tenant, and there are " +
                        std::to_string(count) +
                        "; tessera capacity --over searches values of their keys");
    }
    if (value_at(root, tenant_ + "npus") != nullptr) {
      throw ConfigError(tenant_ + "npus: NPUs are what is planned");
    }
  }

  void look_at(std::size_t begin, std::size_t end) {
    std::vector<RateTask> tasks;
    std::vector<std::vector<std::string>> values;
    for (std::size_t number = begin; number < end; ++number) {
      values.push_back(layouts_[number].values(plan_.found.keys.size() > 4));
      RateTask& task = tasks.emplace_back();
      task.settings = settings_with(values.back());
      task.to_beat = request_.all ? std::nullopt : best_;
    }
    std::vector<std::optional<CapacityRow>> rows = searches_.run(first_, tasks);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i]) {
        plan_.found.complete = false;
        continue;
      }
      if (rows[i]->is_met() && (!best_ || is_better(*rows[i], *best_))) {
        best_ = rows[i];
        plan_.best_settings = settings_of(values[i]);
      }
      rows[i]->values = std::move(values[i]);
      plan_.found.rows.push_back(std::move(*rows[i]));
    }
    plan_.found.left = layouts_.size() - plan_.found.rows.size();
    write(false);
    searches_.note(std::to_string(plan_.found.rows.size()) + " of " +
                   std::to_string(layouts_.size()) + " candidates, best rate " +
                   (best_ ? rate_text(best_->rate) : "0"));
  }

  // What is known so far.
  void write(bool has_ended) {
    CapacityOutcome so_far = plan_.found;
    so_far.complete = has_ended;
    sort_rows(so_far);
    searches_.write(so_far);
  }

  // The best; where it is confirmed at a smaller rate alone, the next that is the best then.
  void confirm() {
    std::vector<std::vector<std::string>> confirmed;
    std::vector<CapacityRow>& rows = plan_.found.rows;
    while (plan_.found.complete && !rows.empty() && rows.front().is_met() &&
           std::ranges::find(confirmed, rows.front().values) == confirmed.end()) {
      confirmed.push_back(rows.front().values);
      RateTask task;
      task.settings = settings_with(confirmed.back());
      task.found = rows.front();
      std::optional<CapacityRow> row = searches_.run(first_, {task}).front();
      plan_.found.complete = row.has_value();
      if (row) {
        row->values = confirmed.back();
        rows.front() = std::move(*row);
        sort_rows(plan_.found);
        write(false);
      }
    }
    const bool is_met = !rows.empty() && rows.front().is_met();
    best_ = is_met ? std::optional(rows.front()) : std::nullopt;
    plan_.best_settings = is_met ? settings_of(rows.front().values) : std::vector<std::string>();
  }

  // All of them, the experiment's among them.
  std::vector<std::string> settings_with(const std::vector<std::string>& values) const {
    std::vector<std::string> settings = request_.capacity.overrides;
    const std::vector<std::string> own = settings_of(values);
    settings.insert(settings.end(), own.begin(), own.end());
    return settings;
  }

  std::vector<std::string> settings_of(const std::vector<std::string>& values) const {
    std::vector<std::string> settings;
    for (std::size_t i = 0; i < values.size(); ++i) {
      settings.push_back(plan_.found.keys[i] + "=" + values[i]);
    }
    return settings;
  }

  std::string best_yaml() {
    std::vector<std::string> settings = request_.capacity.overrides;
    std::string layout;
    for (const std::string& setting : plan_.best_settings) {
      settings.push_back(setting);
      layout += (layout.empty() ? "" : ", ") + setting.substr(tenant_.size());
    }
    return std::string(service_heading) +
           (plan_.found.complete ? "" : "# The search was stopped: " + plan_.how_far() + ".\n") +
           "# " + layout + ".\n" + up_to() +
           sim::read_experiment(request_.capacity.experiment, settings, searches_.loader())
               .resolved;
  }

  std::string up_to() const {
    return "# Meets its targets up to " + request_.capacity.key + "=" + rate_text(best_->rate) +
           ", which is not set here.\n";
  }

  const ServicePlanRequest& request_;
  std::string tenant_;  // what its keys begin with
  RateSearches searches_;
  double first_ = 0;
  std::optional<CapacityRow> best_;
  std::vector<Layout> layouts_;
  ServicePlan plan_;
};

}  // namespace

namespace {

bool has_service(const config::Value& root) {
  const config::Value* const tenants = value_at(root, "workload.tenants");
  // Others share the machine for work of their own.
  return tenants != nullptr &&
         std::any_of(tenants->items.begin(), tenants->items.end(), [](const config::Value& tenant) {
           return tenant.find("target") != nullptr || tenant.find("workload") == nullptr;
         });
}

}  // namespace

bool is_service(const std::string& experiment, const std::vector<std::string>& overrides,
                const config::TextLoader& load) {
  return has_service(sim::read_single_job(experiment, overrides, {}, load));
}

std::optional<ServicePlanRequest> service_request_in(const std::string& folder) {
  const Question question(folder);
  if (question.text("kind") != kind_of_search) {
    return std::nullopt;
  }
  ServicePlanRequest request;
  request.capacity.experiment = question.text("experiment");
  request.capacity.overrides = question.texts("overrides");
  request.capacity.key = question.text("rate");
  request.capacity.share = question.real("share");
  request.capacity.within = question.real("within");
  request.devices = question.count("devices");
  request.all = question.text("all") == "true";
  request.folder = folder;
  request.resume = true;
  return request;
}

bool begins_as_service(std::string_view text) {
  return text.starts_with(service_heading);
}

std::string ServicePlan::how_far() const {
  return "rates of " + std::to_string(found.rows.size()) + " of " + std::to_string(candidates) +
         " layouts were searched, " + std::to_string(found.left) + " were left";
}

ServicePlan plan_service(const ServicePlanRequest& request, comm::Communicator& communicator,
                         const config::TextLoader& load) {
  ServicePlanRequest placed = request;
  placed.capacity = in_its_place(request.capacity, load);
  return Planner(placed, communicator, load).run();
}

}  // namespace tessera::explore
