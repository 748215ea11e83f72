// Several executors on one machine, each of tiles of its own: what tenants do at the same time.
//
// A tile's events and state are those of its tenant. Tenants know nothing of each other; what they
// share are the components below: networks and memories. A node of no tenant, as one that is
// memory, hears messages of all, each of which belongs to the tenant of its sender.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/executor/program/executor.hpp"

namespace tessera::executor {

struct TenantPart {
  std::string name;
  SimTime start;                       // its tiles do nothing before
  std::uint32_t first_role = 0;        // what it calls 0 is this among all
  std::size_t services = 0;            // whose requests it serves, known on one rank
  std::size_t totals = 0;              // of these, of replicas and classes together
  std::unique_ptr<Observer> observer;  // that the executor tells; may be null
  std::unique_ptr<Executor> executor;  // of all members
};

struct TenantsSetup {
  static constexpr std::uint16_t nobody = 0xFFFF;

  std::vector<TenantPart> parts;
  std::vector<std::uint16_t> part_of;  // [nodes of the machine], or `nobody`
  std::span<const EntityId> members;   // outlives the executor
  unsigned slot = 0;                   // that all of them were told
};

std::unique_ptr<Executor> make_tenants_executor(TenantsSetup setup);

}  // namespace tessera::executor
