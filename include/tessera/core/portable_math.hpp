// Functions in a fixed series of IEEE operations: those of <cmath> differ in the last bit between
// mathematics libraries, and results of a simulation must not.
#pragma once

namespace tessera {

// Natural logarithm of a positive, normal number; relative error below 2^-50.
double portable_log(double x);
// e to the power of x; 0 below -700, and no more than e^700.
double portable_exp(double x);
// Cosine of so many whole turns (2 pi x); absolute error below 2^-48.
double portable_cosine_of_turns(double x);

}  // namespace tessera
