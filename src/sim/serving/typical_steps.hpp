// Steps that a tenant's requests will need, roughly: who asks when is not known before.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/executor/serving/serving.hpp"

namespace tessera::sim {

// Alike, and how many.
struct TypicalSteps {
  serving::Batch batch;
  std::uint64_t count = 0;
};

// Of all requests, of mean lengths: some with a prompt, some with a token of each sequence that
// runs together, or with a request's samples; of a tenant in the background of one request.
std::vector<TypicalSteps> typical_steps(const executor::ServiceSettings& tenant);

}  // namespace tessera::sim
