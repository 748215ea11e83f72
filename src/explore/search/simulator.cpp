#include "search/simulator.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "refusal.hpp"
#include "tessera/core/error.hpp"
#include "tessera/sim/programs/replay.hpp"
#include "tessera/sim/programs/use_strategy.hpp"
#include "tessera/sim/simulation.hpp"
#include "usual_settings.hpp"
#include "whole_number.hpp"

namespace tessera::explore {
namespace {

// What two trials have not shown to repeat, no later one did in the spaces of the front door, and
// all of them together take twice as long as the whole iteration.
constexpr std::uint32_t trials = 2;

const config::Value* member_of(const config::Value& mapping, const char* key) {
  const config::Value::Member* const found = mapping.find(key);
  return found == nullptr ? nullptr : &found->value;
}

std::uint32_t count_in(const config::Value& mapping, const char* key) {
  const config::Value* const value = member_of(mapping, key);
  return value == nullptr ? 1 : static_cast<std::uint32_t>(whole_number(value->text).value_or(1));
}

std::string text_in(const config::Value& mapping, const char* key, const std::string& usual) {
  const config::Value* const value = member_of(mapping, key);
  return value == nullptr ? usual : value->text;
}

// Settings under which the strategy's other keys are read.
std::vector<std::string> smallest() {
  std::vector<std::string> settings(usual_settings.begin(), usual_settings.end());
  for (const char* setting :
       {"strategy.pipeline=1", "strategy.data=1", "strategy.context=1", "strategy.expert=1",
        "strategy.sequence_parallel=false", "strategy.micro_batch=1", "strategy.chunks=1",
        "strategy.order=[]", "strategy.zero=0", "strategy.shard=0", "strategy.capacity=ignore",
        "strategy.overlap_passes=false", "run.replay=none"}) {
    settings.emplace_back(setting);
  }
  return settings;
}

// Runs of tiles as `placement.tiles` takes them, by stage.
std::string tiles_of(const plan::Placement& placement) {
  std::string text = "[";
  const std::uint32_t stage = placement.stage_tiles();
  const std::vector<EntityId>& tiles = placement.tiles();
  for (std::size_t first = 0; first < tiles.size();) {
    text += first % stage == 0 ? (first == 0 ? "[" : ", [") : ", ";
    std::size_t end = first + 1;
    while (end < tiles.size() && end % stage != 0 &&
           tiles[end].value() == tiles[end - 1].value() + 1) {
      ++end;
    }
    text += std::to_string(tiles[first].value());
    text += end - first > 1 ? "-" + std::to_string(tiles[end - 1].value()) : "";
    text += end % stage == 0 ? "]" : "";
    first = end;
  }
  return text + "]";
}

// Does `work`; why it cannot be done, the proposal says.
template <class Work>
void tell_of_failure(Proposal& proposal, const Work& work) {
  try {
    work();
  } catch (const ConfigError& error) {
    proposal.status = "refused";
    proposal.message = messages_of(error);
  } catch (const ModelError& error) {
    proposal.status = "failed";
    proposal.message = error.what();
  } catch (const std::bad_alloc&) {
    proposal.status = "failed";
    proposal.message = "out of memory";
  }
}

}  // namespace

Simulator::Simulator(const SearchRequest& request, const config::TextLoader& load) {
  const config::Value root = sim::read_single_job(request.experiment, request.overrides, {}, load);
  const config::Value* const strategy = member_of(root, "strategy");
  const config::Value* const machine = member_of(root, "machine");
  std::vector<std::string> settings = smallest();
  settings.push_back("strategy.placement=" + kept_placement(strategy).with("linear"));
  if (strategy == nullptr) {
    settings.emplace_back("strategy.tensor=1");
  }
  // What a schedule may say of chunks and micro-batches is asked of each candidate.
  if (strategy != nullptr && strategy->find("schedule") != nullptr &&
      text_in(*strategy, "schedule", "") != "streaming") {
    settings.emplace_back("strategy.schedule=1f1b");
  }
  try {
    experiment_ =
        sim::read_single_job_experiment(request.experiment, request.overrides, settings, load);
  } catch (const ConfigError&) {
    // What the file itself has wrong is told of there, not of settings that nobody gave.
    if (strategy != nullptr) {
      sim::read_single_job_experiment(request.experiment, request.overrides, {}, load);
    }
    throw;
  }
  ensure(experiment_.planned() != nullptr, "an experiment whose work a strategy cuts");
  base_ = experiment_.plan().strategy;
  base_.check_capacity = strategy == nullptr || text_in(*strategy, "capacity", "check") != "ignore";
  experiment_.options.replay = true;
  can_aggregate_ = experiment_.machine.types.empty() &&
                   (machine == nullptr || machine->find("faults") == nullptr) &&
                   base_.shardings.empty();
}

void Simulator::run(sim::Experiment& experiment, Proposal& proposal,
                    const std::function<bool()>& stop_requested) {
  const std::unique_ptr<comm::Communicator> alone = comm::make_in_process();
  sim::RunRequest run;
  run.hooks.stop_requested = stop_requested;
  run.replay_trials = proposal.repeats ? trials : 0;
  const trace::Summary summary = sim::run_with_replay(experiment, *alone, run);
  proposal.status = summary.status;
  proposal.message = summary.message;
  proposal.iteration = SimTime::from_ps(summary.iteration_time_ps);
  proposal.throughput = summary.throughput_samples_per_s;
  proposal.repeats = summary.replayed_micro_batches > 0;
  proposal.memory = Bytes(0);
  for (const trace::PeakMemory& peak : summary.peak_memory) {
    proposal.memory = std::max(proposal.memory, Bytes(peak.bytes));
  }
  if (proposal.status == "finished") {
    proposal.message = plan::note_of_peaks(experiment.machine, experiment.plan());
  }
}

Proposal Simulator::simulate(Proposal proposal, const std::function<bool()>& stop_requested) {
  tell_of_failure(proposal, [&] {
    plan::Strategy strategy = proposal.candidate->strategy(base_, workload().samples);
    sim::use_strategy(experiment_, strategy);
    if (strategy.layout == "optimized") {
      proposal.tiles = tiles_of(experiment_.plan().placement);
    }
    run(experiment_, proposal, stop_requested);
  });
  return proposal;
}

Proposal Simulator::simulate_own(const SearchRequest& request, const config::TextLoader& load) {
  Proposal proposal;
  tell_of_failure(proposal, [&] { run_own(request, load, proposal); });
  return proposal;
}

void Simulator::run_own(const SearchRequest& request, const config::TextLoader& load,
                        Proposal& proposal) const {
  const std::vector<std::string> settings(usual_settings.begin(), usual_settings.end());
  sim::Experiment own =
      sim::read_single_job_experiment(request.experiment, request.overrides, settings, load);
  if (own.planned() == nullptr) {
    throw ConfigError("it has none, and runs as it is");
  }
  proposal.layout = own.plan().strategy.layout;
  const std::size_t tiles = own.plan().placement.tiles().size();
  if (request.devices != 0 && tiles > request.devices) {
    proposal.status = left_out;
    proposal.message = "takes " + std::to_string(tiles) + " tiles, more than the " +
                       std::to_string(request.devices) + " that were asked for";
    return;
  }
  plan::Strategy strategy = own.plan().strategy;
  own.options.replay = strategy.order.empty();
  if (strategy.aggregation != base_.aggregation) {
    strategy.aggregation = base_.aggregation;
    sim::use_strategy(own, strategy);
  }
  run(own, proposal, request.stop_requested);
}

KeptPlacement kept_placement(const config::Value* strategy) {
  const config::Value* const placement =
      strategy == nullptr ? nullptr : member_of(*strategy, "placement");
  return placement == nullptr ? KeptPlacement() : KeptPlacement(*placement);
}

Candidate own_candidate(const config::Value& strategy, const std::string& usual_layout) {
  Candidate own;
  own.degrees = {count_in(strategy, "pipeline"), count_in(strategy, "data"),
                 count_in(strategy, "tensor")};
  own.context = count_in(strategy, "context");
  own.expert = count_in(strategy, "expert");
  own.sequence_parallel = text_in(strategy, "sequence_parallel", "false") == "true";
  own.micro_batch = count_in(strategy, "micro_batch");
  own.chunks = count_in(strategy, "chunks");
  own.schedule = text_in(strategy, "schedule", own.chunks > 1 ? "interleaved" : "1f1b");
  own.recompute = recompute_named(text_in(strategy, "recompute", "none"));
  own.zero = strategy.find("zero") == nullptr ? 0 : count_in(strategy, "zero");
  own.shard = strategy.find("shard") == nullptr ? 0 : count_in(strategy, "shard");
  own.overlap_gradients = text_in(strategy, "overlap_gradients", "false") == "true";
  own.overlap_tensor = text_in(strategy, "overlap_tensor", "false") == "true";
  own.async_tensor = text_in(strategy, "async_tensor", "false") == "true";
  own.overlap_passes = text_in(strategy, "overlap_passes", "false") == "true";
  const config::Value* const placement = member_of(strategy, "placement");
  own.layout = placement == nullptr ? usual_layout : text_in(*placement, "layout", usual_layout);
  return own;
}

}  // namespace tessera::explore
