// A frequency is no rate of data.
// expect: conversion from .tessera::Clock. to non-scalar type .tessera::Bandwidth. requested
#include "tessera/core/units.hpp"

namespace tessera {
#ifdef MISTAKE
Bandwidth rate = Clock::hertz(4);
#else
Clock clock = Clock::hertz(4);
#endif
}  // namespace tessera
