// How tenants share the cores of an NPU: which operators that are ready begin, on which cores, and
// whose tiles go first. By name (`policies()`):
//
//   first-come     all that is ready begins at once on all cores; tiles go in order of coming
//   time-sharing   a layer of one tenant at a time, on all cores, tenants in turn (ONNXim)
//   spatial        each tenant has cores of its own (ONNXim); not told which: an even part
//   spatial-split  cores are shared out evenly, layer by layer, to tenants that have work
//   deadline       a border between cores for tenants with a target and cores for others moves by
//                  how targets are kept
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/time.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::serving {

// Cores of an NPU, by their places there.
struct CoreRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const CoreRange&, const CoreRange&) = default;
};

// What a policy knows of a tenant.
struct Sharer {
  std::optional<CoreRange> cores;  // asked for
  std::vector<std::uint32_t> npus;
  bool has_target = false;
};

// An operator that is ready to begin.
struct Candidate {
  std::uint32_t tenant = 0;
  std::uint32_t npu = 0;
  SimTime deadline = SimTime::never();  // of its step
};

// What goes on.
struct Scene {
  SimTime now;
  std::span<const Candidate> candidates;   // in order of their coming
  std::span<const std::uint32_t> running;  // [NPUs x tenants] operators
  std::span<const char> busy;              // [tenants] 1: they have a step under way
};

struct Start {
  std::size_t candidate = 0;
  CoreRange cores;
  std::uint8_t priority = 0;
};

class Policy {
 public:
  virtual ~Policy() = default;
  // Candidates to begin now; the others are asked about again when something has changed.
  virtual std::vector<Start> choose(const Scene& scene) = 0;
  // Whether all candidates always begin, so that none ever waits.
  virtual bool begins_at_once() const { return false; }
  // A step of a tenant with a target is over: how long its requests waited, and the target.
  virtual void step_over(std::uint32_t /*tenant*/, SimTime /*took*/, SimTime /*target*/) {}
  virtual void save(pdes::StateWriter& /*writer*/) const {}
  virtual void restore(pdes::StateReader& /*reader*/) {}
};

struct PolicySetup {
  std::vector<Sharer> tenants;
  std::uint32_t npus = 1;
  std::uint32_t cores = 1;  // of an NPU
};

// Makes policies of one choice: one for each simulation.
using PolicyFactory = std::function<std::unique_ptr<Policy>()>;
using PolicyMaker = std::function<PolicyFactory(config::Section&, const PolicySetup&)>;
Registry<PolicyMaker>& policies();

// Part `number` of `cores` cut in `parts` that differ by one at most, the larger ones first.
CoreRange even_part(std::uint32_t cores, std::uint32_t parts, std::uint32_t number);

}  // namespace tessera::serving
