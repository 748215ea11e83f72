#include "tessera/explore/strategy_search.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <utility>

#include "machine_and_work.hpp"
#include "search/advice.hpp"
#include "search/budget.hpp"
#include "search/choice.hpp"
#include "search/kept_keys.hpp"
#include "search/ledger.hpp"
#include "search/notes.hpp"
#include "search/proposal_line.hpp"
#include "search/simulator.hpp"
#include "search/strategy_text.hpp"
#include "spread.hpp"
#include "tessera/comm/first_rank.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/explore/sweep.hpp"
#include "tessera/plan/schedule/schedule.hpp"
#include "tessera/sim/model_cache.hpp"

namespace tessera::explore {
namespace {

using WallClock = std::chrono::steady_clock;

constexpr const char* stopped = "stopped";
constexpr std::size_t at_a_time_of_all = 256;
constexpr std::size_t all_of_them = std::numeric_limits<std::size_t>::max();
// By which estimates are distrusted at least: where simulations take seconds, and where they do
// not.
constexpr double least_margin_of_large = 0.02;
constexpr double least_margin = 0.15;
// Events of a simulation above which one tile stands for its stage: some seconds.
constexpr double most_events = 6e6;
// With more devices it takes minutes to look at all candidates; before, the best of some degrees is
// simulated.
constexpr std::uint64_t many_devices = 50'000;
constexpr std::size_t first_degrees = 4;
// The best candidates are tried with a layout that looks for its place, on machines so small.
constexpr std::size_t laid_out = 3;
constexpr std::uint64_t most_laid_out_tiles = 1024;

class Search {
 public:
  Search(const SearchRequest& request, comm::Communicator& communicator,
         const config::TextLoader& load)
      : request_(request),
        communicator_(communicator),
        cache_(load),
        parts_(read_machine_and_work(request.experiment, request.overrides, cache_.loader())),
        simulator_(request, loader()),
        limits_(limits_of(parts_.machine, parts_.workload, request.devices, request.full)),
        forecaster_(simulator_.experiment(), parts_.workload, simulator_.base()),
        text_(request, loader()) {
    limits_.adapters = simulator_.base().has_adapters() ? simulator_.base().adapters : 0;
    find_kept();
    refuse_if_none_has(request.kept, limits_);
    cache_.close();  // all files have been read, once on every rank
    ledger_.emplace(request, cache_.hash(request.overrides, simulator_.experiment().files),
                    communicator);
  }

  SearchOutcome run() {
    outcome_.experiment = request_.experiment;
    outcome_.machine = parts_.machine.name;
    outcome_.workload = parts_.workload.name;
    outcome_.devices = limits_.devices;
    outcome_.folder = request_.folder;
    outcome_.notes = notes_about_others(simulator_.experiment().notes, {"strategy="});
    const std::vector<DegreesOfCandidates> degrees = degrees_of_candidates(limits_);
    if (limits_.devices > many_devices && !request_.resume) {
      look_first(degrees);
    }
    const std::vector<Proposal> seen = std::exchange(outcome_.proposals, {});
    ranking_ = rank(degrees);
    if (forecaster_.checks_peaks() && ranking_.fastest.empty() && !ranking_.stopped) {
      forecaster_.check_peaks(false);
      ranking_ = rank(degrees);
    }
    outcome_.candidates = ranking_.all;
    outcome_.impossible = ranking_.unplaced;
    outcome_.too_large = ranking_.too_large;
    outcome_.fitting = ranking_.all - ranking_.unplaced - ranking_.too_large;
    note(std::to_string(ranking_.all) + " candidates, " + std::to_string(outcome_.fitting) +
         " fit");
    if (ranking_.stopped) {
      outcome_.complete = false;
      outcome_.open = outcome_.fitting;
      outcome_.proposals = seen;
      return finish();
    }
    if (outcome_.fitting == 0) {
      explain();
      return finish();
    }
    choose_fidelity();
    if (request_.all) {
      simulate_every();
    } else {
      if (has_own_) {
        simulate_own();
      }
      simulate_candidates();
    }
    return finish();
  }

 private:
  void note(const std::string& text) const {
    if (communicator_.rank() == 0 && request_.on_note) {
      request_.on_note(text);
    }
  }

