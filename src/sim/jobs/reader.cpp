#include "jobs/reader.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "jobs/memory.hpp"
#include "jobs/several.hpp"
#include "jobs/uncut.hpp"
#include "programs/settle_placement.hpp"
#include "programs/slowest_tiles.hpp"
#include "tessera/config/name.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/error.hpp"
#include "tessera/sim/experiment_keys.hpp"
#include "tessera/workload/keys.hpp"

namespace tessera::sim {
namespace {

using config::Section;
using config::Value;

constexpr std::uint64_t most_iterations = 1'000'000'000;
constexpr std::size_t most_services = 200;  // that traces tell apart beside what else tiles do

Value workload_of(const Value& job) {
  const Value::Member* const workload = job.find("workload");
  return workload == nullptr ? Value() : workload->value;
}

std::vector<std::string> names_of(const std::vector<PlacedJob>& jobs) {
  std::vector<std::string> names;
  for (const PlacedJob& placed : jobs) {
    names.push_back(placed.name);
  }
  return names;
}

// Why a job cannot be done as often as it says; "" when it can.
std::string iterations_objection(const Job& job) {
  if (job.iterations > 1 && !job.repeat_objection().empty()) {
    return job.repeat_objection();
  }
  const std::uint64_t inside = job.inner_iterations();
  return job.iterations * inside > most_iterations
             ? "with " + std::to_string(inside) + " iterations in each graph more than " +
                   std::to_string(most_iterations) + " in all"
             : "";
}

}  // namespace

std::vector<const char*> needed_parts(const Value& job) {
  const WorkKind* const kind = find_work_kind(kind_of(workload_of(job)));
  return kind == nullptr ? std::vector<const char*>{"workload"} : kind->parts;
}

JobsReader::JobsReader(Experiment& experiment, Section section, Section machine,
                       const config::TextLoader& load)
    : experiment_(experiment),
      section_(std::move(section)),
      machine_(std::move(machine)),
      load_(load) {}

bool JobsReader::read() {
  Section workload = section_.section("workload");
  experiment_.kind = work_kind_key().read(workload);
  const WorkKind* const kind = find_work_kind(experiment_.kind);
  if (kind == nullptr) {
    return false;
  }
  experiment_.workload = config::checked_name(
      workload, "name", workload::title_key().read(workload, experiment_.kind));
  bool is_whole = true;
  for (JobEntry& entry : entries(*kind, is_whole)) {
    is_whole = read_job(std::move(entry)) && is_whole;
  }
  return is_whole;
}

std::vector<JobEntry> JobsReader::entries(const WorkKind& kind, bool& is_whole) {
  if (!kind.list) {
    return {{"", experiment_.machine.topology->computing_node_ids(), SimTime::zero(), std::nullopt,
             section_}};
  }
  refuse_cutting(section_, "each tenant has its own, beside its workload");
  std::vector<JobEntry> entries;
  is_whole = kind.list(section_, experiment_, entries);
  return entries;
}

bool JobsReader::read_job(JobEntry entry) {
  Section& section = entry.section;
  const Value workload = section.raw("workload");
  Section own = section.section("workload");
  const std::string name = work_kind_key().read(own);
  const WorkKind* const kind = find_work_kind(name);
  if (kind == nullptr) {
    return false;
  }
  if (!kind->read) {
    section.error("workload", "a tenant has no tenants of its own");
    return false;
  }
  for (const char* part : kind->parts) {
    if (!section.has(part)) {
      section.error(part, "missing; give a mapping or the path of a file");
      return false;
    }
  }
  const bool has_place = !entry.tiles.empty() && experiment_.compute && experiment_.network;
  if (!has_place && !entry.name.empty()) {
    return false;
  }
  auto reader =
      kind->read({experiment_, section, machine_, {entry.tiles, entry.name.empty()}, load_});
  std::unique_ptr<Job> job = reader->read();
  if (!job) {
    return false;
  }
  experiment_.jobs.push_back({entry.name, entry.tiles, entry.start, std::move(job)});
  readings_.push_back({std::move(entry), std::move(reader)});
  return true;
}

bool JobsReader::uses_host() const {
  return std::any_of(readings_.begin(), readings_.end(),
                     [](const Reading& reading) { return reading.reader->uses_host(); });
}

bool JobsReader::uses_coherence() const {
  return std::any_of(readings_.begin(), readings_.end(),
                     [](const Reading& reading) { return reading.reader->uses_coherence(); });
}

bool JobsReader::uses_remote_memory() const {
  return std::any_of(readings_.begin(), readings_.end(),
                     [](const Reading& reading) { return reading.reader->uses_remote_memory(); });
}

bool JobsReader::uses_framework() const {
  return std::any_of(readings_.begin(), readings_.end(),
                     [](const Reading& reading) { return reading.reader->uses_framework(); });
}

compute::WorkTraits JobsReader::traits() const {
  compute::WorkTraits all = compute::WorkTraits::nothing();
  for (const Reading& reading : readings_) {
    all.add(reading.reader->traits());
  }
  return all;
}

void JobsReader::apply(const RunOptions& options) {
  note_unused_iterations(options);
  std::size_t services = 0;
  for (std::size_t i = 0; i < readings_.size(); ++i) {
    Reading& reading = readings_[i];
    Job& job = *experiment_.jobs[i].job;
    const bool is_alone = reading.entry.name.empty();
    job.iterations = reading.entry.iterations.value_or(
        is_alone ? options.iterations : job.usual_iterations().value_or(options.iterations));
    check_iterations(reading, job);
    if (options.replay) {
      const std::string objection =
          readings_.size() == 1 ? reading.reader->replay_objection()
                                : "repeats the micro-batches of one workload, and these are " +
                                      several(names_of(experiment_.jobs)) +
                                      "; leave it out, or keep one of them in the list";
      if (!objection.empty()) {
        section_.section("run").error("replay", objection);
        return;
      }
    }
    services += job.services();
    if (!is_alone && job.services() > 0 && services > most_services) {
      reading.entry.section.error("workload", "with those before requests are served of " +
                                                  std::to_string(services) + " tenants; at most " +
                                                  std::to_string(most_services) + " are possible");
      return;
    }
  }
}

void JobsReader::note_unused_iterations(const RunOptions& options) {
  const auto has_own = [&](const Reading& reading) {
    const Job& job = *experiment_.jobs[static_cast<std::size_t>(&reading - readings_.data())].job;
    return !reading.entry.name.empty() &&
           (reading.entry.iterations || job.usual_iterations().has_value());
  };
  if (options.iterations != RunOptions{}.iterations && std::ranges::all_of(readings_, has_own)) {
    Section run = section_.section("run");
    config::note_without_effect(run, "iterations",
                                "tenants that state their own, or whose work is done once");
  }
}

void JobsReader::check_iterations(const Reading& reading, const Job& job) {
  const std::string fault = iterations_objection(job);
  if (fault.empty()) {
    return;
  }
  Section section = reading.entry.section;
  if (reading.entry.name.empty()) {
    section_.section("run").error("iterations", fault);
  } else {
    section.error(reading.entry.iterations ? "iterations" : "workload", fault);
  }
}

// A plan that runs as graphs lies where its programs would.
void JobsReader::place_graphs(JobReader& reader, PlacedJob& placed) {
  std::unique_ptr<Job> programs = reader.as_programs();
  if (programs == nullptr) {
    return;
  }
  programs->iterations = placed.job->iterations;
  reader.plan(*programs);
  std::swap(placed.job, programs);
  settle_placement(experiment_, placed);
  std::swap(placed.job, programs);
  reader.take_placement(std::move(*programs->planned()));
}

void JobsReader::plan() {
  std::vector<Section> sections;
  for (std::size_t i = 0; i < readings_.size(); ++i) {
    place_graphs(*readings_[i].reader, experiment_.jobs[i]);
    readings_[i].reader->plan(*experiment_.jobs[i].job);
    settle_placement(experiment_, experiment_.jobs[i]);
    sections.push_back(readings_[i].entry.section);
  }
  share_memories(experiment_, sections);
  number_jobs(experiment_);
  slow_down_to_slowest(experiment_);
}

}  // namespace tessera::sim
