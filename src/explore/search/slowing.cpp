#include "search/slowing.hpp"

#include <algorithm>

namespace tessera::explore {
namespace {

// A product of T that begins while a collective goes on for R takes T + min(R, T): with one of g
// no longer than T it waits for all of it, and one after the other they lose half of the others.
double lost_by_products(const Slowing& of, double beside) {
  if (of.products <= 0 || of.collectives <= 0) {
    return 0;
  }
  const double product = of.shared_out / of.products;
  const double each = beside / of.collectives;
  const double lost = each <= product ? each : (each + product) / 2;
  return std::min(of.shared_out, lost * of.collectives);
}

}  // namespace

double time_lost(const Slowing& of, double compute, double beside) {
  if (beside <= 0 || compute <= 0) {
    return 0;
  }
  const double share = of.shared_out / compute;
  const double others = compute - of.shared_out + of.longer;  // beside collectives that last
  const double fewer_units =
      others <= 0 ? 0 : of.longer * std::min(1.0, beside * (1 - share) / others);
  return lost_by_products(of, beside * share) + fewer_units;
}

}  // namespace tessera::explore
