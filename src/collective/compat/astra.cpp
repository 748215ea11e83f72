#include "tessera/collective/compat/astra.hpp"

#include <algorithm>

#include "stacked/dimension_loads.hpp"
#include "stacked/themis.hpp"

namespace tessera::collective {
namespace {

// All-gathers under Themis. Where that code leaves the order ascending, it begins with the first
// dimension, though vectors grow on the way, and credits the load of each dimension to the one as
// far from the other end.
class AstraGathers final : public DimensionOrders {
 public:
  AstraGathers(Kind kind, std::span<const StackedDimension> dimensions)
      : loads_(kind, dimensions), sorted_(loads_.ascending()) {}

  std::vector<std::uint32_t> order(double bytes) override {
    loads_.sort(sorted_);
    std::reverse(sorted_.begin(), sorted_.end());
    std::vector<std::uint32_t> order = sorted_;
    if (!loads_.is_worth_a_turn(sorted_.back(), sorted_.front(), bytes)) {
      order = loads_.ascending();
      sorted_.assign(order.rbegin(), order.rend());
    }
    for (std::size_t at = 0; at < order.size(); ++at) {
      loads_.add(sorted_[at], order[at], bytes);
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

 private:
  DimensionLoads loads_;
  std::vector<std::uint32_t> sorted_;  // by load, as the chunk before left them
};

class AstraConventions final : public Conventions {
 public:
  // It turns the order in which an all-gather goes through the dimensions, which is this program's
  // from behind.
  std::size_t turned_by(Kind kind, std::uint32_t chunk, std::size_t dimensions) const override {
    const std::size_t by = chunk % dimensions;
    return kind == Kind::all_gather ? (dimensions - by) % dimensions : by;
  }
  std::unique_ptr<DimensionOrders> themis(
      Kind kind, std::span<const StackedDimension> dimensions) const override {
    if (kind == Kind::all_gather) {
      return std::make_unique<AstraGathers>(kind, dimensions);
    }
    return std::make_unique<Themis>(kind, dimensions);
  }
  // A chunk comes before others of its size, and behind all when it has but one phase to go after
  // the one it waits for.
  bool goes_before(Bytes bytes, Bytes other, std::size_t phases_to_go) const override {
    return phases_to_go != 1 && other >= bytes;
  }
  SimTime tick() const override {
    constexpr std::int64_t ps_of_ns = 1000;
    return SimTime::from_ps(ps_of_ns);
  }
  std::uint32_t free_additions(std::string_view algorithm) const override {
    return algorithm == "halving-doubling" ? 1 : 0;
  }
  // It knows dimensions of the whole machine only: any other communicator is one ring.
  bool is_flat(std::size_t members, std::size_t npus) const override { return members != npus; }
  // It knows no servers.
  bool turns_in_servers() const override { return false; }
  std::string all_to_all(const std::string& algorithm) const override {
    return algorithm == "ring" ? "ring-relay" : algorithm;
  }
};

}  // namespace

const Conventions& astra_conventions() {
  static const AstraConventions astra;
  return astra;
}

}  // namespace tessera::collective
