#include "tessera/sim/scaling/scaling.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <set>
#include <string_view>
#include <utility>

#include "run/deadlock.hpp"
#include "run/rank_models.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/version.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/cuts/weights.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim {
namespace {

double processor_s() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Policies whose ranks meet in rounds; of others promises are predicted.
constexpr std::array<std::string_view, 2> round_policies{"window", "null-message"};
// When the time of an event has to be known before anything was measured.
constexpr double likely_event_s = 60e-9;

constexpr const char* stopped = "stopped before the end of the run; nothing can be predicted";

// Smallest latency of a link between two regions; `never` when there is none.
SimTime smallest_cut_latency(const machine::Topology& topology,
                             const std::vector<std::uint32_t>& owner) {
  SimTime smallest = SimTime::never();
  for (std::uint32_t n = 0; n < topology.nodes(); ++n) {
    for (unsigned port = 0; port < topology.ports(EntityId(n)); ++port) {
      const machine::Link link = topology.link(EntityId(n), port);
      if (link.to.valid() && owner[link.to.value()] != owner[n]) {
        smallest = std::min(smallest, topology.link_classes()[link.link_class].latency);
      }
    }
  }
  return smallest;
}

// A part of the run that nobody watches.
struct Sample {
  std::uint64_t events = 0;
  double processor_s = 0;
};

ClockCosts clock_costs(const trace::ScalingCosts& costs, double event_s) {
  return {costs.message_latency_s / event_s, trace::crossing_s(costs) / event_s,
          costs.promise_s / event_s, costs.wait_messages, costs.exchange_events};
}

// Cuts an experiment in one way after the other, and at the end as before.
class PartitionScope {
 public:
  explicit PartitionScope(Experiment& experiment)
      : experiment_(experiment), before_(experiment.options.partition) {}
  ~PartitionScope() { experiment_.options.partition = before_; }
  PartitionScope(const PartitionScope&) = delete;
  PartitionScope& operator=(const PartitionScope&) = delete;
  void use(const std::string& partition) { use_partition(experiment_, partition); }

 private:
  Experiment& experiment_;
  std::string before_;
};

class ScalingRun {
 public:
  ScalingRun(Experiment& experiment, const ScalingRequest& request)
      : experiment_(experiment), request_(request), communicator_(comm::make_in_process()) {}

  trace::ScalingReport make() {
    trace::ScalingReport report;
    report.experiment = experiment_.name;
    report.machine = experiment_.machine.name;
    report.workload = experiment_.workload;
    report.weights = experiment_.options.weights;
    report.synchronization = synchronization_of(experiment_);
    report.by_rounds = std::find(round_policies.begin(), round_policies.end(),
                                 report.synchronization) != round_policies.end();
    if (report.synchronization != experiment_.options.synchronization) {
      note("not all of its models promise anything: ranks meet in rounds, as with window");
    }
    report.nodes = experiment_.machine.topology->nodes();
    report.costs = request_.costs;
    if (experiment_.options.replay) {
      report.notes.emplace_back(
          "events and times are those of the whole iteration: a run with run.replay: exact "
          "simulates iterations of a few micro-batches instead, where these repeat");
    }
    report.version = version();
    report.git_hash = git_hash();
    cut_all(report);
    const bool measures = report.costs.event_s == 0;
    const Sample plain = measures ? run_unwatched() : Sample{};
    report.clock_event_s = !measures ? report.costs.event_s
                           : plain.events > 0 && plain.processor_s > 0
                               ? plain.processor_s / static_cast<double>(plain.events)
                               : likely_event_s;
    watch(report, plain);
    trace::predict_times(report);
    return report;
  }

 private:
  void note(const std::string& text) const {
    if (request_.on_note) {
      request_.on_note(text);
    }
  }

  void cut_all(trace::ScalingReport& report) {
    const std::set<int> all = numbers_of_ranks(static_cast<std::int64_t>(report.nodes));
    const machine::Weights weights = node_weights(experiment_);
    std::vector<std::string> names = request_.partitions;
    if (names.empty()) {
      names.push_back(experiment_.options.partition);
    }
    PartitionScope cutter(experiment_);
    for (const std::string& name : names) {
      cutter.use(name);
      report.partition += (report.partition.empty() ? "" : ",") + name;
      if (report.predictions.empty()) {
        cut(report, 1, {});
      }
      for (const int ranks : all) {
        try {
          cut(report, ranks, weights);
        } catch (const ConfigError& error) {
          if (names.size() == 1) {
            throw;
          }
          note(name + " is left out on " + std::to_string(ranks) +
               " ranks: " + error.diagnostics().front().message);
        }
      }
    }
  }

  // Those asked for that are more than one.
  std::set<int> numbers_of_ranks(std::int64_t nodes) const {
    std::set<int> all(request_.ranks.begin(), request_.ranks.end());
    all.insert(1);
    const int most = *all.rbegin();
    if (*all.begin() < 1 || most > std::min<std::int64_t>(nodes, ScalingObserver::most_ranks)) {
      throw ConfigError("a machine of " + std::to_string(nodes) +
                        " nodes can be predicted on 1 to " +
                        std::to_string(std::min<std::int64_t>(nodes, ScalingObserver::most_ranks)) +
                        " ranks, not on " + std::to_string(*all.begin() < 1 ? *all.begin() : most));
    }
    all.erase(1);
    return all;
  }

  // Where a run chooses the cut it leaves ranks idle that would only hold the others up.
  CutChoice cut_as_a_run(int ranks, const machine::Weights& weights) const {
    if (ranks > 1 && experiment_.options.partition == automatic_partition) {
      CutChoice choice = choose_cut(experiment_, ranks, ranks);
      if (choice.ranks > 1) {
        return choice;
      }
    }
    return cut_for(experiment_, ranks, weights);
  }

