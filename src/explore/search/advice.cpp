#include "search/advice.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

#include "tessera/core/text.hpp"

namespace tessera::explore {
namespace {

struct Change {
  std::string what;  // "recompute: full"
  Candidate candidate;
};

// By the candidate changed in one thing each; those that change nothing are left out.
class Changes {
 public:
  Changes(const Candidate& from, const CandidateLimits& limits) : from_(from), limits_(limits) {}

  std::vector<Change> all() {
    for (const plan::Recompute each : {plan::Recompute::selective, plan::Recompute::full}) {
      if (from_.recompute < each && limits_.training &&
          (each == plan::Recompute::full || limits_.selective)) {
        add("recompute: " + explore::name_of(each), [&](Candidate& to) { to.recompute = each; });
      }
    }
    const bool replicas = from_.degrees.data * from_.context > 1;
    for (std::uint32_t zero = from_.zero + 1; zero <= 3 && replicas && limits_.training; ++zero) {
      add("zero: " + std::to_string(zero), [&](Candidate& to) { to.zero = zero; });
    }
    if (from_.shard > 0) {
      add("shard: 0", [](Candidate& to) { to.shard = 0; });
    }
    if (!from_.sequence_parallel && from_.degrees.tensor > 1 && limits_.sequence > 1) {
      add("sequence_parallel: true", [](Candidate& to) { to.sequence_parallel = true; });
    }
    if (from_.micro_batch > 1) {
      add("micro_batch: 1", [](Candidate& to) { to.micro_batch = 1; });
    }
    fewer_replicas();
    more_stages();
    return std::move(changes_);
  }

 private:
  void add(const std::string& what, const std::function<void(Candidate&)>& change) {
    Candidate to = from_;
    change(to);
    changes_.push_back({what, to});
  }

  // The tiles of half the replicas become stages, as far as there are layers for them.
  void fewer_replicas() {
    if (from_.degrees.data % 2 != 0) {
      return;
    }
    const auto stages = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(from_.degrees.pipeline * 2ULL, limits_.layers / from_.chunks));
    add("half the replicas (data: " + std::to_string(from_.degrees.data / 2) +
            ") and pipeline: " + std::to_string(stages),
        [&](Candidate& to) {
          to.degrees.data /= 2;
          to.degrees.pipeline = stages;
          to.expert = std::min(to.expert, to.degrees.data * to.context);
          to.shard = to.degrees.data * to.context % std::max(1U, to.shard) == 0 ? to.shard : 0;
        });
  }

  void more_stages() {
    const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        limits_.layers / from_.chunks, limits_.devices / (std::uint64_t{from_.degrees.tensor} *
                                                          from_.degrees.data * from_.context)));
    if (most > from_.degrees.pipeline) {
      add("pipeline: " + std::to_string(most), [&](Candidate& to) { to.degrees.pipeline = most; });
    }
  }

  const Candidate& from_;
  const CandidateLimits& limits_;
  std::vector<Change> changes_;
};

std::string gigabytes(Bytes bytes) {
  return to_short_string(bytes);
}

std::string place_of(const machine::Machine& machine, const Need& need) {
  return need.channel ? "the DRAM channel at " +
                            machine.topology->node_name(machine.channels[*need.channel].node) +
                            (need.at_peaks ? ", with the SRAM of its tiles," : "")
                      : "the SRAM of a tile";
}

std::string what_is_missing(const machine::Machine& machine, const Forecast& forecast) {
  return forecast.fits() ? "fits"
                         : gigabytes(forecast.need.missing()) + " missing in " +
                               place_of(machine, forecast.need);
}

std::string what_is_kept(const machine::Machine& machine, const Forecast& forecast) {
  const Need& need = forecast.need;
  const plan::StageMemory& memory = forecast.of_stage;
  std::string text = place_of(machine, need) + " would hold " + gigabytes(need.asked) + ", " +
                     gigabytes(need.missing()) + " more than its " + gigabytes(need.capacity) +
                     ": stage " + std::to_string(need.stage) + " needs " +
                     gigabytes(memory.weights) + " weights, " + gigabytes(memory.gradients) +
                     " gradients, " + gigabytes(memory.optimizer) + " optimizer state and " +
                     gigabytes(memory.activations()) + " activations a tile";
  if (need.channel && (need.at_peaks || machine.tile.streams_nothing())) {
    text += ", and holds " + gigabytes(memory.peak.total()) +
            " at its peak, with what is there for a moment and what the framework takes";
  }
  return need.tiles > 1 ? text + ", and " + std::to_string(need.tiles) + " tiles share it" : text;
}

// What so many devices have room for, with their share of all channels.
Bytes room_of(const machine::Machine& machine, std::uint64_t devices) {
  if (machine.channels.empty()) {
    return machine.tile.sram * devices;
  }
  Bytes room;
  for (const auto& [channel, count] : machine.channels.kinds()) {
    room += channel.capacity * count;
  }
  const std::uint64_t all = machine.topology->computing_nodes();
  return devices == all ? room : Bytes(room.count() / all * devices);
}

