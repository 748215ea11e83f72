#include "tessera/explore/strategy_search.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <utility>

#include "machine_and_work.hpp"
#include "search/advice.hpp"
#include "search/choice.hpp"
#include "search/kept_keys.hpp"
#include "search/ledger.hpp"
#include "search/notes.hpp"
#include "search/proposal_line.hpp"
#include "search/simulator.hpp"
#include "spread.hpp"
#include "tessera/comm/first_rank.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/explore/sweep.hpp"
#include "tessera/plan/schedule/schedule.hpp"
#include "tessera/sim/model_cache.hpp"
#include "usual_settings.hpp"

namespace tessera::explore {
namespace {

using WallClock = std::chrono::steady_clock;

constexpr const char* stopped = "stopped";
constexpr std::string_view heading = "# A strategy that tessera plan proposed:\n";
// Simulations between two looks at what they have shown; of any number of ranks.
constexpr std::size_t at_a_time = 8;
// Where each takes seconds: what four have shown rules out others of the eight.
constexpr std::size_t at_a_time_of_large = 4;
constexpr std::size_t at_a_time_of_all = 256;
constexpr std::size_t all_of_them = std::numeric_limits<std::size_t>::max();
// Where not more were asked for: at least so many are simulated, and others that are worth it while
// all together have taken fewer events than some ten seconds take.
constexpr std::size_t usual_number = 64;
constexpr double most_events_of_usual = 5e7;
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
        forecaster_(simulator_.experiment(), parts_.workload, simulator_.base()) {
    limits_.adapters = simulator_.base().has_adapters() ? simulator_.base().adapters : 0;
    find_kept();
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
    if (!simulator_.base().cuts.empty()) {
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
      own.estimate = estimate_of(limits_.own, forecaster_);
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

  // How many more may be simulated, after so many and their events.
  std::size_t left_of(std::size_t done, double events) const {
    if (request_.simulated > 0) {
      return request_.simulated - done;
    }
    if (done < usual_number) {
      return usual_number - done;
    }
    return events < most_events_of_usual ? at_a_time : 0;
  }

  void simulate_candidates() {
    Choice choice(ranking_.fastest);
    if (!outcome_.proposals.empty()) {
      choice.beat(outcome_.proposals.front().iteration);
    }
    std::size_t done = 0;
    double events = 0;
    while (outcome_.complete) {
      const std::size_t left = left_of(done, events);
      const std::vector<std::size_t> numbers =
          outcome_.by_stages() ? choice.next_of_large(std::min(at_a_time_of_large, left))
                               : choice.next(std::min(at_a_time, left));
      if (numbers.empty()) {
        break;
      }
      std::vector<Proposal> jobs;
      for (const std::size_t number : numbers) {
        jobs.push_back(proposal_of(ranking_.fastest[number]));
        jobs.back().repeats = choice.may_repeat(number);
        events += events_of(ranking_.fastest[number], limits_.batch);
      }
      const std::vector<Proposal> results = simulate_all(jobs);
      for (std::size_t i = 0; i < results.size(); ++i) {
        learn(choice, numbers[i], results[i]);
      }
      done += numbers.size();
      count(choice);
      tell(done);
    }
    lay_out();
    count(choice);
  }

  // Brute force.
  void simulate_every() {
    Choice choice(ranking_.fastest);
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
      choice.learn(number, result.status == "finished" ? result.iteration : SimTime::never(),
                   result.repeats);
    }
    take(result);
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
    if (result.status == "finished") {
      outcome_.violated += result.iteration < result.bound ? 1 : 0;
      const auto place = std::upper_bound(
          outcome_.proposals.begin(), outcome_.proposals.end(), result,
          [](const Proposal& a, const Proposal& b) { return a.iteration < b.iteration; });
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
    outcome_.strategy_yaml = best_strategy(has_ended);
    if (!outcome_.proposals.empty()) {
      outcome_.notes = outcome_.proposals.front().candidate ? written_notes_ : notes_of_own();
    }
    comm::on_first_rank(communicator_, [&] { ledger_->write(outcome_, ranking_.fastest); });
  }

  // Of the experiment as its file has it.
  const std::vector<std::string>& notes_of_own() {
    if (!own_notes_) {
      std::vector<std::string> settings = request_.overrides;
      settings.insert(settings.end(), usual_settings.begin(), usual_settings.end());
      own_notes_ = notes_about_others(
          sim::read_experiment(request_.experiment, settings, loader()).notes, {});
    }
    return *own_notes_;
  }

  SearchOutcome finish() {
    if (!outcome_.complete && outcome_.proposals.empty() && !ranking_.fastest.empty()) {
      outcome_.notes.push_back(note_of_estimates(ranking_));
    }
    write(outcome_.complete);
    return std::move(outcome_);
  }

  std::string best_strategy(bool has_ended) {
    if (outcome_.proposals.empty()) {
      return "";
    }
    const Proposal& best = outcome_.proposals.front();
    const std::string key = best.candidate ? best.candidate->key() : "own";
    if (key != written_key_) {
      written_ = strategy_of(best);
      written_key_ = key;
    }
    return std::string(heading) +
           (has_ended ? "" : "# The search had not ended: " + outcome_.how_far() + ".\n") +
           written_;
  }

  // With all its defaults, below the heading. Where its roles lie is given when it was looked for.
  std::string strategy_of(const Proposal& proposal) {
    std::vector<std::string> own;
    std::vector<std::string> settings{"run.trace=none", "run.weights=none"};
    std::string name = "the experiment's own, which is the fastest";
    if (proposal.candidate) {
      own = proposal.candidate->settings(outcome_.placement);
      settings.insert(settings.end(), own.begin(), own.end());
      settings.emplace_back("strategy.order=[]");
      name = proposal.title() + ", " + proposal.candidate->layout;
    }
    if (!proposal.tiles.empty()) {
      settings.push_back("strategy.placement={layout: given, tiles: " + proposal.tiles + "}");
    }
    const sim::Experiment best = sim::read_single_job_experiment(
        request_.experiment, request_.overrides, settings, loader());
    written_notes_ = notes_about_others(best.notes, own);
    config::Diagnostics diagnostics;
    const config::Value root = config::parse("resolved", best.resolved, diagnostics);
    diagnostics.throw_if_any();
    return "# " + name + ".\n# For " + parts_.workload.name + " on " + parts_.machine.name +
           ": an iteration takes " + to_string(proposal.iteration) +
           (outcome_.by_stages() ? ", simulated with one tile for each stage" : "") + ".\n" +
           config::to_yaml(root.find("strategy")->value);
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
  std::string written_;
  std::string written_key_;
  std::vector<std::string> written_notes_;  // of that key
  std::optional<std::vector<std::string>> own_notes_;
};

}  // namespace

bool begins_as_proposal(std::string_view text) {
  return text.starts_with(heading);
}

SearchOutcome search_strategies(const SearchRequest& request, comm::Communicator& communicator,
                                const config::TextLoader& load) {
  return Search(request, communicator, load).run();
}

}  // namespace tessera::explore
