#include "cuts/work_judge.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "cuts/predicted_events.hpp"
#include "run/known_pairs.hpp"

namespace tessera::sim {
namespace {

// Of a talk, from one region to the next.
struct Crossing {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t steps = 0;
  bool on_the_way = false;  // packets, which are heard of there
};

struct Way {
  std::vector<double> events;  // [ranks]
  std::vector<Crossing> crossings;
};

Way way_of(const network::PredictedTraffic& traffic, const WorkForecast::Talk& talk,
           const machine::Owners& owner, int ranks) {
  Way way;
  way.events.resize(static_cast<std::size_t>(ranks));
  std::uint32_t before = owner[talk.from.value()];
  traffic.visit_events(talk.from, talk.to, talk.bytes, [&](EntityId node, std::uint64_t events) {
    const std::uint32_t here = owner[node.value()];
    way.events[here] += static_cast<double>(events * talk.messages);
    if (here != before) {
      const bool is_end = node == talk.to;
      way.crossings.push_back({before, here,
                               talk.messages * (is_end ? 1 : std::max<std::uint64_t>(1, events)),
                               !is_end});
      before = here;
    }
  });
  return way;
}

}  // namespace

WorkJudge::WorkJudge(const Experiment& experiment, const Weights& weights, const Work& work,
                     WorkForecast forecast)
    : experiment_(experiment),
      weights_(weights),
      forecast_(std::move(forecast)),
      traffic_(predicted_traffic(experiment, work)) {}

double WorkJudge::events() const {
  double all = static_cast<double>(forecast_.runs.size() * events_of_an_operator);
  for (const WorkForecast::Talk& talk : forecast_.talks) {
    traffic_->visit_runs(talk.from, talk.to, talk.bytes,
                         [&](const network::PredictedTraffic::Run& run) {
                           all += static_cast<double>(run.events * run.nodes * talk.messages);
                         });
  }
  return forecast_.part > 0 ? all / forecast_.part : all;
}

Replay WorkJudge::predict(const machine::Owners& owner, int ranks) const {
  RegionReplay replay(ranks, {});
  for (const WorkForecast::Run& run : forecast_.runs) {
    replay.add_work(owner[run.node.value()], run.end.ps(), run.end.ps(), events_of_an_operator);
  }
  std::vector<std::pair<const WorkForecast::Talk*, Crossing>> crossings;
  double messages = 0;
  double events = 0;
  for (const WorkForecast::Talk& talk : forecast_.talks) {
    const Way way = way_of(*traffic_, talk, owner, ranks);
    for (std::uint32_t rank = 0; rank < way.events.size(); ++rank) {
      if (way.events[rank] > 0) {
        replay.add_work(rank, talk.begin.ps(), talk.end.ps(), way.events[rank]);
        events += way.events[rank];
      }
    }
    for (const Crossing& crossing : way.crossings) {
      crossings.emplace_back(&talk, crossing);
      messages += static_cast<double>(crossing.steps);
    }
  }
  const std::uint64_t thinning = replay_thinning(messages, events);
  const std::int64_t hop = experiment_.machine.topology->smallest_latency().ps();
  for (const auto& [talk, crossing] : crossings) {
    const std::int64_t length = std::max<std::int64_t>(1, (talk->end - talk->begin).ps());
    const std::int64_t apart =
        std::max<std::int64_t>(1, length / static_cast<std::int64_t>(crossing.steps));
    const std::int64_t late = std::max<std::int64_t>(1, crossing.on_the_way ? hop : apart);
    for (std::uint64_t step = 0; step < crossing.steps; step += thinning) {
      const std::int64_t sent = talk->begin.ps() + apart * static_cast<std::int64_t>(step);
      const auto times = static_cast<std::uint32_t>(std::min(thinning, crossing.steps - step));
      replay.add_message(crossing.from, crossing.to, sent, sent + late, times, apart, times);
    }
  }
  return replay.run();
}

std::optional<CutChoice> WorkJudge::cut(const std::string& name, int ranks) const {
  CutChoice choice;
  choice.name = name;
  choice.ranks = ranks;
  try {
    choice.partition =
        cutters().contains(name)
            ? cutters().at(name).cut(experiment_, ranks, weights_)
            : machine::partitioners().at(name)(*experiment_.machine.topology, ranks, weights_);
  } catch (const ConfigError&) {
    return std::nullopt;  // it cannot cut this work over so many
  }
  return choice;
}

std::vector<WorkJudge::Judged> WorkJudge::all(int ranks) const {
  std::vector<std::string> names{machine::default_partitioner(*experiment_.machine.topology)};
  if (const std::string own = experiment_.only_job()->cutter(); !own.empty()) {
    names.insert(names.begin(), own);
  }
  std::vector<Judged> judged;
  for (const std::string& name : names) {
    if (std::optional<CutChoice> choice = cut(name, ranks)) {
      const Replay replay = predict(choice->partition.owner, ranks);
      choice->predicted_speed_up = replay.speed_up();
      judged.push_back({std::move(*choice), replay});
    }
  }
  std::stable_sort(judged.begin(), judged.end(), [](const Judged& a, const Judged& b) {
    return a.replay.wall_s < b.replay.wall_s;
  });
  return judged;
}

std::optional<CutChoice> WorkJudge::best(int ranks) const {
  std::vector<Judged> judged = all(ranks);
  return judged.empty() ? std::nullopt : std::optional(std::move(judged.front().choice));
}

std::vector<int> WorkJudge::numbers(int ranks) const {
  std::vector<int> list;
  for (int fewer = ranks; fewer > 1; fewer /= 2) {
    list.push_back(fewer);
  }
  return list;
}

}  // namespace tessera::sim
