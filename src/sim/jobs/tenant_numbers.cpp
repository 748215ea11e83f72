#include "jobs/tenant_numbers.hpp"

#include "tessera/machine/arbitration.hpp"

namespace tessera::sim {

std::vector<std::uint32_t> tenant_numbers(const Experiment& experiment) {
  if (experiment.only_job() != nullptr) {
    return {};
  }
  std::vector<std::uint32_t> numbers(experiment.machine.topology->nodes(),
                                     machine::Sharers::nobody);
  for (std::uint32_t tenant = 0; tenant < experiment.jobs.size(); ++tenant) {
    for (const EntityId tile : experiment.jobs[tenant].tiles) {
      numbers[tile.value()] = tenant;
    }
  }
  return numbers;
}

std::vector<std::string> notes_of_sharing(const Experiment& experiment) {
  std::vector<std::string> notes;
  const auto note = [&](machine::Arbitration arbitration, const std::string& section) {
    if (arbitration == machine::Arbitration::fair_tenants && experiment.only_job() != nullptr) {
      notes.push_back(section +
                      ".arbitration: fair-tenants acts as first come, first served, as one "
                      "workload has the machine to itself (workload.kind: tenants)");
    }
  };
  note(experiment.network->arbitration(), "machine.network");
  if (experiment.memory && !experiment.machine.channels.empty()) {
    note(experiment.memory->arbitration(), "machine.memory");
  }
  return notes;
}

}  // namespace tessera::sim
