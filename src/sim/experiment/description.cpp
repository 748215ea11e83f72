#include "experiment/description.hpp"

#include <memory>
#include <utility>

#include "memory/forecast.hpp"
#include "tessera/core/version.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::sim {
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
  summary.tiles = work->tiles();
  summary.peak_flops_per_s = work->peak_flops_per_s();
  summary.samples_per_iteration = work->samples();
  summary.tokens_per_iteration = work->tokens();
  summary.flops_per_iteration = work->flops_of_sample() * static_cast<double>(work->samples());
  summary.executed_flops_per_iteration = work->flops_done();
  summary.ranks = communicator.size();
  summary.communicator = communicator.description();
  summary.partition = cut.name;
  summary.synchronization = synchronization_of(experiment);
  summary.trace = name_of(experiment.options.trace);
  summary.version = version();
  summary.git_hash = git_hash();
  summary.mpi = comm::mpi_version();
  summary.hdf5 = trace::hdf5_version();
  summary.weights = experiment.options.weights;
  const machine::Partition& partition = cut.partition;
  Forecast expected = forecast_of_run(experiment, partition);
  summary.notes = std::move(expected.notes);
  summary.links = expected.links;
  summary.cut_links = partition.cut_links;
  summary.imbalance = partition.imbalance;
  summary.predicted_bytes = expected.largest_bytes;
  return summary;
}

}  // namespace tessera::sim
