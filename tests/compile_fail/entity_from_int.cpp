// A bare number is no entity.
// expect: conversion from .int. to non-scalar type
#include "tessera/core/ids.hpp"

namespace tessera {
#ifdef MISTAKE
EntityId entity = 3;
#else
EntityId entity = EntityId(3);
#endif
}  // namespace tessera
