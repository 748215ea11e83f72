// What messages wait for each other at; for closed forms of many at a time.
#pragma once

#include "tessera/network/network.hpp"
#include "tessera/plan/sharing.hpp"

namespace tessera::network {

// Of a network model in which messages do not share every link of their way.
class StatesSharing {
 public:
  virtual ~StatesSharing() = default;
  virtual plan::Sharing sharing() const = 0;
};

// Links, for models that state nothing else.
inline plan::Sharing sharing_of(const NetworkModel& model) {
  const auto* const stated = dynamic_cast<const StatesSharing*>(&model);
  return stated == nullptr ? plan::Sharing::links : stated->sharing();
}

}  // namespace tessera::network
