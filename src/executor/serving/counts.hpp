// What requests of a tenant asked for, and what its steps computed: kept apart from what batches
// say of themselves (serving::BatchCounts), so that both can be held against each other.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/executor/serving/serving.hpp"
#include "tessera/serving/batcher.hpp"

namespace tessera::executor {

struct ServingCounts {
  // Of requests that have arrived.
  std::uint64_t requests = 0;
  std::uint64_t samples = 0;
  std::uint64_t held = 0;       // tokens of prompts, and those generated that go in again
  std::uint64_t generated = 0;  // tokens
  // Of steps that have begun.
  std::uint64_t computed_samples = 0;
  std::uint64_t computed_tokens = 0;

  void arrive(const serving::Request& request) {
    ++requests;
    samples += request.samples;
    held += std::uint64_t{request.prompt} + request.generate - 1;
    generated += request.generate;
  }
  // A request whose prompt others have computed, with its first token.
  void take_over(const serving::Request& request) {
    ++requests;
    samples += request.samples;
    held += std::uint64_t{request.prompt} + request.generate - 1;
    generated += request.generate - 1;
  }
  void begin(const serving::Batch& batch) {
    computed_samples += batch.samples;
    computed_tokens += batch.tokens();
  }
};

// Of all classes of a tenant; of replicas with the first one.
struct ClassSums {
  std::uint64_t came = 0;  // requests
  std::uint64_t over = 0;
};

// Of one tenant; the same list wherever it is asked for.
std::vector<Balance> balances_of(const ServiceSettings& tenant, const ServingCounts& asked,
                                 const Service& given, const serving::BatchCounts& batches,
                                 const ClassSums& of_classes);

}  // namespace tessera::executor
