// Runs on several ranks, which are threads.
#pragma once

#include <optional>
#include <utility>

#include "files.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::testing {

// What the first rank gives.
inline trace::Summary run_on(int ranks, const Experiment& experiment,
                             const RunRequest& request = {}) {
  std::optional<trace::Summary> first;
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    trace::Summary summary = run(experiment, communicator, request);
    if (communicator.rank() == 0) {
      first = std::move(summary);
    }
  });
  return *first;
}
inline trace::Summary run_on(int ranks, const Files& files) {
  return run_on(ranks, read(files));
}

}  // namespace tessera::sim::testing