  // Of experiments.
  config::TextLoader loader() { return sim::CachingLoader{cache_.loader(), &models_}; }

  bool stop_requested() const { return request_.stop_requested && request_.stop_requested(); }

  // Keys that stay, and those that follow from the strategy as the file has it.
  void find_kept() {
    const config::Value root =
        sim::read_single_job(request_.experiment, request_.overrides, {}, cache_.loader());
    const config::Value::Member* const strategy = root.find("strategy");
    has_own_ = strategy != nullptr;
    outcome_.placement = kept_placement(has_own_ ? &strategy->value : nullptr);
    limits_.own = own_candidate(strategy == nullptr ? config::Value() : strategy->value,
                                limits_.layouts.front());
    const std::string& schedule = limits_.own.schedule;
    if (plan::schedules().contains(schedule) && plan::schedules().at(schedule).mirrored) {
      throw ConfigError("strategy.schedule: '" + schedule +
                        "' holds the model twice, and strategies are proposed that hold it once");
    }
    if (!simulator_.base().shardings.empty()) {
      limits_.kept.insert("tensor");  // which the parts of an operator multiply to
      limits_.kept.insert("sequence_parallel");
    }
    keep_keys(request_.kept, limits_);
  }

  Ranking rank(const std::vector<DegreesOfCandidates>& degrees) {
    WallClock::time_point told = WallClock::now();
    return rank_candidates(
        limits_, degrees, forecaster_, request_.all ? all_of_them : most_of_degrees, communicator_,
        request_.stop_requested, [&](std::size_t number, std::size_t all) {
          const WallClock::time_point now = WallClock::now();
          if (now - told > std::chrono::seconds(2)) {
            told = now;
            note("degrees " + std::to_string(number) + " of " + std::to_string(all) + " looked at");
          }
        });
  }

  // Where it takes minutes to look at all, something is simulated before: the best of a few
  // degrees.
  void look_first(const std::vector<DegreesOfCandidates>& degrees) {
    std::vector<DegreesOfCandidates> some;
    for (std::size_t i = 0; i < first_degrees; ++i) {
      some.push_back(degrees[i * degrees.size() / first_degrees]);
    }
    ranking_ = rank(some);
    if (ranking_.stopped || ranking_.fastest.empty()) {
      return;
    }
    outcome_.fitting = ranking_.fastest.size();
    choose_fidelity();
    const std::vector<std::string> lines = spread(communicator_, 1, [&](std::size_t) {
      return to_line(
          simulator_.simulate(proposal_of(ranking_.fastest.front()), request_.stop_requested));
    });
    if (const Proposal first = proposal_from(lines.front()); first.status == "finished") {
      take(first);
      outcome_.open = 1;  // at least
      write(false);
    }
  }

  void explain() {
    if (ranking_.nearest) {
      outcome_.advice = advise(ranking_.nearest->candidate, limits_, parts_.machine, forecaster_);
      outcome_.advice->about = "nearest to fit: " + outcome_.advice->about;
    } else if (ranking_.all == 0) {
      outcome_.advice = Advice{"no candidate has what --keep asks for", "", {}};
    } else {
      outcome_.advice = Advice{"no layout has room", ranking_.objection, {}};
    }
  }

  // The same for all, so that they can be compared.
  void choose_fidelity() {
    double events = 0;
    for (std::size_t i = 0; i < std::min(at_a_time, ranking_.fastest.size()); ++i) {
      events = std::max(events, events_of(ranking_.fastest[i], limits_.batch));
    }
    if (simulator_.can_aggregate() && events > most_events) {
      simulator_.aggregate_by_stages();
    }
    outcome_.aggregation = simulator_.aggregation();
  }

  void simulate_own() {
    const std::vector<std::string> lines =
        spread(communicator_, 1, [&](std::size_t) { return to_line(own_proposal()); });
    Proposal own = proposal_from(lines.front());
    if (own.status == "finished") {
      note("the experiment's own strategy takes " + to_string(own.iteration));
      outcome_.proposals.push_back(std::move(own));
    } else if (own.status == stopped) {
      outcome_.complete = false;
    } else {
      outcome_.fallen_out.push_back({own.title(), own.status, own.message});
      if (own.status != left_out) {
        advise_own();
      }
    }
  }

