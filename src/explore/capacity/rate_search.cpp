#include "capacity/rate_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>

#include "capacity/keeping_up.hpp"
#include "capacity/missed_target.hpp"
#include "capacity/more_requests.hpp"
#include "refusal.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/simulation.hpp"
#include "usual_settings.hpp"

namespace tessera::explore {
namespace {

constexpr unsigned most_doublings = 24;
constexpr unsigned most_steps = 8;  // from a rate that more requests were to confirm
// Between requests that do not overlap, so many times as long as one takes, and all together at
// most so long [ps].
constexpr double latencies_apart = 100;
constexpr double longest_apart = 1e18;

// The tenant that it is a replica of, NAME.NUMBER; else empty.
std::string replicated(const std::string& tenant) {
  const std::size_t dot = tenant.rfind('.');
  const bool is_number = dot != std::string::npos && dot + 1 < tenant.size() &&
                         std::all_of(tenant.begin() + static_cast<std::ptrdiff_t>(dot) + 1,
                                     tenant.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? tenant.substr(0, dot) : std::string();
}

std::string number_text(double rate) {
  std::array<char, 32> text{};
  const auto written = std::to_chars(text.data(), text.data() + text.size(), rate);
  return {text.data(), written.ptr};
}

// How each service fared, of replicas all together.
std::vector<trace::Service> whole_services(const trace::Summary& summary) {
  std::vector<trace::Service> all = summary.service_totals;
  for (const trace::Service& service : summary.services) {
    const std::string whole = replicated(service.tenant);
    const bool is_of_total =
        std::any_of(summary.service_totals.begin(), summary.service_totals.end(),
                    [&](const auto& total) { return total.tenant == whole; });
    if (!is_of_total) {
      all.push_back(service);
    }
  }
  return all;
}

// But those on how it is run here.
std::vector<std::string> notes_of(const trace::Summary& summary) {
  std::vector<std::string> notes;
  std::ranges::copy_if(summary.notes, std::back_inserter(notes),
                       [](const std::string& note) { return !note.starts_with("run."); });
  return notes;
}

}  // namespace

std::optional<CapacityRow> RateSearch::run(double first, const RateTask& task) {
  try {
    root_ = sim::read_configuration(request_.experiment, settings_, load_);
    arrivals_.emplace(root_, request_.key, request_.job);
    if (task.found) {
      row_ = *task.found;
    } else {
      search(first, task.to_beat);
    }
    if (task.found || task.confirms) {
      confirm();
    }
  } catch (const ConfigError& error) {
    if (row_.runs == 0) {
      fail("refused", messages_of(error));
    } else {
      settle();  // the key takes no such rate, which is as far as one can go
    }
  } catch (const IoError&) {
    throw;  // not the combination's fault
  } catch (const Error& error) {
    fail("failed", error.what());
  }
  return stopped_ ? std::nullopt : std::optional(std::move(row_));
}

void RateSearch::fail(const std::string& status, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  row_.status = status;
  row_.message = std::move(message);
}

void RateSearch::search(double first, const std::optional<CapacityRow>& to_beat) {
  const double start = to_beat ? to_beat->rate * (1 + request_.within / 2) : first;
  const bool met = try_rate(start);
  if (to_beat && !met) {
    row_.status = "beaten";
    return;
  }
  bracket(start, met);
  while (!stopped_ && row_.rate > 0 && row_.beyond == 0) {  // so few requests meet any rate
    const std::optional<std::uint32_t> more =
        arrivals_->times_to_try(row_.times_count, row_.services);
    if (!more) {
      break;
    }
    row_.times_count = *more;
    const double largest = std::exchange(row_.rate, 0.0);
    bracket(largest, try_rate(largest));
  }
  narrow();
  settle();
}

void RateSearch::narrow() {
  constexpr double rounding = 1 + 1e-9;
  const double most = (1 + request_.within) * rounding;
  while (!stopped_ && row_.rate > 0 && row_.beyond > row_.rate * most) {
    try_rate(std::sqrt(row_.rate * row_.beyond));
  }
}

// Tries the rate that was found with more requests, as a queue that grows slowly is seen late, and
// the smallest that was not met, as chance weighs less then. Goes on from there with as many.
void RateSearch::confirm() {
  if (stopped_ || !row_.is_met()) {
    return;
  }
  if (arrivals_->are_given()) {
    row_.message +=
        std::string(row_.message.empty() ? "" : "; ") +
        "a list or a file has no more requests, with which this rate could be confirmed";
    return;
  }
  const std::optional<std::uint32_t> times = arrivals_->times_to_confirm(row_.times_count);
  if (!times) {
    return;
  }
  shown_with_ = row_.times_count;
  row_.times_count = *times;
  confirms_ = true;
  const double found = std::exchange(row_.rate, 0.0);
  const double missed = std::exchange(row_.beyond, 0.0);
  not_kept_.clear();
  if (!try_rate(found)) {
    row_.services.clear();
    row_.notes.clear();
    changed_ = "larger rates, which fewer requests meet, are missed by ";
    walk(found, false);
  } else if (missed > 0 && try_rate(missed)) {
    changed_ = "smaller rates, which fewer requests miss, are met by ";
    walk(missed, true);
  }
  narrow();
  settle();
}

// From a rate that is met up to one that is not, or from one that is not down to one that is. Each
// step is as long as all before.
void RateSearch::walk(double rate, bool up) {
  double step = 1 + request_.within;
  for (unsigned i = 0; i < most_steps && !stopped_; ++i) {
    rate = up ? rate * step : rate / step;
    step *= step;
    if (try_rate(rate) != up) {
      return;
    }
  }
}

void RateSearch::settle() {
  row_.status = row_.rate > 0 ? "met" : "late";
  std::vector<std::string> why;
  if (row_.rate > 0 && row_.beyond == 0) {
    why.emplace_back("no rate was found that is too large: more requests may be needed");
  }
  if (row_.beyond > 0 && !not_kept_.empty()) {
    why.push_back(not_kept_);
  }
  if (row_.rate == 0 && !no_rate_helps_.empty()) {
    why.push_back(no_rate_helps_);
  }
  if (!changed_.empty()) {
    why.push_back(changed_ + std::to_string(row_.times_count / shown_with_) + " times as many");
  }
  if ((confirms_ ? shown_with_ : row_.times_count) > 1) {
    why.emplace_back(
        "the experiment's requests are too few to show whether this rate is kept up: more were "
        "taken");
  }
  row_.message = join(why, "; ");
}

// From a rate that was tried.
void RateSearch::bracket(double rate, bool met) {
  for (unsigned i = 0; i < most_doublings && !stopped_; ++i) {
    if (!met && i > 0 && misses_alone(rate)) {
      return;
    }
    rate = met ? rate * 2 : rate / 2;
    try {
      if (try_rate(rate) != met) {
        return;
      }
    } catch (const ConfigError&) {
      if (!met) {
        throw;
      }
      return;  // the key takes no larger rate
    }
  }
}

// Of the last run, at `rate`: that at which requests hardly overlap. None: that would take too
// long.
std::optional<double> RateSearch::rate_apart(double rate) const {
  double times_as_long = 1;
  double longest = 0;
  for (const trace::Service& service : services_) {
    const auto all =
        static_cast<double>(service.latency.mean) * static_cast<double>(service.served);
    const double time = arrival_time_of(service);
    longest = std::max(longest, time);
    times_as_long =
        time > 0 ? std::max(times_as_long, latencies_apart * all / time) : times_as_long;
  }
  const bool fits = longest > 0 && longest * times_as_long < longest_apart;
  return fits ? std::optional(rate / times_as_long) : std::nullopt;
}

// Whether requests that do not overlap miss their targets as those of the last run, at `rate`, do:
// then no lower rate helps.
bool RateSearch::misses_alone(double rate) {
  const std::optional<double> apart = rate_apart(rate);
  if (was_alone_ || !apart || meet_targets(services_)) {
    return false;
  }
  was_alone_ = true;
  try {
    services_ = whole_services(simulate(*apart, row_.times_count));
  } catch (const ConfigError&) {
    return false;  // the key takes no such rate
  }
  if (stopped_ || meet_targets(services_)) {
    return false;
  }
  row_.beyond = *apart;
  const std::string why =
      missed_target(value_at(root_, request_.job + "workload.tenants"), services_, request_.share);
  no_rate_helps_ = "no lower rate helps, as requests that do not overlap are late: " +
                   (why.empty() ? "few of them meet all targets together" : why);
  return true;
}

bool RateSearch::try_rate(double rate) {
  std::string not_kept;
  const bool met = is_met(rate, not_kept);
  if (!met && !stopped_ && (row_.beyond == 0 || rate < row_.beyond)) {
    row_.beyond = rate;
    not_kept_ = std::move(not_kept);
  }
  return met;
}

// With as many requests as show it. `not_kept`: why, where targets are met and it is not.
bool RateSearch::is_met(double rate, std::string& not_kept) {
  for (std::uint32_t times = row_.times_count;;) {
    const trace::Summary summary = simulate(rate, times);
    services_ = whole_services(summary);
    if (stopped_ || !meet_targets(services_)) {
      return false;
    }
    const Pace pace = arrivals_->pace_of_all(services_);
    if (pace == Pace::kept) {
      row_.rate = rate;
      row_.times_count = times;
      row_.services = services_;
      row_.notes = notes_of(summary);
      return true;
    }
    const std::optional<std::uint32_t> more =
        pace == Pace::lost || confirms_ ? std::nullopt : arrivals_->times_to_try(times, services_);
    if (!more) {
      not_kept = pace == Pace::lost || confirms_
                     ? "at the next larger rate requests meet their targets, but the service does "
                       "not keep up: more and more are there"
                     : "at the next larger rate requests meet their targets, but they are too few "
                       "to show that the service keeps up";
      return false;
    }
    times = *more;
  }
}

bool RateSearch::meet_targets(const std::vector<trace::Service>& services) const {
  return std::all_of(services.begin(), services.end(), [&](const trace::Service& service) {
    return static_cast<double>(service.met) >= request_.share * static_cast<double>(service.served);
  });
}

trace::Summary RateSearch::simulate(double rate, std::uint32_t times) {
  std::vector<std::string> settings = settings_;
  std::ranges::copy(arrivals_->settings(times), std::back_inserter(settings));
  settings.push_back(request_.key + "=" + number_text(rate));
  const sim::Experiment experiment =
      sim::read_experiment(request_.experiment, alone_and_untraced(std::move(settings)), load_);
  const std::unique_ptr<comm::Communicator> alone = comm::make_in_process();
  sim::RunRequest run;
  run.hooks.stop_requested = [&] {
    stopped_ = stopped_ || (request_.stop_requested && request_.stop_requested());
    return stopped_;
  };
  ++row_.runs;
  trace::Summary summary = sim::run(experiment, *alone, run);
  if (summary.status == "finished") {
    stopped_ = false;  // it came with the last events and changed nothing
  } else if (!stopped_) {
    throw ModelError(summary.message);
  }
  return summary;
}

}  // namespace tessera::explore
