#include "sweep/columns.hpp"

#include <algorithm>
#include <variant>

#include "sweep/service_columns.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/sim/job.hpp"
#include "tessera/trace/store/json.hpp"

namespace tessera::explore {
namespace {

struct PlanColumn {
  const char* name;
  const char* description;
  Bytes (*of)(const plan::StageMemory&);  // the largest of all stages
};

constexpr std::array plan_columns{
    PlanColumn{"memory_per_tile_bytes", "of the tile that needs most, when it holds most",
               [](const plan::StageMemory& memory) { return memory.peak.total(); }},
    PlanColumn{"weights_per_tile_bytes",
               "weights, gradients and optimizer state of the tile that needs most",
               [](const plan::StageMemory& memory) { return memory.weight_state(); }},
    PlanColumn{"activations_per_tile_bytes", "activations of the tile that needs most",
               [](const plan::StageMemory& memory) { return memory.activations(); }},
    PlanColumn{"dram_per_tile_bytes", "of that, what is kept in DRAM; of the tile with most",
               [](const plan::StageMemory& memory) { return memory.in_dram(); }}};

constexpr const char* micro_batches = "micro_batches";
// Before names of what work measures, of one of several tenants with its name between them.
const std::string measured(measured_head);

Bytes largest(const plan::Plan& plan, Bytes (*of)(const plan::StageMemory&)) {
  Bytes most;
  for (const plan::Stage& stage : plan.stages) {
    most = std::max(most, of(stage.memory));
  }
  return most;
}

// The numbers that any summary has.
const std::map<std::string, std::string>& summary_columns() {
  static const std::map<std::string, std::string> columns = [] {
    trace::Summary summary;
    for (auto* bytes : {&summary.message_bytes, &summary.collective_bytes,
                        &summary.memory_read_bytes, &summary.memory_written_bytes}) {
      *bytes = 0;
    }
    summary.memory_bytes = 0;
    for (const char* name : {"total", "stage 0"}) {
      trace::Breakdown breakdown{name, 0, {}};
      for (std::size_t i = 0; i < executor::activities; ++i) {
        breakdown.mean_ps.emplace_back(to_string(static_cast<executor::Activity>(i)), 0);
      }
      summary.breakdown.push_back(std::move(breakdown));
    }
    trace::PeakMemory peak;
    for (std::size_t part = 0; part < plan::memory_parts; ++part) {
      peak.parts.emplace_back(to_string(static_cast<plan::MemoryPart>(part)), 0);
    }
    peak.parts.emplace_back("cache", 0);  // of services
    summary.peak_memory.push_back(std::move(peak));
    trace::Service service;
    service.cost_a_million_tokens = 0;
    service.windows.resize(1);
    summary.services = summary.service_totals = {service};
    return numbers_of(summary);
  }();
  return columns;
}

// The name with the number of its stage, if it has one, replaced by 0.
std::string of_any_stage(const std::string& name) {
  for (const std::string head : {"breakdown.stages.", "peak_memory.stages."}) {
    const std::size_t end = name.find_first_not_of("0123456789", head.size());
    if (name.starts_with(head) && end != std::string::npos && end != head.size()) {
      return head + "0" + name.substr(end);
    }
  }
  return name;
}

// Without the tenant that has measured it.
std::string of_any_tenant(const std::string& name) {
  return name.starts_with(measured) ? measured + name.substr(name.rfind('.') + 1) : name;
}

}  // namespace

bool is_column(const std::string& name) {
  if (is_of_services(name)) {
    return split_name(name).has_value();
  }
  const std::vector<std::string> known = known_columns();
  return std::find(known.begin(), known.end(), of_any_stage(of_any_tenant(name))) != known.end();
}

std::vector<std::string> known_columns() {
  std::vector<std::string> names;
  for (const PlanColumn& column : plan_columns) {
    names.emplace_back(column.name);
  }
  names.emplace_back(micro_batches);
  for (const auto& [name, number] : summary_columns()) {
    names.push_back(name);
  }
  for (const std::string& kind : sim::work_kind_names()) {
    for (const std::string& name : sim::find_work_kind(kind)->measures) {
      names.push_back(measured + name);
    }
  }
  return names;
}

std::vector<std::string> measured_columns(const config::Value& experiment) {
  std::vector<std::string> names;
  const auto add = [&](const config::Value& job, const std::string& tenant) {
    const config::Value::Member* const workload = job.find("workload");
    const sim::WorkKind* const kind =
        workload == nullptr ? nullptr : sim::find_work_kind(sim::kind_of(workload->value));
    for (std::size_t i = 0; kind != nullptr && i < kind->measures.size(); ++i) {
      names.push_back(measured + tenant + kind->measures[i]);
    }
    return kind;
  };
  const sim::WorkKind* const kind = add(experiment, "");
  if (kind == nullptr || !kind->jobs) {
    return names;
  }
  config::Value workload = experiment.find("workload")->value;
  for (const config::Value* const job : kind->jobs(workload)) {
    const config::Value::Member* const name = job->find("name");
    add(*job, name == nullptr ? "" : name->value.text + ".");
  }
  return names;
}

std::vector<std::string> usual_columns(const config::Value& experiment, bool work_varies) {
  std::vector<std::string> names{default_objective, "iteration_time_ps"};
  const std::vector<std::string> of_services = usual_service_columns(experiment);
  if (of_services.empty() || work_varies) {
    names.emplace_back(plan_columns.front().name);  // services have no plan
  }
  names.insert(names.end(), of_services.begin(), of_services.end());
  return names;
}

SweepObjective usual_objective(const config::Value& experiment, bool work_varies) {
  if (const std::string name = work_varies ? "" : met_column(experiment); !name.empty()) {
    return {name, true};
  }
  const config::Value::Member* const workload = experiment.find("workload");
  const sim::WorkKind* const kind =
      workload == nullptr ? nullptr : sim::find_work_kind(sim::kind_of(workload->value));
  return kind == nullptr || kind->smallest_is_best.empty()
             ? SweepObjective{default_objective, true}
             : SweepObjective{measured + kind->smallest_is_best, false};
}

SweepColumn describe_column(const std::string& name) {
  for (const PlanColumn& column : plan_columns) {
    if (name == column.name) {
      return {name, "B", column.description};
    }
  }
  if (name == micro_batches) {
    return {name, "", "micro-batches of one iteration in each replica"};
  }
  if (is_of_services(name)) {
    return {name, unit_of_number(name), "of a service, as its summary has it"};
  }
  return {name, unit_of_number(name), "of the point's summary"};
}

std::map<std::string, std::string> numbers_of_point(const sim::Experiment& experiment,
                                                    const trace::Summary& summary) {
  std::map<std::string, std::string> numbers = numbers_of(summary);
  if (summary.energy_j_per_iteration == 0) {  // the machine states no power
    numbers.erase("energy_j_per_iteration");
    numbers.erase("power_w_per_tile");
  }
  for (const trace::Measured& of_job : summary.measured) {
    const std::string head = measured + (of_job.tenant.empty() ? "" : of_job.tenant + ".");
    for (const trace::Measure& measure : of_job.measures) {
      numbers[head + measure.name] =
          std::visit([](auto value) { return trace::Json(value).text(); }, measure.value);
    }
  }
  name_services(summary, numbers);
  if (experiment.planned() == nullptr) {
    return numbers;  // without a plan there are none of it
  }
  for (const PlanColumn& column : plan_columns) {
    numbers[column.name] = std::to_string(largest(experiment.plan(), column.of).count());
  }
  numbers[micro_batches] = std::to_string(experiment.plan().strategy.micro_batches);
  return numbers;
}

}  // namespace tessera::explore