  Proposal own_proposal() {
    Proposal own;
    if (const Proposal* const known = ledger_->known("own")) {
      return *known;
    }
    own = simulator_.simulate_own(request_, loader());
    if (own.status == "finished") {
      const bool checks = forecaster_.checks_peaks();
      forecaster_.check_peaks(false);  // it is simulated whatever it fills
      own.estimate = estimate_of(limits_.own, forecaster_);
      forecaster_.check_peaks(checks);
      ledger_->keep(own);
    }
    return own;
  }

  void advise_own() {
    const Candidate& own = limits_.own;
    if (own.degrees.data * own.context % own.expert != 0) {
      return;
    }
    try {
      Advice advice = advise(limits_.own, limits_, parts_.machine, forecaster_);
      if (!advice.remedies.empty()) {
        advice.about = "the experiment's own strategy does not fit: " + advice.about;
        outcome_.advice = std::move(advice);
      }
    } catch (const Error&) {
      return;  // what it asks for cannot be cut at all, as its refusal says
    }
  }

  // While all have been short, those that may be faster by their bounds; then by their estimates.
  std::vector<std::size_t> next_of(const Choice& choice, const Budget& budget) const {
    if (outcome_.by_stages()) {
      return choice.next_of_large(std::min(at_a_time_of_large, budget.left()));
    }
    const std::size_t most = std::min(at_a_time, budget.left());
    return budget.is_small() ? choice.next_by_bounds(most) : choice.next(most);
  }

  void simulate_candidates() {
    Choice choice(ranking_.fastest, outcome_.by_stages() ? least_margin_of_large : least_margin);
    if (!outcome_.proposals.empty() && !falls_behind(outcome_.proposals.front())) {
      choice.beat(outcome_.proposals.front().iteration);
    }
    Budget budget(request_.simulated);
    while (outcome_.complete) {
      const std::vector<std::size_t> numbers = next_of(choice, budget);
      if (numbers.empty()) {
        break;
      }
      std::vector<Proposal> jobs;
      for (const std::size_t number : numbers) {
        jobs.push_back(proposal_of(ranking_.fastest[number]));
        jobs.back().repeats = choice.may_repeat(number);
        budget.spend(events_of(ranking_.fastest[number], limits_.batch));
      }
      const std::vector<Proposal> results = simulate_all(jobs);
      for (std::size_t i = 0; i < results.size(); ++i) {
        learn(choice, numbers[i], results[i]);
      }
      count(choice);
      tell(budget.done());
    }
    lay_out();
    count(choice);
  }

  // Brute force.
  void simulate_every() {
    Choice choice(ranking_.fastest, least_margin);
    const std::size_t all = ranking_.fastest.size();
    for (std::size_t first = 0; first < all && outcome_.complete; first += at_a_time_of_all) {
      const std::size_t end = std::min(all, first + at_a_time_of_all);
      std::vector<Proposal> jobs;
      for (std::size_t number = first; number < end; ++number) {
        jobs.push_back(proposal_of(ranking_.fastest[number]));
      }
      const std::vector<Proposal> results = simulate_all(jobs);
      for (std::size_t i = 0; i < results.size(); ++i) {
        learn(choice, first + i, results[i]);
      }
      count(choice);
      tell(end);
    }
  }

  void learn(Choice& choice, std::size_t number, const Proposal& result) {
    if (result.status != stopped) {
      const bool counts = result.status == "finished" && !falls_behind(result);
      choice.learn(number, counts ? result.iteration : SimTime::never(), result.repeats);
    }
    take(result);
  }

  // Where others fit, what overfills a channel is no answer.
  bool falls_behind(const Proposal& proposal) const {
    return proposal.overfills() && forecaster_.checks_peaks();
  }

  void count(const Choice& choice) {
    outcome_.bounded = choice.bounded();
    outcome_.open = choice.open();
    (ranking_.least_of_left_out >= choice.best() ? outcome_.bounded : outcome_.open) +=
        ranking_.left_out;
    const double least = ranking_.left_out > 0
                             ? std::min(choice.least(), ranking_.least_of_left_out)
                             : choice.least();
    outcome_.least = time_of(least);
    outcome_.margin = choice.margin();
    outcome_.exhausted = choice.next(1).empty();
  }

