// How long models had work under way at NPUs that several of them have: what they pay for these.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::executor {

class NpuUse {
 public:
  explicit NpuUse(const ServingWork& work);

  // Parts of models under way at an NPU, [tenants], which were so many until now.
  void advance(std::uint32_t npu, SimTime now, std::span<const std::uint32_t> running);
  bool is_shared(std::uint32_t npu) const { return tenants_of_[npu] > 1; }
  // The tenant's part of the time that models had work there, each an even part of what several had
  // it; an even part of all where none had any. [0 to 1; those of all tenants are 1]
  double share(std::uint32_t npu, std::uint32_t tenant) const;

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);

 private:
  std::size_t tenants_ = 0;
  std::vector<std::uint32_t> tenants_of_;  // [NPUs] that have it
  std::vector<SimTime> since_;             // [NPUs]
  std::vector<double> busy_ps_;            // [NPUs x tenants]; empty: no NPU is shared
};

}  // namespace tessera::executor
