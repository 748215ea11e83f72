#include "tessera/explore/strategy_search.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <utility>

#include "columns.hpp"
#include "machine_and_work.hpp"
#include "proposal_text.hpp"
#include "refusal.hpp"
#include "spread.hpp"
#include "tessera/core/error.hpp"
#include "tessera/explore/estimate.hpp"
#include "tessera/explore/sweep.hpp"
#include "tessera/sim/model_cache.hpp"
#include "tessera/sim/programs/replay.hpp"
#include "tessera/sim/simulation.hpp"
#include "usual_settings.hpp"

namespace tessera::explore {
namespace {

constexpr const char* stopped = "stopped";

constexpr std::string_view heading = "# A strategy that tessera plan proposed:\n";

class Search {
 public:
  Search(const SearchRequest& request, comm::Communicator& communicator,
         const config::TextLoader& load)
      : request_(request),
        communicator_(communicator),
        cache_(load),
        parts_(read_machine_and_work(request.experiment, request.overrides, cache_.loader())),
        estimator_(parts_.machine) {
    // The usual layout first.
    layouts_ = plan::placements().names();
    const std::string usual = parts_.machine.topology->grid() ? "s-shape" : "linear";
    std::stable_partition(layouts_.begin(), layouts_.end(),
                          [&](const std::string& name) { return name == usual; });
  }

  SearchOutcome run() {
    limits_ = limits_of(parts_.machine, parts_.workload, request_.devices, request_.full);
    candidates_ = candidates(limits_);
    read_own();
    SearchOutcome outcome;
    outcome.experiment = request_.experiment;
    outcome.machine = parts_.machine.name;
    outcome.workload = parts_.workload.name;
    outcome.devices = limits_.devices;
    outcome.candidates = candidates_.size();
    note(std::to_string(candidates_.size()) + " candidates");
    std::vector<Proposal> ranked = estimate_all(outcome);
    outcome.estimated = ranked.size();
    ranked.resize(std::min(ranked.size(), request_.simulated));
    outcome.proposals = simulate_all(ranked, outcome);
    for (const Proposal& proposal : outcome.proposals) {
      if (proposal.candidate) {
        outcome.strategy_yaml = strategy_of(proposal);
        break;
      }
    }
    return outcome;
  }

 private:
  void note(const std::string& text) const {
    if (communicator_.rank() == 0 && request_.on_note) {
      request_.on_note(text);
    }
  }

  bool stop_requested() const { return request_.stop_requested && request_.stop_requested(); }

  sim::Experiment read(const Proposal& proposal) {
    std::vector<std::string> settings = request_.overrides;
    settings.insert(settings.end(), usual_settings.begin(), usual_settings.end());
    if (proposal.candidate) {
      const std::vector<std::string> own = proposal.candidate->settings(proposal.layout);
      settings.insert(settings.end(), own.begin(), own.end());
    }
    return sim::read_experiment(request_.experiment, settings,
                                sim::CachingLoader{cache_.loader(), &models_});
  }

  // Once on every rank, so that all files are in memory. What refuses the experiment's own strategy
  // need not refuse others.
  void read_own() {
    try {
      own_.layout = read(own_).plan().strategy.layout;
      own_fits_ = true;
    } catch (const ConfigError& error) {
      own_.status = "refused";
      own_.message = messages_of(error);
    }
    cache_.close();
  }

  Proposal estimate(const Candidate& candidate) {
    Proposal proposal;
    proposal.candidate = candidate;
    for (const std::string& layout : layouts_) {
      Proposal here = proposal;
      here.layout = layout;
      try {
        const sim::Experiment experiment = read(here);
        here.status = "estimated";
        here.estimate = estimator_.iteration(experiment);
        here.memory = memory_per_tile(experiment.plan());
        return here;
      } catch (const ConfigError& error) {
        if (proposal.status.empty()) {  // the usual layout tells why
          proposal.layout = layout;
          proposal.status = "refused";
          proposal.message = messages_of(error);
        }
      }
    }
    return proposal;
  }

