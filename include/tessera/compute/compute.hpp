// Compute models: how long an operation takes on a tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/pdes/component.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::compute {

struct ComputeSetup {
  const machine::Machine& machine;
  std::span<const EntityId> members;
  std::span<const workload::Operation> operations;  // of all programs; requests name their place
  unsigned slot = 0;
};

// A compute model as configured.
class ComputeModel {
 public:
  virtual ~ComputeModel() = default;
  virtual std::unique_ptr<pdes::Component> build(const ComputeSetup& setup) const = 0;
  // Time of one operation on an idle tile of the machine. Planning uses it for machine.tile.
  virtual SimTime duration(const machine::Machine& machine, const machine::Tile& tile,
                           const workload::Operation& operation) const = 0;
  virtual std::size_t predicted_bytes(std::uint64_t nodes) const = 0;
};

// Compute models by name: gemm, roofline. A maker reads the `compute` section (all keys but
// `model`).
using ComputeMaker = std::function<std::unique_ptr<ComputeModel>(config::Section&)>;
Registry<ComputeMaker>& compute_models();

std::unique_ptr<ComputeModel> read_compute(config::Section section);

}  // namespace tessera::compute
