#include "iteration.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "tenants/joint_work.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/plan/stages/stage_work.hpp"

namespace tessera::sim {
namespace {

// Of the peak bandwidth of memory that operations use, in the mean of an iteration and of devices
// whose operands are in DRAM; 0 of others.
double memory_use(const Experiment& experiment, const trace::Summary& summary) {
  const machine::Machine& machine = experiment.machine;
  if (experiment.planned() == nullptr || machine.channels.empty() ||
      !machine.tiles().front().operands_in_dram || summary.iteration_time_ps == 0) {
    return 0;
  }
  double flops = 0;  // of the stages, of one tile each
  double bytes = 0;
  for (const plan::Stage& stage : experiment.plan().stages) {
    flops += static_cast<double>(plan::flops_of(experiment.plan(), stage.program));
    bytes += static_cast<double>(plan::operand_bytes_of(experiment.plan(), stage.program));
  }
  // Micro-batches that are not simulated have as many bytes to a FLOP.
  const double a_tile = flops > 0 ? summary.executed_flops_per_iteration /
                                        static_cast<double>(summary.tiles) * bytes / flops
                                  : 0;
  const SimTime time = SimTime::from_ps(summary.iteration_time_ps);
  const auto bandwidth = static_cast<double>(machine.channels.front().bandwidth.bytes_per_second());
  return std::min(1.0, a_tile / (bandwidth * time.seconds()));
}

// Shares of an iteration's time in the mean over devices; see machine::Power.
void note_energy(const Experiment& experiment, trace::Summary& summary) {
  const std::optional<machine::Power>& power = experiment.machine.power;
  const SimTime end = SimTime::from_ps(summary.simulated_time_ps);
  if (!power || summary.breakdown.empty() || end == SimTime::zero()) {
    return;
  }
  double computes = 0;
  double communicates = 0;
  for (const auto& [activity, mean_ps] : summary.breakdown.front().mean_ps) {
    const double share = static_cast<double>(mean_ps) / static_cast<double>(end.ps());
    if (activity == to_string(executor::Activity::compute)) {
      computes += share;
    } else if (activity != to_string(executor::Activity::bubble) &&
               activity != to_string(executor::Activity::memory)) {
      communicates += share;
    }
  }
  summary.power_w_per_tile = power->watts(computes, memory_use(experiment, summary), communicates);
  summary.energy_j_per_iteration = summary.power_w_per_tile * static_cast<double>(summary.tiles) *
                                   SimTime::from_ps(summary.iteration_time_ps).seconds();
}

}  // namespace

void note_iteration(const Experiment& experiment, trace::Summary& summary) {
  const std::int64_t iterations = summary.iterations;
  const SimTime end = SimTime::from_ps(summary.simulated_time_ps);
  summary.iteration_time_ps = (end.ps() + iterations - 1) / iterations;
  const std::unique_ptr<Work> work = work_of(experiment);
  summary.throughput_samples_per_s =
      static_cast<double>(work->samples()) * static_cast<double>(iterations) / end.seconds();
  summary.achieved_flops_per_s = summary.throughput_samples_per_s * work->flops_of_sample();
  note_energy(experiment, summary);
}

}  // namespace tessera::sim
