// What operations lose to collectives that go on in the background.
#pragma once

namespace tessera::explore {

// Of a pass [ps]; see compute::ComputeModel::slows_beside.
struct Slowing {
  double longer = 0;      // what operations that have fewer units take longer beside a collective
  double shared_out = 0;  // what products take alone that wait for the units that it has
  double products = 0;    // of these
  double collectives = 0;

  Slowing& operator+=(const Slowing& other) {
    longer += other.longer;
    shared_out += other.shared_out;
    products += other.products;
    collectives += other.collectives;
    return *this;
  }
  friend Slowing operator-(const Slowing& a, const Slowing& b) {
    return {a.longer - b.longer, a.shared_out - b.shared_out, a.products - b.products,
            a.collectives - b.collectives};
  }
};

// What a pass that computes for so long loses to collectives of `beside` in all, spread over it
// evenly (docs/methods/gpu.md, "Beside a collective").
double time_lost(const Slowing& of, double compute, double beside);

}  // namespace tessera::explore
