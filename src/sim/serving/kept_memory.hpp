// Memory that requests of a service and its host take, as far as requests that are known before a
// run say. Those that wait because a service does not keep up are not known.
#pragma once

#include <cstddef>

#include "tessera/executor/serving/serving.hpp"

namespace tessera::sim {

// Times of which percentiles are asked for, of requests and tokens, of all together, of classes and
// of windows, as executor::TimeDistribution keeps them; and on tiles times of operators, steps
// and accesses that come again (executor/serving/times.hpp, whole_steps.hpp), up to the most that
// are kept.
std::size_t kept_memory(const executor::ServingWork& work);

}  // namespace tessera::sim