  // Those that fit, the fastest estimate first.
  std::vector<Proposal> estimate_all(SearchOutcome& outcome) {
    const std::vector<std::string> lines =
        spread(communicator_, candidates_.size(), [&](std::size_t number) -> std::string {
          Proposal proposal;
          proposal.status = stopped;
          return to_line(stop_requested() ? proposal : estimate(candidates_[number]));
        });
    std::vector<Proposal> fitting;
    for (std::size_t number = 0; number < lines.size(); ++number) {
      Proposal proposal = proposal_from(lines[number]);
      proposal.candidate = candidates_[number];
      keep(std::move(proposal), "estimated", fitting, outcome);
    }
    std::stable_sort(fitting.begin(), fitting.end(),
                     [](const Proposal& a, const Proposal& b) { return a.estimate < b.estimate; });
    return fitting;
  }

  static void keep(Proposal proposal, const std::string& wanted, std::vector<Proposal>& kept,
                   SearchOutcome& outcome) {
    if (proposal.status == stopped) {
      throw StopRequested("stopped before a strategy was found");
    }
    if (proposal.status == wanted) {
      kept.push_back(std::move(proposal));
    } else {
      outcome.fallen_out.push_back({proposal.title(), proposal.status, proposal.message});
    }
  }

  std::vector<Proposal> simulate_all(const std::vector<Proposal>& ranked, SearchOutcome& outcome) {
    std::vector<Proposal> jobs;
    for (const Proposal& proposal : ranked) {
      for (const std::string& layout : layouts_) {
        jobs.push_back(proposal);
        jobs.back().layout = layout;
      }
    }
    if (own_fits_) {
      jobs.push_back(own_);
    } else {
      outcome.fallen_out.push_back({own_.title(), own_.status, own_.message});
    }
    note(std::to_string(jobs.size()) + " simulations");
    const std::vector<std::string> lines =
        spread(communicator_, jobs.size(),
               [&](std::size_t number) { return to_line(simulate(jobs[number])); });
    std::vector<Proposal> done;
    for (std::size_t number = 0; number < lines.size(); ++number) {
      Proposal proposal = proposal_from(lines[number]);
      proposal.candidate = jobs[number].candidate;
      if (proposal.status != "refused") {  // by another layout than the one it fits
        keep(std::move(proposal), "finished", done, outcome);
      }
    }
    std::stable_sort(done.begin(), done.end(), [](const Proposal& a, const Proposal& b) {
      return a.iteration < b.iteration;
    });
    return done;
  }

  Proposal simulate(Proposal job) {
    try {
      sim::Experiment experiment = read(job);
      job.estimate = estimator_.iteration(experiment);
      job.memory = memory_per_tile(experiment.plan());
      const std::unique_ptr<comm::Communicator> alone = comm::make_in_process();
      sim::RunRequest run;
      run.hooks.stop_requested = request_.stop_requested;
      const trace::Summary summary = sim::run_with_replay(experiment, *alone, run);
      job.status = summary.status;
      job.message = summary.message;
      job.iteration = SimTime::from_ps(summary.iteration_time_ps);
      job.throughput = summary.throughput_samples_per_s;
    } catch (const ConfigError& error) {
      job.status = "refused";
      job.message = messages_of(error);
    } catch (const ModelError& error) {
      job.status = "failed";
      job.message = error.what();
    } catch (const std::bad_alloc&) {
      job.status = "failed";
      job.message = "out of memory";
    }
    return job;
  }

  // The strategy with all its defaults.
  std::string strategy_of(const Proposal& proposal) {
    const std::string resolved = read(proposal).resolved;
    config::Diagnostics diagnostics;
    const config::Value root = config::parse("resolved", resolved, diagnostics);
    diagnostics.throw_if_any();
    return std::string(heading) + "# " + proposal.title() + ", " + proposal.layout + ".\n# For " +
           parts_.workload.name + " on " + parts_.machine.name + ": an iteration takes " +
           to_string(proposal.iteration) + ".\n" + config::to_yaml(root.find("strategy")->value);
  }

  const SearchRequest& request_;
  comm::Communicator& communicator_;
  TextCache cache_;
  sim::ModelCache models_;
  MachineAndWork parts_;
  Estimator estimator_;
  std::vector<std::string> layouts_;
  CandidateLimits limits_;
  std::vector<Candidate> candidates_;
  Proposal own_;
  bool own_fits_ = false;
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
