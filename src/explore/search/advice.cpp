#include "search/advice.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

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
        add("recompute: " + name_of(each), [&](Candidate& to) { to.recompute = each; });
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
                            machine.topology->node_name(machine.channels[*need.channel].node)
                      : "the SRAM of a tile";
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
  if (need.channel && machine.tile.streams_nothing()) {
    text += ", and holds " + gigabytes(memory.peak.total()) +
            " at its peak, with what is there for a moment and what the framework takes";
  }
  return need.tiles > 1 ? text + ", and " + std::to_string(need.tiles) + " tiles share it" : text;
}

// All that the machine has room for.
Bytes room_of(const machine::Machine& machine) {
  Bytes room;
  for (const machine::MemoryChannel& channel : machine.channels) {
    room += channel.capacity;
  }
  return machine.channels.empty() ? machine.tile.sram * machine.topology->computing_nodes() : room;
}

std::string all_memory(const machine::Machine& machine, const Forecast& forecast,
                       const Candidate& candidate) {
  const Bytes state = forecast.of_stage.weight_state() *
                      (std::uint64_t{candidate.degrees.pipeline} * candidate.degrees.tensor *
                       (candidate.zero < 3    ? 1
                        : candidate.shard > 0 ? candidate.shard
                                              : candidate.degrees.data * candidate.context));
  return "one copy of the model's state is about " + gigabytes(state) +
         "; the whole machine has room for " + gigabytes(room_of(machine));
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
    advice.remedies.push_back(
        change.what + (changed.fits() ? ": fits"
                                      : ": " + gigabytes(changed.need.missing()) + " missing in " +
                                            place_of(machine, changed.need)));
  }
  if (candidate.zero == 0 || candidate.zero == 3) {
    advice.remedies.push_back(all_memory(machine, forecast, candidate));
  }
  return advice;
}

}  // namespace tessera::explore
