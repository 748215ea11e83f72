// A bare number is no rate: its unit is missing.
// expect: conversion from .int. to non-scalar type .tessera::Bandwidth. requested
#include "tessera/core/units.hpp"

namespace tessera {
#ifdef MISTAKE
Bandwidth rate = 4;
#else
Bandwidth rate = Bandwidth::bytes_per_second(4);
#endif
}  // namespace tessera
