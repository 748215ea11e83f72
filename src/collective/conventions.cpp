#include "tessera/collective/conventions.hpp"

#include "stacked/themis.hpp"

namespace tessera::collective {

std::size_t Conventions::turned_by(Kind /*kind*/, std::uint32_t chunk,
                                   std::size_t dimensions) const {
  return chunk % dimensions;
}

std::unique_ptr<DimensionOrders> Conventions::themis(
    Kind kind, std::span<const StackedDimension> dimensions) const {
  return std::make_unique<Themis>(kind, dimensions);
}

bool Conventions::goes_before(Bytes bytes, Bytes other, std::size_t /*phases_to_go*/) const {
  return other > bytes;
}

SimTime Conventions::tick() const {
  return SimTime::from_ps(1);
}

std::uint32_t Conventions::free_additions(std::string_view /*algorithm*/) const {
  return 0;
}

bool Conventions::is_flat(std::size_t /*members*/, std::size_t /*npus*/) const {
  return false;
}

bool Conventions::turns_in_servers() const {
  return true;
}

std::string Conventions::all_to_all(const std::string& algorithm) const {
  return algorithm;
}

const Conventions& own_conventions() {
  static const Conventions own;
  return own;
}

SimTime cut_to(SimTime tick, SimTime time) {
  return SimTime::from_ps(time.ps() / tick.ps() * tick.ps());
}

}  // namespace tessera::collective
