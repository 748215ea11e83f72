// What is said where a way of rings through hosts has no effect.
#pragma once

#include <string>
#include <vector>

#include "tessera/machine/machine.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::sim {

// Of a machine that is a cluster with such a way (machine::Cluster::through_host).
inline bool has_way_through_hosts(const machine::Machine& machine) {
  const auto cluster = machine.topology->cluster();
  return cluster && cluster->through_host > Bandwidth();
}

// To notes of a plan.
inline void note_unused_way(const machine::Machine& machine, const plan::Plan& plan,
                            std::vector<std::string>& notes) {
  if (!has_way_through_hosts(machine)) {
    return;
  }
  const std::string no_effect = "machine.topology.nic.through_host has no effect on ";
  if (plan.strategy.aggregation == plan::Aggregation::none) {
    notes.push_back(
        no_effect +
        "collectives that are simulated message by message: it applies only to rings of plans "
        "with strategy.aggregation");
  } else if (!plan.data_algorithm->is_passed_on(collective::Kind::all_reduce)) {
    notes.push_back(no_effect + "collectives of replicas by '" + plan.strategy.data_algorithm +
                    "', which is not a ring (strategy.collectives.data)");
  }
}

// To notes of work that is no plan.
inline void note_unused_way_of(const machine::Machine& machine, const std::string& work,
                               std::vector<std::string>& notes) {
  if (has_way_through_hosts(machine)) {
    notes.push_back("machine.topology.nic.through_host has no effect on " + work +
                    ": it applies only to rings of plans with strategy.aggregation");
  }
}

}  // namespace tessera::sim
