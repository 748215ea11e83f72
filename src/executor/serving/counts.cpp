#include "serving/counts.hpp"

namespace tessera::executor {

std::vector<Balance> balances_of(const ServiceSettings& tenant, const ServingCounts& asked,
                                 const Service& given, const serving::BatchCounts& batches,
                                 const ClassSums& of_classes) {
  const std::string of = "of tenant " + tenant.name + ", ";
  if (!tenant.of_language) {
    return {
        {of + "requests that came and were served", asked.requests, given.served},
        {of + "samples that came and were served", asked.samples, given.samples},
        {of + "samples that came and went through steps", asked.samples, asked.computed_samples}};
  }
  std::vector<Balance> all{
      {of + "requests that came and were served", asked.requests, given.served},
      {of + "tokens asked for and given", asked.generated, given.tokens},
      {of + "tokens of requests that came and of those served", asked.held, batches.held},
      {of + "tokens of steps and prefixes, and those of sequences",
       asked.computed_tokens + batches.reused, batches.held + batches.dropped},
      {of + "blocks of the cache taken and held by prefixes alone", batches.blocks_taken,
       batches.blocks_of_prefixes},
      {of + "blocks of the cache taken beyond its capacity, and none", batches.blocks_beyond, 0}};
  if (tenant.tier) {
    all.push_back({of + "blocks of sequences that went to the tier and came back",
                   batches.swapped_out, batches.swapped_in});
    all.push_back({of + "blocks of the tier taken and held by prefixes alone", batches.tier_taken,
                   batches.tier_of_prefixes});
    all.push_back(
        {of + "blocks of the tier taken beyond its capacity, and none", batches.tier_beyond, 0});
  }
  if (!tenant.classes.empty()) {
    all.push_back({of + "requests that came, and those of its classes that are over",
                   of_classes.came, of_classes.over});
  }
  return all;
}

}  // namespace tessera::executor
