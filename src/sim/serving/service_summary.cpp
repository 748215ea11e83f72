// How those fared whose requests were served, from the ranks that know to all.
#include <algorithm>
#include <numeric>
#include <utility>

#include "results.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::sim {
namespace {

trace::Quantiles quantiles_of(std::vector<std::uint64_t> times) {
  trace::Quantiles quantiles;
  if (times.empty()) {
    return quantiles;
  }
  std::sort(times.begin(), times.end());
  const std::size_t count = times.size();
  const auto at = [&](std::size_t percent) {  // nearest rank
    return times[(percent * count + 99) / 100 - 1];
  };
  Wide sum = 0;
  for (const std::uint64_t time : times) {
    sum += time;
  }
  quantiles = {count,       static_cast<std::uint64_t>(sum / count), at(50), at(95), at(99),
               times.back()};
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
