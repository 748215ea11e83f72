// A bare number is no time.
// expect: conversion from .int. to non-scalar type .tessera::SimTime. requested
#include "tessera/core/time.hpp"

namespace tessera {
#ifdef MISTAKE
SimTime time = 5;
#else
SimTime time = SimTime::from_ps(5);
#endif
}  // namespace tessera
