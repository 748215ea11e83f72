#include "results/iteration.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "jobs/joint_work.hpp"
#include "tessera/core/range_error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/sim/work.hpp"

namespace tessera::sim {
namespace {

constexpr double share_of_rounding = 1e-6;  // of times to whole picoseconds

// That all iterations take together.
SimTime time_of_iterations(const Experiment& experiment, const trace::Summary& summary) {
  return SimTime::from_ps(summary.simulated_time_ps) - experiment.begin();
}

// What the memories of tiles at work, and those that keep lines of coherent accesses, move at best,
// in B/s: channels that tiles share count once, and operands in DRAM have the tile's own, at its
// stated rate where no accesses move them. None: the memory knows no bound.
std::optional<double> peak_of_memories(const Experiment& experiment) {
  const machine::Machine& machine = experiment.machine;
  std::set<std::uint32_t> channels;
  double sum = 0;
  for (const PlacedJob& placed : experiment.jobs) {
    if (const auto group = placed.job->coherent_group()) {
      for (const EntityId device : group->devices) {
        channels.insert(machine.channel_of[device.value()]);
      }
    }
  }
  const memory::MemoryModel* const model = experiment.memory.get();
  const std::unique_ptr<Work> work = work_of(experiment);
  const std::optional<Work::Accessed> accessed = work->accessed();
  const bool uses_channels = !accessed || accessed->read + accessed->written > 0;
  for (const EntityId node : work->nodes()) {
    const machine::Tile& tile = machine.tile_of(node);
    if (tile.operands_in_dram && !tile.loads_operands) {
      sum += static_cast<double>(machine.operand_bandwidth(tile).bytes_per_second());
    } else if (uses_channels && node.value() < machine.channel_of.size()) {
      channels.insert(machine.channel_of[node.value()]);
    }
  }
  if (!channels.empty() && model != nullptr && !model->serves_at_node()) {
    for (std::uint32_t channel = 0; channel < machine.channels.size(); ++channel) {
      channels.insert(channel);
    }
  }
  for (const std::uint32_t channel : channels) {
    if (channel >= machine.channels.size()) {
      continue;  // of tiles that have none
    }
    const std::optional<Bandwidth> peak =
        model != nullptr ? model->peak_of(machine, channel) : std::nullopt;
    if (!peak && model != nullptr && !model->goes_by_channels()) {
      return std::nullopt;
    }
    sum +=
        static_cast<double>(peak.value_or(machine.channels[channel].bandwidth).bytes_per_second());
  }
  return sum;
}

bool shares_coherent_memory(const Experiment& experiment) {
  return std::any_of(experiment.jobs.begin(), experiment.jobs.end(), [](const PlacedJob& placed) {
    return placed.job->coherent_group().has_value();
  });
}

// What memories moved, as a share of what they would at their peak in all the time; none: not
// known. More than 1 where each access has the memory for itself, or caches keep a part.
std::optional<double> memory_use(const Experiment& experiment, const trace::Summary& summary) {
  if (!summary.memory_bytes) {
    return std::nullopt;
  }
  if (*summary.memory_bytes == 0) {
    return 0.0;
  }
  const std::optional<double> peak = peak_of_memories(experiment);
  if (!peak || *peak == 0) {
    return std::nullopt;
  }
  const double seconds = time_of_iterations(experiment, summary).seconds();
  return *summary.memory_bytes / (*peak * seconds);
}

// While these are what a tile does it waits for no message.
bool waits_for_no_message(const std::string& activity) {
  using executor::Activity;
  return activity == to_string(Activity::bubble) || activity == to_string(Activity::memory) ||
         activity == to_string(Activity::host);
}

// Shares of an iteration's time in the mean over devices; see machine::Power.
void note_energy(const Experiment& experiment, trace::Summary& summary) {
  const std::optional<machine::Power>& power = experiment.machine.power;
  const SimTime time = time_of_iterations(experiment, summary);
  if (!power || summary.breakdown.empty() || time == SimTime::zero()) {
    return;
  }
  double computes = 0;
  double communicates = 0;
  for (const auto& [activity, mean_ps] : summary.breakdown.front().mean_ps) {
    const double share = static_cast<double>(mean_ps) / static_cast<double>(time.ps());
    if (activity == to_string(executor::Activity::compute)) {
      computes += share;
    } else if (!waits_for_no_message(activity)) {
      communicates += share;
    }
  }
  summary.power_w_per_tile = power->watts(
      computes, std::min(1.0, memory_use(experiment, summary).value_or(0)), communicates);
  summary.energy_j_per_iteration = summary.power_w_per_tile * static_cast<double>(summary.tiles) *
                                   SimTime::from_ps(summary.iteration_time_ps).seconds();
}

}  // namespace

void refuse_endless_accesses(const Experiment& experiment) {
  const machine::MemoryChannels& channels = experiment.machine.channels;
  if (channels.empty() || experiment.memory == nullptr || !experiment.memory->shares_channels() ||
      shares_coherent_memory(experiment)) {
    return;
  }
  const std::optional<Work::Accessed> accessed = work_of(experiment)->accessed();
  const double bytes =
      accessed ? static_cast<double>(accessed->read) + static_cast<double>(accessed->written) : 0;
  std::uint64_t slowest = channels.front().bandwidth.bytes_per_second();
  for (const auto& [channel, count] : channels.kinds()) {
    slowest = std::min(slowest, channel.bandwidth.bytes_per_second());
  }
  const double most_s = SimTime::never().seconds();
  // By the slowest alone first, which needs no look at all tiles.
  if (bytes < most_s * static_cast<double>(slowest)) {
    return;
  }
  const std::optional<double> peak = peak_of_memories(experiment);
  if (peak && bytes > most_s * *peak) {
    constexpr double most_bytes = 1.8e19;  // that 64 bits hold
    throw DurationTooLong(
        std::string("accesses to memory alone take longer than simulated time goes, ") +
            range_of_time,
        static_cast<std::uint64_t>(
            std::min(most_bytes, bytes / *peak * static_cast<double>(slowest))),
        slowest);
  }
}

void note_iteration(const Experiment& experiment, trace::Summary& summary) {
  const std::int64_t iterations = summary.iterations;
  const SimTime time = time_of_iterations(experiment, summary);
  summary.iteration_time_ps = (time.ps() + iterations - 1) / iterations;
  const std::unique_ptr<Work> work = work_of(experiment);
  summary.throughput_samples_per_s =
      static_cast<double>(work->samples()) * static_cast<double>(iterations) / time.seconds();
  summary.achieved_flops_per_s = summary.throughput_samples_per_s * work->flops_of_sample();
  note_energy(experiment, summary);
}

void note_unknown_energy(const Experiment& experiment, trace::Summary& summary) {
  const std::optional<machine::Power>& power = experiment.machine.power;
  if (!power || power->memory_w == 0) {
    return;
  }
  const std::optional<double> use = memory_use(experiment, summary);
  if (!use) {
    summary.notes.emplace_back(
        "power and energy exclude memories: the number of bytes they moved, or could move at best, "
        "is not known (machine.power.memory)");
  } else if (*use > 1 + share_of_rounding) {
    summary.notes.push_back(
        "memories moved " + format_number(std::round(*use * 100) / 100) +
        " times the bytes that their bandwidth allows, as each access has the memory to itself "
        "(machine.memory.model) or caches serve a part; power counts them at their peak");
  }
}

}  // namespace tessera::sim
