#include "calibrate/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::explore {
namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

constexpr double least_effect = 1e-4;      // of an unknown, on residuals of order one
constexpr double highest_index = 30;       // of no dependence
constexpr double share_of_variance = 0.5;  // of who is part of one

double sum_of_squares(const Vector& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

// Solves a x = b with a symmetric and positive definite a, by Gaussian elimination.
Vector solve(Matrix a, Vector b) {
  const std::size_t size = b.size();
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t pivot = i;
    for (std::size_t k = i + 1; k < size; ++k) {
      pivot = std::abs(a[k][i]) > std::abs(a[pivot][i]) ? k : pivot;
    }
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    for (std::size_t k = i + 1; k < size; ++k) {
      const double factor = a[i][i] == 0 ? 0 : a[k][i] / a[i][i];
      for (std::size_t j = i; j < size; ++j) {
        a[k][j] -= factor * a[i][j];
      }
      b[k] -= factor * b[i];
    }
  }
  Vector x(size);
  for (std::size_t i = size; i-- > 0;) {
    double sum = b[i];
    for (std::size_t j = i + 1; j < size; ++j) {
      sum -= a[i][j] * x[j];
    }
    x[i] = a[i][i] == 0 ? 0 : sum / a[i][i];
  }
  return x;
}

// Eigenvalues and, as columns, eigenvectors of a symmetric matrix: Jacobi's rotations.
std::pair<Vector, Matrix> eigen(Matrix a) {
  const std::size_t size = a.size();
  Matrix vectors(size, Vector(size));
  for (std::size_t i = 0; i < size; ++i) {
    vectors[i][i] = 1;
  }
  constexpr int most_sweeps = 100;
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    double off = 0;
    for (std::size_t p = 0; p < size; ++p) {
      for (std::size_t q = p + 1; q < size; ++q) {
        off += std::abs(a[p][q]);
        if (a[p][q] == 0) {
          continue;
        }
        const double angle = 0.5 * std::atan2(2 * a[p][q], a[q][q] - a[p][p]);
        const double c = std::cos(angle);
        const double s = std::sin(angle);
        for (std::size_t k = 0; k < size; ++k) {
          const double kp = a[k][p];
          const double kq = a[k][q];
          a[k][p] = c * kp - s * kq;
          a[k][q] = s * kp + c * kq;
        }
        for (std::size_t k = 0; k < size; ++k) {
          const double pk = a[p][k];
          const double qk = a[q][k];
          a[p][k] = c * pk - s * qk;
          a[q][k] = s * pk + c * qk;
          const double vp = vectors[k][p];
          const double vq = vectors[k][q];
          vectors[k][p] = c * vp - s * vq;
          vectors[k][q] = s * vp + c * vq;
        }
      }
    }
    if (off < 1e-15) {
      break;
    }
  }
  Vector values;
  for (std::size_t i = 0; i < size; ++i) {
    values.push_back(std::max(0.0, a[i][i]));
  }
  return {values, vectors};
}

Matrix jacobian_of(const Residuals& residuals, const Vector& at, const Vector& here,
                   const Vector& spans) {
  Matrix jacobian(here.size(), Vector(at.size()));
  for (std::size_t j = 0; j < at.size(); ++j) {
    Vector above = at;
    Vector below = at;
    above[j] += spans[j];
    below[j] -= spans[j];
    Vector high = residuals(above);
    Vector low = residuals(below);
    double span = 2 * spans[j];
    if (high.empty() || low.empty()) {  // at the edge of what it may be: from one side
      span = high.empty() && low.empty() ? 0 : spans[j];
      high = high.empty() ? here : high;
      low = low.empty() ? here : low;
    }
    for (std::size_t i = 0; i < here.size(); ++i) {
      jacobian[i][j] = span == 0 ? 0 : (high[i] - low[i]) / span;
    }
  }
  return jacobian;
}

