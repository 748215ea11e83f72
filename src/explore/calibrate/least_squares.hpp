// Fits of a few constants to many measurements by least squares, and which of them the
// measurements cannot tell apart.
//
// Method: Levenberg-Marquardt (Marquardt, J. SIAM 11 (1963)) on residuals that a function gives,
// with derivatives by central differences. Constants that cannot be told apart: the collinearity
// diagnostics of Belsley, Kuh and Welsch (Regression Diagnostics, 1980, section 3.2). The columns
// of the Jacobian are scaled to length one; a condition index (the largest singular value by
// another) above 30 is a dependence, and constants of whose variance it has more than half are part
// of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace tessera::explore {

// Of unknowns; empty: there are none for these values (out of range).
using Residuals = std::function<std::vector<double>(const std::vector<double>& unknowns)>;

struct Dependence {
  double condition_index = 0;
  // Unknowns that are part of it, and by how much each moves while residuals stay nearly the same;
  // the largest has 1.
  std::vector<std::size_t> unknowns;
  std::vector<double> direction;
};

// Where an unknown ended that the residuals would have beyond the values that there are residuals
// for, or that went on until none felt it any more.
enum class Bound : std::uint8_t { none, lower, upper };

struct LeastSquares {
  std::vector<double> unknowns;
  std::vector<Bound> bounds;  // one for each unknown
  std::vector<double> residuals;
  std::vector<std::vector<double>> jacobian;  // [residuals][unknowns]
  std::size_t steps = 0;
};

struct FitOptions {
  std::vector<double> spans;  // of differences, one for each unknown
  std::size_t most_steps = 60;
};

// From `start`, for which there must be residuals (else InternalError).
LeastSquares fit(const Residuals& residuals, std::vector<double> start, const FitOptions& options);

// Unknowns at a bound count as known.
struct Identification {
  std::vector<std::size_t> without_effect;  // unknowns that no residual feels
  std::vector<Dependence> dependences;      // among the others
  double largest_condition_index = 1;
  // Standard error of each unknown; infinite where it is without effect, at a bound or part of a
  // dependence.
  std::vector<double> standard_errors;
};
Identification identify(const LeastSquares& of);

}  // namespace tessera::explore
