#include "serving/typical_steps.hpp"

#include <algorithm>

#include "tessera/core/quotient.hpp"
#include "tessera/serving/language_model.hpp"

namespace tessera::sim {
namespace {

using serving::Batch;

constexpr std::uint32_t sequences_together = 4;    // assumed
constexpr std::uint64_t requests_looked_at = 100;  // for their mean

}  // namespace

std::vector<TypicalSteps> typical_steps(const executor::ServiceSettings& tenant) {
  const serving::RequestSource& requests = *tenant.requests;
  const std::uint64_t count =
      tenant.background ? 1 : quotient_up(requests.count().value_or(1), tenant.replicas);
  const std::uint64_t some = std::min(requests.count().value_or(1), requests_looked_at);
  std::uint64_t samples = 0;
  std::uint64_t prompt = 0;
  std::uint64_t generate = 0;
  for (std::uint64_t number = 0; number < some; ++number) {
    const serving::Request request = requests.untimed(number);
    samples += request.samples;
    prompt += request.prompt;
    generate += request.generate;
  }
  if (!tenant.of_language) {
    const std::uint32_t least = requests.samples().front();
    return {{Batch{{}, 0, least}, quotient_up(count * samples, some * least)}};
  }
  const auto queries = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      quotient_up(prompt, some), std::min(tenant.batching.tokens, serving::most_queries)));
  const auto together = static_cast<std::uint32_t>(
      std::min<std::uint64_t>({tenant.batching.sequences, count,
                               requests.clients() > 0 ? requests.clients() : sequences_together}));
  const auto keys = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(queries + generate / some / 2 + 1, serving::most_keys));
  const std::uint64_t prompts = quotient_up(count * prompt, some * queries);
  const std::uint64_t tokens = count * (generate / some) / together;
  return {{Batch{{serving::SequenceGroup{1, queries, queries}}, 1, 0}, prompts},
          {Batch{{serving::SequenceGroup{together, 1, keys}}, together, 0}, tokens}};
}

}  // namespace tessera::sim
