// Routings by name. Each registers itself; one that only one topology can use stands beside it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tessera/core/registry.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::machine {

struct RoutingKind {
  std::function<std::unique_ptr<Routing>(const Topology&)> make;  // of a topology that it fits
  std::function<bool(const Topology&)> fits;                      // none: it fits every topology
  std::string needs{};  // what it does not fit without: "a cluster"
  bool avoids_dead_links = false;
};
Registry<RoutingKind>& routings();

}  // namespace tessera::machine