// Its transpose by itself.
Matrix normal_matrix(const Matrix& jacobian, std::size_t unknowns) {
  Matrix normal(unknowns, Vector(unknowns));
  for (const Vector& row : jacobian) {
    for (std::size_t i = 0; i < unknowns; ++i) {
      for (std::size_t j = 0; j < unknowns; ++j) {
        normal[i][j] += row[i] * row[j];
      }
    }
  }
  return normal;
}

// One step of Levenberg and Marquardt; false when none makes the residuals smaller.
bool step(const Residuals& residuals, LeastSquares& now, double& damping) {
  const std::size_t unknowns = now.unknowns.size();
  const Matrix normal = normal_matrix(now.jacobian, unknowns);
  Vector gradient(unknowns);
  for (std::size_t i = 0; i < now.residuals.size(); ++i) {
    for (std::size_t j = 0; j < unknowns; ++j) {
      gradient[j] -= now.jacobian[i][j] * now.residuals[i];
    }
  }
  constexpr double most_damping = 1e12;
  for (; damping < most_damping; damping *= 4) {
    Matrix damped = normal;
    for (std::size_t j = 0; j < unknowns; ++j) {
      damped[j][j] += damping * std::max(normal[j][j], 1e-12);
    }
    const Vector change = solve(damped, gradient);
    Vector next = now.unknowns;
    for (std::size_t j = 0; j < unknowns; ++j) {
      next[j] += std::clamp(change[j], -1.0, 1.0);
    }
    Vector found = residuals(next);
    if (!found.empty() && sum_of_squares(found) < sum_of_squares(now.residuals)) {
      now.unknowns = std::move(next);
      now.residuals = std::move(found);
      damping = std::max(damping / 8, 1e-12);
      return true;
    }
  }
  return false;
}

bool feels(const Matrix& jacobian, std::size_t unknown) {
  double sum = 0;
  for (const Vector& row : jacobian) {
    sum += row[unknown] * row[unknown];
  }
  return std::sqrt(sum / static_cast<double>(jacobian.size())) > least_effect;
}

// How far an unknown would go by itself, as far as the Jacobian tells.
double wanted(const LeastSquares& at, std::size_t unknown) {
  double gradient = 0;
  double square = 0;
  for (std::size_t i = 0; i < at.residuals.size(); ++i) {
    gradient -= at.jacobian[i][unknown] * at.residuals[i];
    square += at.jacobian[i][unknown] * at.jacobian[i][unknown];
  }
  return square == 0 ? 0 : gradient / square;
}

// `first`: unknowns and Jacobian where the fit began.
Bound bound_of(const Residuals& residuals, const LeastSquares& found, const LeastSquares& first,
               std::size_t unknown, double span) {
  if (!feels(found.jacobian, unknown)) {
    if (!feels(first.jacobian, unknown)) {
      return Bound::none;
    }
    return found.unknowns[unknown] < first.unknowns[unknown] ? Bound::lower : Bound::upper;
  }
  const double step = std::clamp(wanted(found, unknown), -span, span);
  constexpr double least_step = 1e-4;  // nearer than that it is where it wants to be
  if (std::abs(step) < least_step) {
    return Bound::none;
  }
  Vector beyond = found.unknowns;
  beyond[unknown] += step;
  if (!residuals(beyond).empty()) {
    return Bound::none;
  }
  return step < 0 ? Bound::lower : Bound::upper;
}

// Of some unknowns, with a diagonal of ones.
Matrix scaled(const Matrix& normal, const std::vector<std::size_t>& felt) {
  Matrix part(felt.size(), Vector(felt.size()));
  for (std::size_t i = 0; i < felt.size(); ++i) {
    for (std::size_t j = 0; j < felt.size(); ++j) {
      part[i][j] =
          normal[felt[i]][felt[j]] / std::sqrt(normal[felt[i]][felt[i]] * normal[felt[j]][felt[j]]);
    }
  }
  return part;
}

}  // namespace

