// Rows of keys that must be given where they are read, which is not everywhere: those of one kind
// of operator among others, or one of two ways to say the same. Their help says where.
//
//   {"layers", "a chain of layers", {where_used(channels), where_used(outputs)}}
#pragma once

#include "tessera/core/registry.hpp"

namespace tessera::config {

inline ParameterInfo where_used(ParameterInfo info) {
  info.is_required = false;
  return info;
}

}  // namespace tessera::config
