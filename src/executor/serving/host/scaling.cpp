// Replicas that come and go.
#include <vector>

#include "serving/host/host.hpp"

namespace tessera::executor {

bool ServingHost::takes_requests(std::uint32_t replica) const {
  const ServiceSettings& tenant = work_.tenants[replica];
  const std::optional<ReplicaScaling>& scaling = tenants_[tenant.lead].scaling;
  return !scaling || work_.prefills(replica) ||
         scaling->takes(replica - tenant.lead - tenant.prefill);
}

bool ServingHost::is_on(std::uint32_t replica) const {
  const ServiceSettings& tenant = work_.tenants[replica];
  const std::optional<ReplicaScaling>& scaling = tenants_[tenant.lead].scaling;
  return !scaling || work_.prefills(replica) ||
         scaling->is_on(replica - tenant.lead - tenant.prefill);
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
  for (std::uint32_t replica = lead.lead + lead.prefill; replica < lead.lead + lead.replicas;
       ++replica) {
    unfinished.push_back(tenants_[replica].batcher->unfinished() + tenants_[replica].coming);
  }
  scaling->change(context.now() - begin_, unfinished);
  tell_replicas(lead.lead);
}

// Windows, of what has changed.
void ServingHost::tell_replicas(std::uint32_t lead) {
  TenantState& state = tenants_[lead];
  const std::uint32_t prefill = work_.tenants[lead].prefill;
  for (const ReplicaScaling::Change& change : state.scaling->take_changes()) {
    tenants_[lead + prefill + change.replica].service.windows.hold_replicas(change.at,
                                                                            change.on ? 1 : 0);
    state.total.windows.hold_replicas(change.at, prefill + change.all_on);
  }
}

// Of a replica, in which it costs nothing.
double ServingHost::off_seconds(std::uint32_t replica) const {
  const ServiceSettings& tenant = work_.tenants[replica];
  const std::optional<ReplicaScaling>& scaling = tenants_[tenant.lead].scaling;
  if (!scaling || work_.prefills(replica)) {
    return 0;
  }
  return scaling->off_time(replica - tenant.lead - tenant.prefill, last_ - begin_).seconds();
}

}  // namespace tessera::executor
