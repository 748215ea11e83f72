// Replicas that come and go.
#include <algorithm>
#include <vector>

#include "serving/host/host.hpp"

namespace tessera::executor {

std::uint32_t ServingHost::first_alike(std::uint32_t replica) const {
  const ServiceSettings& tenant = work_.tenants[replica];
  return work_.prefills(replica) ? tenant.lead : tenant.lead + tenant.prefill;
}

const ReplicaScaling* ServingHost::scaling_of(std::uint32_t replica) const {
  const TenantState& lead = tenants_[work_.tenants[replica].lead];
  const auto& scaling = work_.prefills(replica) ? lead.prompt_scaling : lead.scaling;
  return scaling ? &*scaling : nullptr;
}

bool ServingHost::takes_requests(std::uint32_t replica) const {
  const ReplicaScaling* const scaling = scaling_of(replica);
  return scaling == nullptr || scaling->takes(replica - first_alike(replica));
}

bool ServingHost::is_on(std::uint32_t replica) const {
  const ReplicaScaling* const scaling = scaling_of(replica);
  return scaling == nullptr || scaling->is_on(replica - first_alike(replica));
}

// Of all that do the same, so that windows hear of changes in order of time.
void ServingHost::advance_scaling(pdes::Context& context, std::uint32_t lead) {
  TenantState& state = tenants_[lead];
  if (!state.scaling && !state.prompt_scaling) {
    return;
  }
  for (auto* const scaling : {&state.prompt_scaling, &state.scaling}) {
    if (*scaling) {
      (*scaling)->advance(context.now() - begin_);
    }
  }
  tell_replicas(lead);
}

std::vector<std::uint64_t> ServingHost::unfinished_alike(std::uint32_t replica) const {
  const ServiceSettings& tenant = work_.tenants[replica];
  const bool prefills = work_.prefills(replica);
  const std::uint32_t first = first_alike(replica);
  std::vector<std::uint64_t> unfinished(prefills ? tenant.prefill : tenant.scaled());
  for (std::uint32_t place = 0; place < unfinished.size(); ++place) {
    const TenantState& state = tenants_[first + place];
    unfinished[place] = state.batcher->unfinished() + state.coming;
  }
  // Prompts that are computed, and are being handed over.
  for (const auto& [number, carry] : carries_) {
    const bool is_of_model = work_.tenants[carry.to].lead == tenant.lead;
    const auto layered = layered_.find(number);
    if (prefills && is_of_model && (layered == layered_.end() || layered->second.is_computed)) {
      ++unfinished[carry.from - first];
    }
  }
  return unfinished;
}

void ServingHost::scale(pdes::Context& context, std::uint32_t replica) {
  if (scaling_of(replica) == nullptr) {
    return;
  }
  const std::uint32_t lead = work_.tenants[replica].lead;
  advance_scaling(context, lead);
  TenantState& state = tenants_[lead];
  auto& scaling = work_.prefills(replica) ? state.prompt_scaling : state.scaling;
  scaling->change(context.now() - begin_, unfinished_alike(replica));
  tell_replicas(lead);
}

// Windows, of what has changed.
void ServingHost::tell_replicas(std::uint32_t lead) {
  TenantState& state = tenants_[lead];
  std::vector<ReplicaScaling::Change> changes;
  const auto take = [&](std::optional<ReplicaScaling>& scaling, std::uint32_t first) {
    if (scaling) {
      for (ReplicaScaling::Change& change : scaling->take_changes()) {
        change.replica += first;
        changes.push_back(change);
      }
    }
  };
  take(state.prompt_scaling, lead);
  take(state.scaling, lead + work_.tenants[lead].prefill);
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& one, const auto& other) { return one.at < other.at; });
  ServiceWindows& all = state.total.windows;
  for (const ReplicaScaling::Change& change : changes) {
    tenants_[change.replica].service.windows.hold_replicas(change.at, change.on ? 1 : 0);
    const std::uint64_t on = all.load().replicas;
    all.hold_replicas(change.at, change.on ? on + 1 : on - 1);
  }
}

// Of a replica, in which it costs nothing.
double ServingHost::off_seconds(std::uint32_t replica) const {
  const ReplicaScaling* const scaling = scaling_of(replica);
  return scaling == nullptr
             ? 0
             : scaling->off_time(replica - first_alike(replica), last_ - begin_).seconds();
}

}  // namespace tessera::executor
