#include "capacity/rate_searches.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "capacity/more_requests.hpp"
#include "capacity/rate_line.hpp"
#include "spread.hpp"
#include "sweep/line_fields.hpp"
#include "tessera/comm/first_rank.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/simulation.hpp"
#include "usual_settings.hpp"

namespace tessera::explore {
namespace {

// Throws ConfigError where there are none.
void check_targets(const config::Value& root, const std::string& job) {
  const config::Value* const tenants = value_at(root, job + "workload.tenants");
  const std::vector<config::Value> all =
      tenants == nullptr ? std::vector<config::Value>() : tenants->items;
  if (std::any_of(all.begin(), all.end(), has_target)) {
    return;
  }
  const bool are_jobs = std::any_of(all.begin(), all.end(), [](const config::Value& tenant) {
    return tenant.find("workload") != nullptr;
  });
  if (are_jobs && all.size() > 1) {
    throw ConfigError(
        "workload.tenants: a rate is searched of a service that has the machine, and "
        "these are " +
        std::to_string(all.size()) + " jobs; give it an experiment of its own");
  }
  throw ConfigError(are_jobs ? "workload.tenants.0.workload: serves no requests"
                             : "none of " + job +
                                   "workload.tenants has a 'target' that could be met, nor has a "
                                   "class of theirs");
}

// Requests of a file have times, which a speed divides, in place of a rate.
std::string hint_of_speed(const config::Value& root, const std::string& key) {
  constexpr std::string_view of_rate = ".rate";
  if (!key.ends_with(of_rate)) {
    return "";
  }
  const std::string speed = key.substr(0, key.size() - of_rate.size()) + ".speed";
  return value_at(root, speed) == nullptr ? ""
                                          : "; its requests come from a file: give --rate " + speed;
}

}  // namespace

CapacityRequest in_its_place(CapacityRequest request, const config::TextLoader& load) {
  const std::string job = sim::path_of_single_job(request.experiment, request.overrides, load);
  const config::Value root = sim::read_configuration(request.experiment, request.overrides, load);
  if (!job.empty() && value_at(root, job + "workload.tenants") != nullptr) {
    request.job = job;
    if (request.key.starts_with("workload.") && !request.key.starts_with(job + "workload.")) {
      request.key.insert(0, job);
    }
  }
  return request;
}

RateSearches::RateSearches(const CapacityRequest& request, const config::TextLoader& load,
                           comm::Communicator& communicator)
    : request_(request), communicator_(communicator), texts_([this, load](const std::string& path) {
        if (!in_step_) {
          throw IoError("cannot read " + path + ": it was not there when the search began");
        }
        return load(path);
      }) {}

config::Value RateSearches::configuration() {
  return sim::read_configuration(request_.experiment, request_.overrides, texts_.loader());
}

double RateSearches::first_rate() {
  config::Value root = configuration();
  check_targets(root, request_.job);
  if (value_at(root, request_.key) == nullptr) {
    const sim::Experiment experiment =
        sim::read_experiment(request_.experiment, alone_and_untraced(request_.overrides), loader());
    config::Diagnostics diagnostics;
    root = config::parse("", experiment.resolved, diagnostics);
    diagnostics.throw_if_any();
  }
  const config::Value* const rate = value_at(root, request_.key);
  double first = 0;
  if (rate != nullptr) {
    std::string problem;
    first = config::parse_as<double>(rate->text, problem).value_or(0.0);
  }
  if (!(first > 0) || !std::isfinite(first)) {
    // What is no rate at all is refused where it stands.
    sim::read_experiment(request_.experiment, alone_and_untraced(request_.overrides), loader());
    throw ConfigError(request_.key + ": the experiment has no such rate to begin with" +
                      hint_of_speed(root, request_.key));
  }
  if (!request_.key.ends_with(".requests.rate") && !request_.key.ends_with(".requests.speed")) {
    throw ConfigError(request_.key +
                      ": is no rate of requests, as workload.tenants.N.requests.rate or "
                      "workload.tenants.N.requests.speed");
  }
  return first;
}

void RateSearches::keep_in(const SearchPlace& place, const trace::JsonText& question) {
  RateTask own;
  own.settings = request_.overrides;
  const std::vector<std::string> files = read_files({own});  // which the answer depends on
  folder_.emplace(place, question, texts_.hash({}, files), communicator_);
  for (const std::string& line : folder_->kept()) {
    const std::size_t end = line.find(field_separator);
    if (end == std::string::npos) {
      continue;
    }
    const std::string row = line.substr(end + 1);
    try {
      capacity_row_from(row);
      known_.insert_or_assign(line.substr(0, end), row);
    } catch (const ConfigError&) {
      continue;  // cut by a kill
    }
  }
}

void RateSearches::write(const CapacityOutcome& outcome) {
  if (folder_) {
    comm::on_first_rank(communicator_, [&] { folder_->write("plan.json", to_json(outcome)); });
  }
}

void RateSearches::note(const std::string& text) const {
  if (communicator_.rank() == 0 && request_.on_note) {
    request_.on_note(text);
  }
}

// All that tasks lead to, which may not be the same files. Gives those beside configurations.
std::vector<std::string> RateSearches::read_files(const std::vector<RateTask>& tasks) {
  std::vector<std::string> files;
  for (const RateTask& task : tasks) {
    try {
      const sim::Experiment experiment =
          sim::read_experiment(request_.experiment, alone_and_untraced(task.settings), loader());
      files.insert(files.end(), experiment.files.begin(), experiment.files.end());
    } catch (const ConfigError&) {
      continue;  // its own search will say so
    }
  }
  return files;
}

// Empty: it was stopped.
std::string RateSearches::search(double first, const RateTask& task,
                                 const config::TextLoader& load) {
  // Earlier builds had " above ", and found larger rates.
  const std::string key = as_field(join(task.settings, " ")) + " beyond " +
                          format_number(task.to_beat ? task.to_beat->rate : 0) +
                          (task.found ? " confirming " + format_number(task.found->rate) : "");
  if (const auto found = known_.find(key); found != known_.end()) {
    return found->second;
  }
  if (request_.stop_requested && request_.stop_requested()) {
    return "";
  }
  const std::optional<CapacityRow> row = RateSearch(request_, load, task.settings).run(first, task);
  std::string line = row ? to_line(*row) : "";
  if (row && folder_) {
    folder_->keep(key + field_separator + line);
  }
  return line;
}

std::vector<std::optional<CapacityRow>> RateSearches::run(double first,
                                                          const std::vector<RateTask>& tasks) {
  if (communicator_.size() > 1) {
    read_files(tasks);
    in_step_ = false;
  }
  const config::TextLoader load = loader();
  const std::vector<std::string> lines =
      spread(communicator_, tasks.size(),
             [&](std::size_t number) { return search(first, tasks[number], load); });
  in_step_ = true;
  std::vector<std::optional<CapacityRow>> rows;
  for (const std::string& line : lines) {
    rows.push_back(line.empty() ? std::nullopt : std::optional(capacity_row_from(line)));
  }
  return rows;
}

}  // namespace tessera::explore
