// A routing whose innermost loop does without an interface, behind that interface.
#pragma once

#include <utility>

#include "tessera/machine/routing/routing.hpp"

namespace tessera::machine {

template <class Algorithm>
class RoutingBy final : public Routing {
 public:
  explicit RoutingBy(Algorithm algorithm) : algorithm_(std::move(algorithm)) {}
  unsigned next_port(EntityId here, EntityId target) const override {
    return algorithm_.next_port(here, target);
  }

 private:
  Algorithm algorithm_;
};

template <class Algorithm>
std::unique_ptr<Routing> make_routing_by(Algorithm algorithm) {
  return std::make_unique<RoutingBy<Algorithm>>(std::move(algorithm));
}

}  // namespace tessera::machine
