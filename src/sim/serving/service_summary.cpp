// How those fared whose requests were served, from the ranks that know to all.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "results/results.hpp"

namespace tessera::sim {
namespace {

trace::Quantiles quantiles_of(const executor::TimeDistribution& times) {
  trace::Quantiles quantiles;
  if (times.count() > 0) {
    const std::vector<std::uint64_t> at = times.percentiles({50, 90, 95, 99});
    quantiles = {times.count(), times.mean(), at[0], at[1], at[2], at[3], times.most()};
  }
  return quantiles;
}

void visit(trace::Quantiles& quantiles, std::vector<std::uint64_t*>& numbers) {
  for (std::uint64_t* const number :
       {&quantiles.count, &quantiles.mean, &quantiles.p50, &quantiles.p90, &quantiles.p95,
        &quantiles.p99, &quantiles.most}) {
    numbers.push_back(number);
  }
}

// All whole numbers that are known of a service.
std::vector<std::uint64_t*> numbers_of(trace::Service& service) {
  std::vector<std::uint64_t*> numbers{
      &service.served,        &service.samples,     &service.tokens,        &service.again,
      &service.late_requests, &service.late_tokens, &service.cache_blocks,  &service.met,
      &service.npus,          &service.window_ps,   &service.last_window_ps};
  visit(service.first_token, numbers);
  visit(service.between_tokens, numbers);
  visit(service.a_token, numbers);
  visit(service.latency, numbers);
  for (trace::ServiceWindow& window : service.windows) {
    for (std::uint64_t* const number :
         {&window.arrived, &window.served, &window.met, &window.tokens}) {
      numbers.push_back(number);
    }
    visit(window.first_token, numbers);
    visit(window.a_token, numbers);
    visit(window.latency, numbers);
  }
  return numbers;
}

// And those that are not whole and always there.
std::vector<double*> fractions_of(trace::Service& service) {
  std::vector<double*> fractions{&service.on_s, &service.met_per_s};
  for (trace::ServiceWindow& window : service.windows) {
    for (double* const fraction :
         {&window.running, &window.waiting, &window.cache_blocks, &window.replicas}) {
      fractions.push_back(fraction);
    }
  }
  return fractions;
}

trace::ServiceWindow window_of(const executor::ServiceWindow& window, SimTime width) {
  const auto mean = [&](Wide sum) {
    return static_cast<double>(sum) / static_cast<double>(width.ps());
  };
  return {window.arrived,
          window.served,
          window.met,
          window.tokens,
          mean(window.running),
          mean(window.waiting),
          mean(window.cache_blocks),
          mean(window.replicas),
          quantiles_of(window.first_token),
          quantiles_of(window.a_token),
          quantiles_of(window.latency)};
}

// Of all requests that were served in some window.
trace::Quantiles a_token_of(const executor::ServiceWindows& windows) {
  executor::TimeDistribution all;
  for (const executor::ServiceWindow& window : windows.all()) {
    all.add_all(window.a_token);
  }
  return quantiles_of(all);
}

// `now`: to which the run has come.
trace::Service service_of(const executor::Service& one, SimTime now) {
  const double seconds = (std::min(now, one.end) - std::min(now, one.begin)).seconds();
  trace::Service service;
  service.served = one.served;
  service.samples = one.samples;
  service.tokens = one.tokens;
  service.again = one.again;
  service.late_requests = one.late_requests;
  service.late_tokens = one.late_tokens;
  service.cache_blocks = one.cache_blocks;
  service.met = one.met;
  service.npus = one.npus;
  // Time that replicas were off costs nothing.
  constexpr double hour = 3600;
  const auto replicas = static_cast<double>(one.replicas);
  service.on_s = std::max(0.0, replicas * seconds - one.off_s);
  if (one.price > 0 && one.tokens > 0) {
    service.cost_a_million_tokens =
        (one.price * seconds - one.unpaid) / hour / static_cast<double>(one.tokens) * 1e6;
  }
  service.met_per_s = seconds > 0 ? static_cast<double>(one.met) / seconds : 0.0;
  service.first_token = quantiles_of(one.first_token);
  service.between_tokens = quantiles_of(one.between_tokens);
  service.a_token = a_token_of(one.windows);
  service.latency = quantiles_of(one.latency);
  service.window_ps = static_cast<std::uint64_t>(one.windows.width().ps());
  service.last_window_ps = static_cast<std::uint64_t>(one.windows.last_width().ps());
  std::vector<executor::ServiceWindow> windows = one.windows.all();
  if (windows.size() > 1 && service.last_window_ps == 0) {  // what came as the one before ended
    windows[windows.size() - 2].add(windows.back());
    windows.pop_back();
    service.last_window_ps = service.window_ps;
  }
  for (const executor::ServiceWindow& window : windows) {
    service.windows.push_back(window_of(window, one.windows.width()));
  }
  return service;
}

// One rank knows services, the others have zeros.
std::vector<trace::Service> gathered(const RankModels& models,
                                     const std::vector<std::string>& names,
                                     const std::vector<executor::Service>& known, SimTime now) {
  std::vector<trace::Service> services(names.size());
  std::vector<std::uint64_t> windows(names.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    services[i] = service_of(known[i], now);
    windows[i] = services[i].windows.size();
  }
  models.communicator.reduce_sum(windows);
  std::vector<std::uint64_t> sums;
  for (std::size_t i = 0; i < services.size(); ++i) {
    services[i].windows.resize(windows[i]);
    for (const std::uint64_t* const number : numbers_of(services[i])) {
      sums.push_back(*number);
    }
    for (const double* const fraction : fractions_of(services[i])) {
      sums.push_back(std::bit_cast<std::uint64_t>(*fraction));
    }
    const std::optional<double>& cost = services[i].cost_a_million_tokens;
    sums.push_back(cost ? 1 : 0);
    sums.push_back(std::bit_cast<std::uint64_t>(cost.value_or(0)));
  }
  models.communicator.reduce_sum(sums);
  std::size_t at = 0;
  for (std::size_t i = 0; i < services.size(); ++i) {
    services[i].tenant = names[i];
    for (std::uint64_t* const number : numbers_of(services[i])) {
      *number = sums[at++];
    }
    for (double* const fraction : fractions_of(services[i])) {
      *fraction = std::bit_cast<double>(sums[at++]);
    }
    const bool has_cost = sums[at++] > 0;
    const auto cost = std::bit_cast<double>(sums[at++]);
    services[i].cost_a_million_tokens = has_cost ? std::optional(cost) : std::nullopt;
  }
  return services;
}

// Weights, and the most blocks of the cache that were taken.
trace::PeakMemory peak_of(const trace::Service& service, const Work::Kept& kept) {
  trace::PeakMemory peak;
  peak.name = service.tenant;
  peak.parts = {{"weights", kept.weights.count()},
                {"cache", service.cache_blocks * kept.block.count()}};
  peak.bytes = peak.parts[0].second + peak.parts[1].second;
  return peak;
}

}  // namespace

void fill_services(const RankModels& models, SimTime end, trace::Summary& summary) {
  const std::vector<std::string> names = models.work->services();
  if (names.empty()) {
    return;
  }
  summary.services = gathered(models, names, models.executor->services(), end);
  const std::vector<Work::Kept> kept = models.work->kept();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    summary.peak_memory.push_back(peak_of(summary.services[i], kept[i]));
  }
  const std::vector<std::string> totals = models.work->service_totals();
  if (!totals.empty()) {
    summary.service_totals = gathered(models, totals, models.executor->service_totals(), end);
  }
}

}  // namespace tessera::sim
