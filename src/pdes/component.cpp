#include "tessera/pdes/component.hpp"

#include "tessera/core/error.hpp"

namespace tessera::pdes {

void Component::save(std::uint32_t /*index*/, StateWriter& /*writer*/) const {
  throw InternalError("a component without checkpoints was asked for its state");
}

void Component::restore(std::uint32_t /*index*/, StateReader& /*reader*/) {
  throw InternalError("a component without checkpoints was given its state");
}

}  // namespace tessera::pdes