std::string all_memory(const machine::Machine& machine, const Forecast& forecast,
                       const Candidate& candidate, std::uint64_t devices) {
  const Bytes state = forecast.of_stage.weight_state() *
                      (std::uint64_t{candidate.degrees.pipeline} * candidate.degrees.tensor *
                       (candidate.zero < 3    ? 1
                        : candidate.shard > 0 ? candidate.shard
                                              : candidate.degrees.data * candidate.context));
  const bool is_whole = devices == machine.topology->computing_nodes();
  return "one copy of the model's state is about " + gigabytes(state) + "; " +
         (is_whole ? "the whole machine has" : std::to_string(devices) + " devices have") +
         " room for " + gigabytes(room_of(machine, devices));
}

// "recompute: full, zero: 3": what one has and the other has not.
std::string difference(const Candidate& from, const Candidate& to) {
  constexpr std::string_view job = "strategy.";
  const std::vector<std::string> before = from.settings();
  std::vector<std::string> others;
  for (std::string& setting : to.settings()) {
    if (std::ranges::find(before, setting) == before.end()) {
      setting.replace(setting.find('='), 1, ": ");
      others.push_back(setting.substr(job.size()));
    }
  }
  return join(others);
}

// Takes one change after the other, that which misses least, as long as one helps.
class Combination {
 public:
  explicit Combination(Forecaster& forecaster) : forecaster_(forecaster) {}

  void reach(const Candidate& from, const CandidateLimits& limits) {
    candidate_ = from;
    forecast_ = forecaster_.of(from);
    while (!forecast_.fits() && improve(limits)) {
      ++changes_;
    }
  }
  const Candidate& candidate() const { return candidate_; }
  const Forecast& forecast() const { return forecast_; }
  std::size_t changes() const { return changes_; }

 private:
  bool improve(const CandidateLimits& limits) {
    const Candidate from = candidate_;
    bool helps = false;
    for (const Change& change : Changes(from, limits).all()) {
      const Forecast changed = forecaster_.of(change.candidate);
      const bool is_better = !forecast_.placed || changed.need.share() < forecast_.need.share();
      if (changed.placed && !forecast_.fits() && is_better) {
        candidate_ = change.candidate;
        forecast_ = changed;
        helps = true;
      }
    }
    return helps;
  }

  Forecaster& forecaster_;
  Candidate candidate_;
  Forecast forecast_;
  std::size_t changes_ = 0;
};

// With more replicas that share out the state, or more stages, on twice as many devices and so on;
// empty where that is nowhere enough.
std::string on_more_devices(const Candidate& from, const Candidate& start,
                            const CandidateLimits& limits, const machine::Machine& machine,
                            Forecaster& forecaster) {
  CandidateLimits more = limits;
  std::uint32_t replicas = start.degrees.data;
  for (more.devices *= 2; more.devices <= machine.topology->computing_nodes(); more.devices *= 2) {
    replicas *= 2;
    const bool shares = limits.batch % (std::uint64_t{replicas} * start.micro_batch) == 0;
    for (const bool wider : {false, true}) {
      Candidate candidate = start;
      if (wider && shares) {
        candidate.degrees.data = replicas;
        candidate.zero = limits.training ? 3 : candidate.zero;
      }
      Combination combination(forecaster);
      combination.reach(candidate, more);
      if (combination.forecast().fits()) {
        return "on " + std::to_string(more.devices) + " devices, with " +
               difference(from, combination.candidate()) + ": fits";
      }
    }
  }
  return "";
}

}  // namespace

Advice advise(const Candidate& candidate, const CandidateLimits& limits,
              const machine::Machine& machine, Forecaster& forecaster) {
  const Forecast forecast = forecaster.of(candidate);
  Advice advice;
  advice.about = candidate.title() + ", " + candidate.layout;
  if (!forecast.placed) {
    advice.where = forecast.objection;
    return advice;
  }
  if (forecast.fits()) {
    return advice;
  }
  advice.where = what_is_kept(machine, forecast);
  for (const Change& change : Changes(candidate, limits).all()) {
    const Forecast changed = forecaster.of(change.candidate);
    if (!changed.placed) {
      continue;
    }
    advice.remedies.push_back(change.what + ": " + what_is_missing(machine, changed));
  }
  Combination combination(forecaster);
  combination.reach(candidate, limits);
  if (combination.changes() > 1) {
    advice.remedies.push_back("together " + difference(candidate, combination.candidate()) + ": " +
                              what_is_missing(machine, combination.forecast()));
  }
  if (candidate.zero == 0 || candidate.zero == 3) {
    advice.remedies.push_back(all_memory(machine, forecast, candidate, limits.devices));
  }
  if (!combination.forecast().fits()) {
    std::string more =
        on_more_devices(candidate, combination.candidate(), limits, machine, forecaster);
    if (!more.empty()) {
      advice.remedies.push_back(std::move(more));
    }
  }
  return advice;
}

}  // namespace tessera::explore