LeastSquares fit(const Residuals& residuals, std::vector<double> start, const FitOptions& options) {
  LeastSquares found;
  found.unknowns = std::move(start);
  found.residuals = residuals(found.unknowns);
  ensure(!found.residuals.empty(), "a fit without residuals where it begins");
  double damping = 1e-3;
  constexpr double small = 1e-9;
  LeastSquares first;
  for (; found.steps < options.most_steps; ++found.steps) {
    found.jacobian = jacobian_of(residuals, found.unknowns, found.residuals, options.spans);
    if (found.steps == 0) {
      first = found;
    }
    const double before = sum_of_squares(found.residuals);
    if (!step(residuals, found, damping) ||
        before - sum_of_squares(found.residuals) < small * before) {
      break;
    }
  }
  found.jacobian = jacobian_of(residuals, found.unknowns, found.residuals, options.spans);
  for (std::size_t j = 0; j < found.unknowns.size(); ++j) {
    found.bounds.push_back(bound_of(residuals, found, first, j, options.spans[j]));
  }
  return found;
}

Identification identify(const LeastSquares& of) {
  const std::size_t unknowns = of.unknowns.size();
  Identification found;
  found.standard_errors.assign(unknowns, std::numeric_limits<double>::infinity());
  const Matrix normal = normal_matrix(of.jacobian, unknowns);
  std::vector<std::size_t> felt;
  for (std::size_t j = 0; j < unknowns; ++j) {
    if (of.bounds[j] == Bound::none) {
      (feels(of.jacobian, j) ? felt : found.without_effect).push_back(j);
    }
  }
  if (felt.empty()) {
    return found;
  }
  const auto [values, vectors] = eigen(scaled(normal, felt));
  const double largest = *std::max_element(values.begin(), values.end());
  const auto kept = [&](double value) { return std::max(value, 1e-14 * largest); };
  // [unknowns][dependences] parts of the variance.
  Matrix parts(felt.size(), Vector(values.size()));
  Vector variance(felt.size());
  for (std::size_t i = 0; i < felt.size(); ++i) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      parts[i][k] = vectors[i][k] * vectors[i][k] / kept(values[k]);
      variance[i] += parts[i][k];
    }
  }
  std::vector<bool> is_part(felt.size());
  // Several near dependences share their variances: that of an unknown counts over all of them.
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double index = std::sqrt(largest / kept(values[k]));
    found.largest_condition_index = std::max(found.largest_condition_index, index);
    if (index <= highest_index) {
      continue;
    }
    Dependence dependence;
    dependence.condition_index = index;
    double most = 0;
    for (std::size_t i = 0; i < felt.size(); ++i) {
      double in_all = 0;
      for (std::size_t other = 0; other < values.size(); ++other) {
        in_all += std::sqrt(largest / kept(values[other])) > highest_index ? parts[i][other] : 0;
      }
      if (in_all > share_of_variance * variance[i] && std::abs(vectors[i][k]) > 0.1) {
        is_part[i] = true;
        dependence.unknowns.push_back(felt[i]);
        dependence.direction.push_back(vectors[i][k] / std::sqrt(normal[felt[i]][felt[i]]));
        // Of nearly equal ones the first: rounding is not to turn signs round.
        most = std::abs(dependence.direction.back()) > 1.01 * std::abs(most)
                   ? dependence.direction.back()
                   : most;
      }
    }
    for (double& each : dependence.direction) {
      each /= most;
    }
    if (dependence.unknowns.size() > 1) {
      found.dependences.push_back(std::move(dependence));
    }
  }
  const double free = static_cast<double>(of.residuals.size()) - static_cast<double>(felt.size());
  const double noise = free > 0 ? sum_of_squares(of.residuals) / free : 0;
  for (std::size_t i = 0; i < felt.size(); ++i) {
    if (!is_part[i]) {
      found.standard_errors[felt[i]] = std::sqrt(noise * variance[i] / normal[felt[i]][felt[i]]);
    }
  }
  return found;
}

}  // namespace tessera::explore
