#include "serving/counts.hpp"

namespace tessera::executor {

std::vector<Balance> balances_of(const std::string& tenant, bool of_language,
                                 const ServingCounts& asked, const Service& given,
                                 const serving::BatchCounts& batches) {
  const std::string of = "of tenant " + tenant + ", ";
  if (!of_language) {
    return {
        {of + "requests that came and were served", asked.requests, given.served},
        {of + "samples that came and were served", asked.samples, given.samples},
        {of + "samples that came and went through steps", asked.samples, asked.computed_samples}};
  }
  return {
      {of + "requests that came and were served", asked.requests, given.served},
      {of + "tokens asked for and given", asked.generated, given.tokens},
      {of + "tokens of requests that came and of those served", asked.held, batches.held},
      {of + "tokens of steps and prefixes, and those of sequences",
       asked.computed_tokens + batches.reused, batches.held + batches.dropped},
      {of + "blocks of the cache taken and held by prefixes alone", batches.blocks_taken,
       batches.blocks_of_prefixes},
      {of + "blocks of the cache taken beyond its capacity, and none", batches.blocks_beyond, 0}};
}

}  // namespace tessera::executor
