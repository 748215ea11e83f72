// A bare number is no size.
// expect: conversion from .int. to non-scalar type .tessera::Bytes. requested
#include "tessera/core/units.hpp"

namespace tessera {
#ifdef MISTAKE
Bytes size = 4;
#else
Bytes size = Bytes(4);
#endif
}  // namespace tessera
