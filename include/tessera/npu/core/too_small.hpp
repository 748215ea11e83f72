#pragma once

#include <string>

#include "tessera/core/error.hpp"
#include "tessera/npu/core/core.hpp"

namespace tessera::npu {

// Of some work not even the smallest tile fits on the core.
class CoreTooSmall : public ConfigError {
 public:
  CoreTooSmall(const CoreConfig& core, const std::string& work)
      : ConfigError("no tile of " + work + " fits: half of the scratchpad holds " +
                    to_string(core.scratchpad_half()) + ", half of the accumulator " +
                    to_string(core.accumulator_half())) {}
};

}  // namespace tessera::npu