  void cut(trace::ScalingReport& report, int ranks, const machine::Weights& weights) {
    CutChoice choice = cut_as_a_run(ranks, weights);
    machine::Partition partition = std::move(choice.partition);
    WatchedCut cut;
    cut.ranks = partition.ranks;
    cut.owner = partition.owner.listed();
    const SimTime latency = smallest_cut_latency(*experiment_.machine.topology, cut.owner);
    if (!latency.is_never()) {
      cut.round_width = std::max<std::int64_t>(1, latency.ps() / experiment_.lookahead.ps());
    }
    trace::ScalingPrediction prediction;
    prediction.partition = ranks > 1 ? choice.name : experiment_.options.partition;
    prediction.ranks = ranks;
    prediction.counts.ranks = cut.ranks;
    prediction.cut_links = partition.cut_links;
    prediction.largest_bytes = forecast(experiment_, std::move(partition)).largest_bytes;
    report.predictions.push_back(std::move(prediction));
    if (ranks > 1) {  // one rank needs no watching
      cuts_.push_back(std::move(cut));
    }
  }

  bool stop_requested() const { return request_.stop_requested && request_.stop_requested(); }

  // From the beginning, for as long as allowed.
  Sample run_unwatched() {
    RankModels models(experiment_, *communicator_);
    const double begin = processor_s();
    pdes::EngineHooks hooks;
    hooks.stop_requested = [&] {
      return processor_s() - begin >= request_.calibration_s || stop_requested();
    };
    models.engine.run(hooks);
    if (stop_requested()) {
      throw StopRequested(stopped);
    }
    return {models.engine.statistics().events, processor_s() - begin};
  }

  void watch(trace::ScalingReport& report, const Sample& plain) {
    RankModels models(experiment_, *communicator_);
    ScalingObserver observer(models.members, cuts_,
                             clock_costs(report.costs, report.clock_event_s));
    cuts_ = {};
    models.engine.observe(&observer);
    const double work = static_cast<double>(
        std::max<std::uint64_t>(1, models.work->instructions() * models.work->iterations()));
    const auto wall_begin = std::chrono::steady_clock::now();
    const double begin = processor_s();
    double at_sample_s = 0;  // when as much was done as in the part that nobody watched
    pdes::EngineHooks hooks;
    hooks.stop_requested = [this] { return stop_requested(); };
    hooks.work_done = [&] {
      return static_cast<std::int64_t>(models.executor->instructions_done());
    };
    hooks.on_round = [&](const pdes::RoundResult& round) {
      if (at_sample_s == 0 && models.engine.statistics().events >= plain.events) {
        at_sample_s = processor_s() - begin;
      }
      if (request_.on_progress) {
        request_.on_progress(static_cast<double>(round.sums.work_done) / work);
      }
    };
    if (!models.engine.run(hooks)) {
      throw StopRequested(stopped);
    }
    if (const std::string stuck = deadlock_report(models); !stuck.empty()) {
      throw ModelError(stuck, models.engine.last_event_time());
    }
    const double watched_s = processor_s() - begin;
    report.measured_wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
    report.simulated_time_ps = models.engine.last_event_time().ps();
    const std::vector<trace::ScalingCounts> counts = observer.finish();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      report.predictions[i + 1].counts = counts[i];
    }
    const std::uint64_t events = models.engine.statistics().events;
    report.predictions.front().counts = counts_alone(events, models.engine.statistics().windows);
    if (plain.events > 0 && plain.processor_s > 0 && at_sample_s > 0) {
      report.observer_factor = std::max(1.0, at_sample_s / plain.processor_s);
      report.costs.event_s = watched_s / report.observer_factor / static_cast<double>(events);
      report.costs.sources.emplace_back(
          "event_s", "measured: processor time of this run over its events, less the factor of " +
                         format_number(std::round(report.observer_factor * 100) / 100) +
                         " that watching the first " + std::to_string(plain.events) +
                         " events cost");
    } else if (report.costs.event_s == 0 && events > 0) {
      report.costs.event_s = watched_s / static_cast<double>(events);
      report.costs.sources.emplace_back(
          "event_s",
          "measured: processor time of this run over its events, and of watching them, which a "
          "longer calibration would leave out");
    }
    note("watched " + std::to_string(events) + " events");
  }

  // One rank does all in one round.
  static trace::ScalingCounts counts_alone(std::uint64_t events, std::uint64_t windows) {
    trace::ScalingCounts counts;
    counts.events = counts.largest_events = counts.path_events = events;
    counts.windows = windows;
    counts.rounds = 1;
    counts.perfect.path = counts.promised.path = static_cast<double>(events);
    return counts;
  }

  Experiment& experiment_;
  const ScalingRequest& request_;
  std::unique_ptr<comm::Communicator> communicator_;
  std::vector<WatchedCut> cuts_;
};

}  // namespace

trace::ScalingReport predict_scaling(Experiment& experiment, const ScalingRequest& request) {
  return ScalingRun(experiment, request).make();
}

double measure_reduction(comm::Communicator& communicator) {
  constexpr int warm_up = 20;
  constexpr int rounds = 200;
  std::vector<comm::MinSum> values(static_cast<std::size_t>(communicator.size()) + 6);
  std::chrono::steady_clock::time_point begin;
  for (int round = -warm_up; round < rounds; ++round) {
    if (round == 0) {
      begin = std::chrono::steady_clock::now();
    }
    std::fill(values.begin(), values.end(), comm::MinSum{});
    communicator.reduce_min_sum(values);
    communicator.receive_batches(0, [](int, std::span<const std::byte>) {});
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / rounds;
}

}  // namespace tessera::sim
