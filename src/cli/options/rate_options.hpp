// Options of commands that search the largest rate of requests which meets targets.
#pragma once

#include "process/signals.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/explore/capacity.hpp"

namespace tessera::cli {

// `suffix` of their help: of which experiments.
void add_rate_options(Options& options, const std::string& suffix = "");
// `signals` outlives it. Throws ConfigError for shares that are none.
explore::CapacityRequest rate_request(const Options& options, const SignalWatch& signals);
// How a search is stopped, and whom it tells how it goes on.
void watch(explore::CapacityRequest& request, const Options& options, const SignalWatch& signals);

}  // namespace tessera::cli
