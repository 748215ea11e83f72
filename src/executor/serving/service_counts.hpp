// What a service says of the requests that it serves.
#pragma once

#include <optional>

#include "tessera/executor/serving/serving.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::executor {

struct ServedTimes {
  SimTime first;  // token, since the arrival
  SimTime whole;  // to the end
  std::uint32_t generated = 0;

  // The mean of all tokens but the first; none: there are no others.
  std::optional<SimTime> a_token() const;
  bool meet(const Targets& targets) const;
};

void give_token(Service& service, SimTime now, std::optional<SimTime> since,
                const Targets& targets);
void serve_first(Service& service, SimTime first, const Targets& targets);
// `targets`: of the request. `with_first`: no other one has said how long the first token took.
void serve(Service& service, const ServedTimes& times, std::uint32_t samples,
           const ServiceSettings& tenant, const Targets& targets, bool with_first);

void save(const Service& service, pdes::StateWriter& writer);
void restore(Service& service, pdes::StateReader& reader);

}  // namespace tessera::executor
