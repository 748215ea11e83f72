// How those fared whose requests were served, from the ranks that know to all.
#include <utility>

#include "results.hpp"

namespace tessera::sim {
namespace {

trace::Quantiles quantiles_of(const executor::TimeDistribution& times) {
  trace::Quantiles quantiles;
  if (times.count() > 0) {
    const std::vector<std::uint64_t> at = times.percentiles({50, 95, 99});
    quantiles = {times.count(), times.mean(), at[0], at[1], at[2], times.most()};
  }
  return quantiles;
}

void visit(trace::Quantiles& quantiles, std::vector<std::uint64_t*>& numbers) {
  for (std::uint64_t* const number : {&quantiles.count, &quantiles.mean, &quantiles.p50,
                                      &quantiles.p95, &quantiles.p99, &quantiles.most}) {
    numbers.push_back(number);
  }
}

// All that is known of a service but its tenant.
std::vector<std::uint64_t*> numbers_of(trace::Service& service) {
  std::vector<std::uint64_t*> numbers{
      &service.served,        &service.samples,     &service.tokens,      &service.again,
      &service.late_requests, &service.late_tokens, &service.cache_blocks};
  visit(service.first_token, numbers);
  visit(service.between_tokens, numbers);
  visit(service.latency, numbers);
  return numbers;
}

}  // namespace

void fill_services(const RankModels& models, trace::Summary& summary) {
  const std::vector<std::string> names = models.work->services();
  if (names.empty()) {
    return;
  }
  std::vector<trace::Service> services(names.size());
  const std::vector<executor::Service> known = models.executor->services();
  for (std::size_t i = 0; i < known.size(); ++i) {
    const executor::Service& one = known[i];
    services[i] = {"",
                   one.served,
                   one.samples,
                   one.tokens,
                   one.again,
                   one.late_requests,
                   one.late_tokens,
                   one.cache_blocks,
                   quantiles_of(one.first_token),
                   quantiles_of(one.between_tokens),
                   quantiles_of(one.latency)};
  }
  std::vector<std::uint64_t> sums;
  for (trace::Service& service : services) {
    for (const std::uint64_t* const number : numbers_of(service)) {
      sums.push_back(*number);
    }
  }
  models.communicator.reduce_sum(sums);  // one rank knows a service, the others have zeros
  std::size_t at = 0;
  for (std::size_t i = 0; i < services.size(); ++i) {
    services[i].tenant = names[i];
    for (std::uint64_t* const number : numbers_of(services[i])) {
      *number = sums[at++];
    }
  }
  summary.services = std::move(services);
}

}  // namespace tessera::sim
