#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "cuts/plan_cuts.hpp"
#include "cuts/work_judge.hpp"
#include "jobs/joint_work.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/partition/partition_tools.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/cuts/weights.hpp"

namespace tessera::sim {
namespace {

using machine::Weights;

constexpr double moment_s = 0.05;   // a run that is over in it is not worth a message
constexpr double least_gain = 1.1;  // below that, one rank
// Of work whose first nodes are replayed on an idle machine. `chakra_1024` with one chunk was
// predicted to wait 44 times on two ranks and to gain 1.13; it waited 654 times and lost.
constexpr double least_gain_by_first_nodes = 1.5;
constexpr double worth_more_ranks = 1.02;  // of the speed-up with fewer
// Whole replicas exchange nothing during a pass, so that ranks run freely; where something crosses
// there, promises are less perfect than predicted. Other cuts must be faster by this.
constexpr double worth_cutting_replicas = 1.03;
// Rounds of the window policy: docs/design/0002-engine.md has what they cost.
constexpr double least_events_a_window = 100;  // of a rank
constexpr double round_s = 1.3e-6;             // each time that ranks double

std::string name_of_work(const Experiment& experiment) {
  return experiment.planned() != nullptr ? "a strategy on these models of network and memory"
                                         : "work of kind " + experiment.kind;
}

std::string rounded(double value) {
  return format_number(std::round(value * 10) / 10);
}

CutChoice all_on_one(const Experiment& experiment, std::string reason) {
  CutChoice choice;
  choice.partition = machine::partition_of_one(*experiment.machine.topology);
  choice.reason = std::move(reason);
  return choice;
}

// Of which a run may use some.
struct Ranks {
  int all = 1;
  int most = 1;                // that may work
  bool by_processors = false;  // as there are no more processors
};

std::string one_of(const Ranks& ranks) {
  return "one of " + std::to_string(ranks.all) + " ranks is used: ";
}

// Empty where all are.
std::string used_of(int used, const Ranks& ranks) {
  if (used == ranks.all) {
    return "";
  }
  return std::to_string(used) + " of " + std::to_string(ranks.all) + " ranks are used, " +
         (used == ranks.most && ranks.by_processors
              ? "one a processor (run.idle_ranks: false uses all); "
              : "");
}

// Cuts of a plan with the prediction of each.
class Judge {
 public:
  Judge(const Experiment& experiment, const Weights& weights)
      : experiment_(experiment), weights_(weights), cuts_(experiment, weights) {}

  struct Judged {
    PlanCuts::Cut cut;
    Replay replay;
  };

  // The one to take, then the fastest first.
  std::vector<Judged> all(int ranks) const {
    std::vector<PlanCuts::Cut> cuts = cuts_.all(ranks);
    if (auto usual = usual_cut(ranks)) {
      cuts.push_back(std::move(*usual));
    }
    std::vector<Judged> judged;
    for (PlanCuts::Cut& cut : cuts) {
      const Replay replay = cuts_.predict(cut.owner, ranks);
      judged.push_back({std::move(cut), replay});
    }
    std::stable_sort(judged.begin(), judged.end(), [](const Judged& a, const Judged& b) {
      return a.replay.wall_s < b.replay.wall_s;
    });
    if (!judged.empty()) {
      std::vector<Replay> replays;
      for (const Judged& one : judged) {
        replays.push_back(one.replay);
      }
      const auto best = judged.begin() + static_cast<std::ptrdiff_t>(best_of(replays));
      std::rotate(judged.begin(), best, best + 1);
    }
    const auto whole = std::find_if(judged.begin(), judged.end(),
                                    [](const Judged& one) { return one.cut.name == "replicas"; });
    if (whole != judged.end() &&
        whole->replay.wall_s < judged.front().replay.wall_s * worth_cutting_replicas) {
      std::rotate(judged.begin(), whole, whole + 1);
    }
    return judged;
  }

  std::optional<CutChoice> best(int ranks) const {
    std::vector<Judged> judged = all(ranks);
    if (judged.empty()) {
      return std::nullopt;
    }
    Judged& first = judged.front();
    CutChoice choice;
    choice.name = first.cut.name;
    choice.ranks = ranks;
    choice.predicted_speed_up = first.replay.speed_up();
    choice.partition = machine::partition_from(*experiment_.machine.topology, ranks,
                                               std::move(first.cut.owner), weights_);
    return choice;
  }

  // Numbers of ranks worth a look, the most first.
  std::vector<int> numbers(int ranks) const {
    std::vector<int> list;
    for (int fewer = ranks; fewer > 1; fewer /= 2) {
      list.push_back(fewer);
    }
    for (const std::size_t natural :
         {cuts_.traffic().stages(), std::size_t{cuts_.traffic().data()}}) {
      if (natural > 1 && natural < static_cast<std::size_t>(ranks)) {
        list.push_back(static_cast<int>(natural));
      }
    }
    std::sort(list.begin(), list.end(), std::greater<>());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }

