// Ranks that are late at random, for tests: whatever is left to chance comes out differently.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "tessera/comm/communicator.hpp"

namespace tessera::comm {

// Asynchronous batches are held back by the receiver, one in four for up to `longest`, in the order
// of each source.
//
// Every call of `communicator`, which must outlive the result, after a random pause: one call in 64
// waits up to `longest`, another one gives way to other processes. Pauses depend on `seed`, the
// rank and the number of the call. Gives the same results as `communicator`.
std::unique_ptr<Communicator> make_delayed(Communicator& communicator, std::uint64_t seed,
                                           std::chrono::microseconds longest);

}  // namespace tessera::comm
