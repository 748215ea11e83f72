#include "serving/npu_notes.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

namespace tessera::sim {
namespace {

using executor::ServiceSettings;
using executor::ServingWork;

std::string model_name(const ServiceSettings& tenant) {
  return tenant.replicas > 1 ? tenant.name.substr(0, tenant.name.rfind('.')) : tenant.name;
}

// "a, b and c".
std::string enumeration(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

void note_shared_costs(const ServingWork& work,
                       const std::map<std::uint32_t, std::vector<const ServiceSettings*>>& served,
                       std::vector<std::string>& notes) {
  std::set<std::string> seen;
  std::vector<std::string> sharers;
  std::size_t shared = 0;
  bool has_price = false;
  for (const auto& [npu, tenants] : served) {
    if (tenants.size() < 2) {
      continue;
    }
    ++shared;
    for (const ServiceSettings* const tenant : tenants) {
      has_price = has_price || tenant->price > 0;
      if (seen.insert(model_name(*tenant)).second) {
        sharers.push_back(model_name(*tenant));
      }
    }
  }
  if (has_price) {
    notes.push_back(enumeration(sharers) + " share " + std::to_string(shared) +
                    (work.on_tiles ? " tiles" : " NPUs") +
                    ": what a million tokens cost counts of these its share of the time in which "
                    "they have work");
  }
}

}  // namespace

void note_ports(const ServingWork& work, std::vector<std::string>& notes) {
  std::set<std::string> meet;
  for (const ServiceSettings& tenant : work.tenants) {
    const bool is_host =
        std::any_of(tenant.npus.begin(), tenant.npus.end(),
                    [&work](std::uint32_t npu) { return work.npus[npu].front() == work.host(); });
    if (work.whole_steps && (tenant.prefill > 0 || (tenant.model->stages() > 1 && is_host))) {
      meet.insert(model_name(tenant));
    }
  }
  if (!meet.empty()) {
    notes.push_back(enumeration({meet.begin(), meet.end()}) +
                    ": caches that are handed over, and what the host tells units, do not wait at "
                    "ports for what whole steps exchange there, nor it for them "
                    "(steps: walked does)");
  }
}

void note_npus(const ServingWork& work, std::vector<std::string>& notes) {
  std::map<std::uint32_t, std::vector<const ServiceSettings*>> served;
  for (const ServiceSettings& tenant : work.tenants) {
    for (const std::uint32_t npu : tenant.npus) {
      served[npu].push_back(&tenant);
    }
  }
  note_shared_costs(work, served, notes);
  if (work.idle_npus > 0) {
    notes.push_back(std::to_string(work.idle_npus) + " of " +
                    std::to_string(served.size() + work.idle_npus) +
                    (work.on_tiles ? " tiles" : " NPUs") +
                    " have nothing to do: models run on the first ones, or on their 'npus'");
  }
}

}  // namespace tessera::sim
