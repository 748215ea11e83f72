// Proposes how a service is laid over its machine: tensor-parallel NPUs, stages, replicas, replicas
// for prompts alone, and the tokens of a step.
//
// Of a model that one tenant serves, each way to use the NPUs is a candidate, and the experiment's
// own; its worth is the
// largest rate of requests at which targets are met (capacity.hpp). A candidate that does not meet
// them at the best rate so far, raised by half of `within`, is beaten after one simulation: less
// load is taken never to be later. The best rate so far is looked at after 1, 3, 7, 15, 23, ...
// candidates, whose searches are spread over ranks: so results are the same on any number of them.
// With `all` each is searched to its end, which answers are held against.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/explore/capacity.hpp"

namespace tessera::explore {

struct ServicePlanRequest {
  CapacityRequest capacity;   // `over`: none
  std::uint64_t devices = 0;  // NPUs at most; 0: all
  bool all = false;
  std::string folder;   // where what is found is kept; empty: nowhere
  bool resume = false;  // what is in the folder is not searched again
};

struct ServicePlan {
  CapacityOutcome found;  // rows may be `beaten`, too; the largest rate first
  std::uint64_t candidates = 0;
  std::vector<std::string> best_settings;  // KEY=VALUE, of the first; empty: none meets its targets
  // The experiment with these settings and all defaults; empty without them. Files that it names
  // are named from the root of the file system. Of a search that was stopped it says so.
  std::string best_yaml;

  // "rates of 3 of 21 layouts were searched, 18 were left"
  std::string how_far() const;
};

// Whether the experiment serves requests, be it as the only job of a list, which is what is planned
// here.
bool is_service(const std::string& experiment, const std::vector<std::string>& overrides,
                const config::TextLoader& load);

// What was asked for in a folder, to go on with; none: another kind of search. Throws ConfigError
// where there is none.
std::optional<ServicePlanRequest> service_request_in(const std::string& folder);

// Whether a file begins as `best_yaml` does.
bool begins_as_service(std::string_view text);

// Collective. Throws ConfigError for an experiment of several tenants, without targets or without a
// rate.
ServicePlan plan_service(const ServicePlanRequest& request, comm::Communicator& communicator,
                         const config::TextLoader& load);

}  // namespace tessera::explore
