#include "description.hpp"

#include <memory>
#include <utility>

#include "jobs/tenant_numbers.hpp"
#include "tessera/core/version.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::sim {
namespace {

// Of jobs that log messages in full traces.
void note_lumped_messages(const Experiment& experiment, trace::Summary& summary) {
  if (experiment.options.trace != TraceLevel::full || !experiment.network->lumps_rings()) {
    return;
  }
  for (const PlacedJob& placed : experiment.jobs) {
    if (placed.job->logs_messages()) {
      summary.notes.push_back(
          (placed.name.empty() ? "" : placed.name + ": ") +
          "messages of collectives that are one ring are not in the table `messages`, as their "
          "steps may be lumped (machine.network.uncontended_steps)");
    }
  }
}

}  // namespace

std::string name_of(TraceLevel level) {
  switch (level) {
    case TraceLevel::none:
      return "none";
    case TraceLevel::summary:
      return "summary";
    case TraceLevel::full:
      return "full";
  }
  throw InternalError("a trace level outside its list");
}

trace::Summary described(const Experiment& experiment, const comm::Communicator& communicator,
                         const CutChoice& cut) {
  trace::Summary summary;
  summary.experiment = experiment.name;
  summary.machine = experiment.machine.name;
  summary.workload = experiment.workload;
  summary.ideal_time_ps = experiment.ideal_time().ps();
  const std::unique_ptr<Work> work = work_of(experiment);
  summary.iterations = work->iterations();
  summary.notes = experiment.notes;
  for (std::string& note : work->notes()) {
    summary.notes.push_back(std::move(note));
  }
  note_lumped_messages(experiment, summary);
  for (std::string& note : experiment.network->notes(experiment.machine)) {
    summary.notes.push_back(std::move(note));
  }
  for (std::string& note : notes_of_sharing(experiment)) {
    summary.notes.push_back(std::move(note));
  }
  const auto accessed = work->accessed();
  if (experiment.memory && (!accessed || accessed->read + accessed->written > 0)) {
    for (std::string& note : experiment.memory->notes(experiment.machine)) {
      summary.notes.push_back(std::move(note));
    }
  }
  summary.tiles = work->tiles();
  summary.peak_flops_per_s = work->peak_flops_per_s();
  summary.samples_per_iteration = work->samples();
  summary.flops_per_iteration = work->flops_of_sample() * static_cast<double>(work->samples());
  summary.executed_flops_per_iteration = work->flops_done();
  summary.ranks = communicator.size();
  summary.communicator = communicator.description();
  summary.partition = cut.name;
  summary.synchronization = experiment.options.synchronization;
  summary.trace = name_of(experiment.options.trace);
  summary.version = version();
  summary.git_hash = git_hash();
  summary.mpi = comm::mpi_version();
  summary.hdf5 = trace::hdf5_version();
  summary.weights = experiment.options.weights;
  const machine::Partition& partition = cut.partition;
  const Forecast expected = forecast(experiment, partition);
  summary.links = expected.links;
  summary.cut_links = partition.cut_links;
  summary.imbalance = partition.imbalance;
  summary.predicted_bytes = expected.largest_bytes;
  return summary;
}

}  // namespace tessera::sim