  // Where layouts are free, what looks for its place is tried for the best.
  void lay_out() {
    const bool looks = !limits_.kept.contains("placement") &&
                       !limits_.given.contains("placement") &&
                       !parts_.machine.topology->cluster() && !outcome_.by_stages();
    std::set<std::string> tried;
    std::vector<Proposal> jobs;
    for (const Proposal& proposal : outcome_.proposals) {
      if (!looks || !outcome_.complete || !proposal.candidate || jobs.size() == laid_out ||
          proposal.candidate->tiles() > most_laid_out_tiles) {
        continue;
      }
      Proposal job = proposal;
      job.candidate->layout = "optimized";
      if (tried.insert(job.candidate->key()).second) {
        jobs.push_back(std::move(job));
      }
    }
    for (const Proposal& result : simulate_all(jobs)) {
      take(result);
    }
  }

  std::vector<Proposal> simulate_all(const std::vector<Proposal>& jobs) {
    const std::vector<std::string> lines =
        spread(communicator_, jobs.size(), [&](std::size_t number) {
          const Proposal& job = jobs[number];
          if (const Proposal* const known = ledger_->known(key_of(job))) {
            return to_line(*known);
          }
          Proposal result = job;
          result.status = stopped;
          if (!stop_requested()) {
            result = simulator_.simulate(job, request_.stop_requested);
          }
          if (result.status != stopped) {
            ledger_->keep(result);
          }
          return to_line(result);
        });
    std::vector<Proposal> results;
    for (const std::string& line : lines) {
      results.push_back(proposal_from(line));
    }
    return results;
  }

  void take(const Proposal& result) {
    if (falls_behind(result)) {
      outcome_.fallen_out.push_back(
          {result.title() + ", " + result.candidate->layout, "too large", result.message});
    } else if (result.status == "finished") {
      outcome_.violated += result.iteration < result.bound ? 1 : 0;
      const auto place = std::upper_bound(outcome_.proposals.begin(), outcome_.proposals.end(),
                                          result, [this](const Proposal& a, const Proposal& b) {
                                            return std::pair(falls_behind(a), a.iteration) <
                                                   std::pair(falls_behind(b), b.iteration);
                                          });
      const bool is_best = place == outcome_.proposals.begin();
      outcome_.proposals.insert(place, result);
      if (is_best) {
        note("best so far: " + to_string(result.iteration) + " (" + result.title() + ", " +
             result.candidate->layout + ")");
      }
    } else if (result.status == stopped) {
      outcome_.complete = false;
    } else {
      outcome_.fallen_out.push_back(
          {result.title() + ", " + result.candidate->layout, result.status, result.message});
    }
  }

  void tell(std::size_t done) {
    note(std::to_string(done) + " simulated, " + std::to_string(outcome_.open) +
         " more may be faster by their bounds");
    write(false);
  }

  void write(bool has_ended) {
    outcome_.strategy_yaml = text_.best_of(outcome_, has_ended);
    if (!outcome_.proposals.empty()) {
      outcome_.notes = text_.notes_of(outcome_);
      note_overfilled(outcome_);
      note_slow_nodes(simulator_.experiment().machine, outcome_);
    }
    const bool complete = std::exchange(outcome_.complete, has_ended);  // as the files say
    comm::on_first_rank(communicator_, [&] { ledger_->write(outcome_, ranking_.fastest); });
    outcome_.complete = complete;
  }

  SearchOutcome finish() {
    if (!outcome_.complete && outcome_.proposals.empty() && !ranking_.fastest.empty()) {
      outcome_.notes.push_back(note_of_estimates(ranking_));
    }
    write(outcome_.complete);
    return std::move(outcome_);
  }

  const SearchRequest& request_;
  comm::Communicator& communicator_;
  TextCache cache_;
  sim::ModelCache models_;
  MachineAndWork parts_;
  Simulator simulator_;
  CandidateLimits limits_;
  bool has_own_ = false;  // whether the experiment has a strategy
  Forecaster forecaster_;
  std::optional<Ledger> ledger_;
  Ranking ranking_;
  SearchOutcome outcome_;
  StrategyText text_;
};

}  // namespace

SearchOutcome search_strategies(const SearchRequest& request, comm::Communicator& communicator,
                                const config::TextLoader& load) {
  return Search(request, communicator, load).run();
}

}  // namespace tessera::explore
