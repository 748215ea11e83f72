#include "serving/kept_memory.hpp"

#include <algorithm>

#include "serving/typical_steps.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/executor/service_windows.hpp"
#include "tessera/executor/time_distribution.hpp"

namespace tessera::sim {
namespace {

constexpr std::uint64_t answers_looked_at = 1000;  // for the mean of their answers

struct TimesKept {
  std::uint64_t requests = 0;
  std::uint64_t tokens = 0;
};

// Of a tenant that the requests of all its replicas come to.
TimesKept times_kept(const executor::ServiceSettings& tenant) {
  const std::uint64_t all = tenant.background ? 0 : tenant.requests->count().value_or(0);
  const std::uint64_t some = std::min(all, answers_looked_at);
  std::uint64_t tokens = 0;
  for (std::uint64_t number = 0; number < some; ++number) {
    tokens += tenant.requests->untimed(number).generate;
  }
  return {all, some == 0 ? 0 : all * (tokens / some)};
}

// First tokens, times between tokens, and latencies; all but the second also in windows. Mean times
// of tokens are in windows alone, and put together in the end.
std::size_t bytes_of_times(const TimesKept& counts) {
  using executor::TimeDistribution;
  return 3 * TimeDistribution::predicted_bytes(counts.requests) +
         TimeDistribution::predicted_bytes(counts.tokens) +
         executor::ServiceWindows::predicted_bytes(counts.requests);
}

// The requests themselves, where they are a table, and those under way in a service that keeps up.
std::size_t bytes_of_requests(const executor::ServiceSettings& tenant) {
  constexpr std::uint64_t of_request = 256;  // with its blocks
  const std::uint64_t all = tenant.requests->count().value_or(tenant.requests->clients());
  const std::uint64_t at_a_time = tenant.of_language ? tenant.batching.sequences : 1;
  return tenant.requests->resident_bytes() +
         std::min(all, 2 * at_a_time * tenant.replicas) * of_request;
}

TimesKept shared_out(const TimesKept& counts, std::uint64_t parts) {
  return {quotient_up(counts.requests, parts), quotient_up(counts.tokens, parts)};
}

// Some steps are like others; how many is not known before.
std::size_t bytes_of_known_steps(const executor::ServingWork& work) {
  constexpr std::uint64_t most_operators = 100'000;
  constexpr std::size_t of_operator = 320;
  constexpr std::uint64_t most_steps = 20'000;
  constexpr std::size_t of_step = 400;
  constexpr std::uint64_t most_accesses = 20'000;
  constexpr std::size_t of_access = 80;
  std::uint64_t steps = 0;
  bool streams = false;
  for (const executor::ServiceSettings& tenant : work.tenants) {
    streams = streams || tenant.streams();
    for (const TypicalSteps& some : typical_steps(tenant)) {
      steps += some.count;
    }
  }
  const std::size_t operators = std::min(steps, most_operators) * of_operator;
  // Operators of whole steps are kept where their times depend on tokens alone.
  if (!work.whole_steps) {
    return operators;
  }
  return operators / 4 + std::min(steps, most_steps) * of_step +
         (streams ? std::min(steps, most_accesses) * of_access : 0);
}

}  // namespace

std::size_t kept_memory(const executor::ServingWork& work) {
  std::size_t bytes = work.on_tiles ? bytes_of_known_steps(work) : 0;
  for (std::size_t number = 0; number < work.tenants.size(); ++number) {
    const executor::ServiceSettings& tenant = work.tenants[number];
    const TimesKept all = times_kept(tenant);
    bytes += bytes_of_times(shared_out(all, tenant.replicas));
    if (tenant.lead == number) {
      bytes += bytes_of_requests(tenant);
      bytes += tenant.replicas > 1 ? bytes_of_times(all) : 0;
      const std::size_t classes = tenant.classes.size();
      bytes += classes == 0 ? 0 : classes * bytes_of_times(shared_out(all, classes));
    }
  }
  return bytes;
}

}  // namespace tessera::sim
