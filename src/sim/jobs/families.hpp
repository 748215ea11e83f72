// Kinds of work that a registry of another room makes: its parts know no jobs, and are read alike.
#pragma once

#include <functional>
#include <vector>

#include "tessera/core/registry.hpp"
#include "tessera/sim/job.hpp"

namespace tessera::sim {

struct WorkFamily {
  std::function<const NamedParts&()> parts;
  WorkKind kind;  // of each of them
};

// Filled during static initialisation, read-only afterwards.
std::vector<WorkFamily>& work_families();

// Adds a family when the program starts.
struct FamilyRegistration {
  explicit FamilyRegistration(WorkFamily family);
};

}  // namespace tessera::sim