 private:
  // What knows the machine alone.
  std::optional<PlanCuts::Cut> usual_cut(int ranks) const {
    const machine::Topology& topology = *experiment_.machine.topology;
    const std::string name = machine::default_partitioner(topology);
    try {
      return PlanCuts::Cut{name, machine::partitioners().at(name)(topology, ranks, weights_).owner};
    } catch (const ConfigError&) {
      return std::nullopt;
    }
  }

  const Experiment& experiment_;
  const Weights& weights_;
  PlanCuts cuts_;
};

// Where nothing is predicted: the cut that fits the kind of work, if there is one for so many.
CutChoice cut_by_kind(const Experiment& experiment, int ranks, const Weights& weights) {
  std::vector<std::string> names;
  const Job* const job = experiment.only_job();
  if (const std::string own = job != nullptr ? job->cutter() : "tenants"; !own.empty()) {
    names.push_back(own);
  }
  const machine::Topology& topology = *experiment.machine.topology;
  names.push_back(machine::default_partitioner(topology));
  names.emplace_back("stripes");
  CutChoice choice;
  choice.ranks = ranks;
  for (const std::string& name : names) {
    try {
      choice.name = name;
      choice.partition = cutters().contains(name)
                             ? cutters().at(name).cut(experiment, ranks, weights)
                             : machine::partitioners().at(name)(topology, ranks, weights);
      return choice;
    } catch (const ConfigError&) {
      if (name == names.back()) {
        throw;
      }
    }
  }
  throw InternalError("a loop that ends by itself");
}

CutChoice cut_by_name(const Experiment& experiment, int ranks, const Weights& weights) {
  const std::string& name = experiment.options.partition;
  CutChoice choice;
  choice.name = name;
  choice.ranks = ranks;
  choice.predicted_speed_up = 0;
  choice.reason = "cut by " + name + ", as asked for";
  choice.partition = cutters().contains(name) ? cutters().at(name).cut(experiment, ranks, weights)
                                              : machine::partitioners().at(name)(
                                                    *experiment.machine.topology, ranks, weights);
  return choice;
}

// Of the whole run.
double events_of_run(const Work& work, const SparseCounts& nodes) {
  const auto sum = static_cast<double>(nodes.sum());
  const double tiles =
      static_cast<double>(work.events_of_tile()) * static_cast<double>(work.tiles());
  return (sum + tiles) * work.iterations();
}

// Of the whole run, taken to last twice as long as an ideal one (assumed); zero: not known.
SimTime predicted_time(const Experiment& experiment) {
  constexpr std::int64_t times_ideal = 2;
  return experiment.ideal_span() * times_ideal;
}

CutChoice choose_by_windows(const Experiment& experiment, const Ranks& ranks, double events,
                            const Weights& weights) {
  const SimTime time = predicted_time(experiment);
  const std::string no_cut = one_of(ranks) + name_of_work(experiment) + " has no cut that pays: " +
                             (models_promise(experiment) ? "nothing is predicted of its cuts"
                                                         : "its models promise nothing");
  if (time == SimTime::zero()) {
    return all_on_one(experiment, no_cut);
  }
  const double windows = std::max(
      1.0, static_cast<double>(time.ps()) / static_cast<double>(experiment.lookahead.ps()));
  const double one_rank_s = events * ReplayCosts{}.event_s;
  for (int fewer = ranks.most; fewer > 1; fewer /= 2) {
    if (events / windows / fewer < least_events_a_window) {
      continue;
    }
    CutChoice choice = cut_by_kind(experiment, fewer, weights);
    choice.predicted_speed_up =
        one_rank_s / (one_rank_s / fewer * choice.partition.imbalance +
                      std::min(windows, events) * round_s * std::ceil(std::log2(fewer)));
    if (choice.predicted_speed_up >= least_gain) {
      choice.reason = used_of(fewer, ranks) + "cut by " + choice.name + ": some " +
                      rounded(events / windows / fewer) +
                      " events of each in a window of the lookahead, predicted " +
                      rounded(choice.predicted_speed_up) + " times as fast as one rank";
      return choice;
    }
  }
  return all_on_one(experiment, no_cut + ", and a window of the lookahead holds some " +
                                    rounded(events / windows) + " events");
}

// `judge`: a Judge or a WorkJudge.
template <class AnyJudge>
CutChoice choose_by_replay(const Experiment& experiment, const Ranks& ranks, const AnyJudge& judge,
                           double least) {
  std::optional<CutChoice> best;
  for (const int number : judge.numbers(ranks.most)) {
    if (best && number <= best->predicted_speed_up) {
      break;  // as many ranks cannot be faster
    }
    std::optional<CutChoice> found = judge.best(number);
    if (found &&
        (!best || found->predicted_speed_up * worth_more_ranks > best->predicted_speed_up)) {
      best = std::move(found);
    }
  }
  if (!best || best->predicted_speed_up < least) {
    return all_on_one(experiment,
                      one_of(ranks) + "no cut pays" +
                          (best ? "; the best one, " + best->name + " over " +
                                      std::to_string(best->ranks) + ", is predicted to be " +
                                      rounded(best->predicted_speed_up) + " times as fast"
                                : ""));
  }
  best->reason = used_of(best->ranks, ranks) + "cut by " + best->name + ": predicted " +
                 rounded(best->predicted_speed_up) + " times as fast as one rank";
  return std::move(*best);
}

// Whether what is predicted of its cuts holds for it.
bool is_predicted(const Experiment& experiment) {
  return models_promise(experiment) && experiment.network->promises_far();
}

// By what is known of a run whose models promise; null: of a plan.
std::optional<WorkJudge> judge_of_work(const Experiment& experiment, const Work& work,
                                       const Weights& weights) {
  if (experiment.planned() != nullptr || !is_predicted(experiment)) {
    return std::nullopt;
  }
  std::optional<WorkForecast> forecast = work.forecast();
  return forecast ? std::optional<WorkJudge>(std::in_place, experiment, weights, work,
                                             std::move(*forecast))
                  : std::nullopt;
}

CutPrediction prediction_of(const std::string& name, int ranks, const Replay& replay,
                            double times) {
  CutPrediction prediction;
  prediction.name = name;
  prediction.ranks = ranks;
  prediction.one_rank_s = replay.one_rank_s * times;
  prediction.wall_s = replay.wall_s * times;
  prediction.messages = replay.messages;
  prediction.waits = replay.waits;
  prediction.imbalance = replay.imbalance;
  return prediction;
}

}  // namespace

bool models_promise(const Experiment& experiment) {
  return experiment.network->promises() && experiment.memory->promises() &&
         std::all_of(experiment.jobs.begin(), experiment.jobs.end(),
                     [&](const PlacedJob& placed) { return placed.job->promises(experiment); });
}

std::string synchronization_of(const Experiment& experiment) {
  const std::string& asked = experiment.options.synchronization;
  return asked == "promise" && !models_promise(experiment) ? "window" : asked;
}

std::vector<CutPrediction> predict_cuts(const Experiment& experiment, int ranks) {
  std::vector<CutPrediction> predictions;
  if (!is_predicted(experiment) || ranks < 2) {
    return predictions;
  }
  const Weights weights = node_weights(experiment);
  if (experiment.planned() == nullptr) {
    if (const auto judge = judge_of_work(experiment, *work_of(experiment), weights)) {
      for (const WorkJudge::Judged& judged : judge->all(ranks)) {
        predictions.push_back(prediction_of(judged.choice.name, ranks, judged.replay, 1));
      }
    }
    return predictions;
  }
  for (const Judge::Judged& judged : Judge(experiment, weights).all(ranks)) {
    predictions.push_back(
        prediction_of(judged.cut.name, ranks, judged.replay, experiment.single_job()->iterations));
  }
  return predictions;
}

CutChoice cut_for(const Experiment& experiment, int ranks, const Weights& weights) {
  if (experiment.options.partition != automatic_partition) {
    return cut_by_name(experiment, ranks, weights);
  }
  machine::check_request(*experiment.machine.topology, ranks, weights);
  if (ranks == 1) {
    return all_on_one(experiment, "");
  }
  if (is_predicted(experiment)) {
    std::optional<CutChoice> best;
    if (experiment.planned() != nullptr) {
      best = Judge(experiment, weights).best(ranks);
    } else if (const auto judge = judge_of_work(experiment, *work_of(experiment), weights)) {
      best = judge->best(ranks);
    }
    if (best) {
      best->reason = "cut by " + best->name + ": predicted " + rounded(best->predicted_speed_up) +
                     " times as fast as one rank";
      return std::move(*best);
    }
  }
  CutChoice choice = cut_by_kind(experiment, ranks, weights);
  choice.reason =
      "cut by " + choice.name + ": nothing is predicted for " + name_of_work(experiment);
  return choice;
}

CutChoice cut_for(const Experiment& experiment, int ranks) {
  return cut_for(experiment, ranks, ranks > 1 ? node_weights(experiment) : Weights{});
}

CutChoice choose_cut(const Experiment& experiment, int ranks, int processors) {
  if (experiment.options.partition != automatic_partition || !experiment.options.idle_ranks ||
      ranks == 1) {
    return cut_for(experiment, ranks);
  }
  Ranks some{ranks, ranks, processors < ranks};
  if (some.by_processors) {
    some.most = processors;
  }
  const std::unique_ptr<Work> work = work_of(experiment);
  const SparseCounts nodes = work->predicted_events();
  const Weights weights = node_weights(experiment, nodes);
  const std::optional<WorkJudge> judge = judge_of_work(experiment, *work, weights);
  const double events = judge ? judge->events() : events_of_run(*work, nodes);
  if (events * ReplayCosts{}.event_s < moment_s) {
    return all_on_one(experiment, one_of(some) + "the run is over in a moment on one");
  }
  // Fewer nodes than ranks: not all can have one.
  some.most = static_cast<int>(
      std::min<std::int64_t>(some.most, std::int64_t{experiment.machine.topology->nodes()}));
  if (judge) {
    return choose_by_replay(experiment, some, *judge, least_gain_by_first_nodes);
  }
  return experiment.planned() != nullptr && is_predicted(experiment)
             ? choose_by_replay(experiment, some, Judge(experiment, weights), least_gain)
             : choose_by_windows(experiment, some, events, weights);
}

}  // namespace tessera::sim
