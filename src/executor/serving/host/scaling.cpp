// Replicas that come and go.
#include <vector>

#include "serving/host/host.hpp"

namespace tessera::executor {

bool ServingHost::takes_requests(std::uint32_t replica) const {
  const std::uint32_t lead = work_.tenants[replica].lead;
  const std::optional<ReplicaScaling>& scaling = tenants_[lead].scaling;
  return !scaling || scaling->takes(replica - lead);
}

void ServingHost::advance_scaling(pdes::Context& context, std::uint32_t lead) {
  std::optional<ReplicaScaling>& scaling = tenants_[lead].scaling;
  if (scaling) {
    scaling->advance(context.now() - begin_);
    tell_replicas(lead);
  }
}

void ServingHost::scale(pdes::Context& context, std::uint32_t tenant) {
  const ServiceSettings& lead = work_.tenants[work_.tenants[tenant].lead];
  std::optional<ReplicaScaling>& scaling = tenants_[lead.lead].scaling;
  if (!scaling) {
    return;
  }
  std::vector<std::uint64_t> unfinished;
  for (std::uint32_t replica = lead.lead; replica < lead.lead + lead.replicas; ++replica) {
    unfinished.push_back(tenants_[replica].batcher->unfinished());
  }
  scaling->change(context.now() - begin_, unfinished);
  tell_replicas(lead.lead);
}

// Windows, of what has changed.
void ServingHost::tell_replicas(std::uint32_t lead) {
  TenantState& state = tenants_[lead];
  for (const ReplicaScaling::Change& change : state.scaling->take_changes()) {
    tenants_[lead + change.replica].service.windows.hold_replicas(change.at, change.on ? 1 : 0);
    state.total.windows.hold_replicas(change.at, change.all_on);
  }
}

// Of a replica, in which it costs nothing.
double ServingHost::off_seconds(std::uint32_t replica) const {
  const std::uint32_t lead = work_.tenants[replica].lead;
  const std::optional<ReplicaScaling>& scaling = tenants_[lead].scaling;
  return scaling ? scaling->off_time(replica - lead, last_ - begin_).seconds() : 0.0;
}

}  // namespace tessera::executor
