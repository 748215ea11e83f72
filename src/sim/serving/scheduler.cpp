#include "serving/scheduler.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "serving/keys.hpp"
#include "tessera/config/without_effect.hpp"

namespace tessera::sim {
namespace {

using config::Section;
using executor::ServiceSettings;
using executor::ServingWork;

serving::PolicyFactory read_policy(Section& workload, const ServingWork& work,
                                   const serving::PolicySetup& setup) {
  Section scheduler = workload.section("scheduler");
  const std::string name = serving_keys().policy.read(scheduler);
  if (work.on_tiles && name.starts_with("spatial")) {
    scheduler.error("policy", "'" + name + "' shares out cores, " +
                                  (work.of_cores ? "which whole steps have all of an NPU"
                                                 : "and these tiles are NPUs by themselves") +
                                  "; 'npus' of tenants can be apart");
    return {};
  }
  return serving::policies().contains(name) ? serving::policies().at(name)(scheduler, setup)
                                            : serving::PolicyFactory();
}

bool has_stages(const ServingWork& work) {
  return std::ranges::any_of(work.tenants, [](const ServiceSettings& tenant) {
    return tenant.model && tenant.model->stages() > 1;
  });
}

bool serves_language_alone(const ServingWork& work) {
  return std::ranges::all_of(work.tenants,
                             [](const ServiceSettings& tenant) { return tenant.of_language; });
}

bool shares_npus(const ServingWork& work) {
  std::set<std::uint32_t> taken;
  for (const ServiceSettings& tenant : work.tenants) {
    for (const std::uint32_t npu : std::set(tenant.npus.begin(), tenant.npus.end())) {
      if (!taken.insert(npu).second) {
        return true;
      }
    }
  }
  return false;
}

// Policies share an NPU out among tenants, and among steps of several stages.
void note_unused_policy(Section& workload, std::string_view with) {
  Section scheduler = workload.section("scheduler");
  const std::string name = serving_keys().policy.read(scheduler);
  if (name != ParameterInfo(serving_keys().policy).default_value) {
    config::note_without_effect(scheduler, "policy", with);
  }
}

}  // namespace

serving::PolicyFactory read_scheduler(Section& workload, const ServingWork& work,
                                      std::size_t sections, const serving::PolicySetup& setup) {
  serving::PolicyFactory policy = read_policy(workload, work, setup);
  // Operators of other models may be under way beside each other.
  const bool has_cores = std::ranges::any_of(
      setup.tenants, [](const serving::Sharer& sharer) { return sharer.cores.has_value(); });
  if (!policy || !serves_language_alone(work) || has_stages(work) || has_cores) {
    return policy;
  }
  if (sections == 1) {
    note_unused_policy(workload, "one tenant");
  } else if (!shares_npus(work)) {
    note_unused_policy(workload, "tenants on NPUs of their own");
  }
  return policy;
}

}  // namespace tessera::sim
