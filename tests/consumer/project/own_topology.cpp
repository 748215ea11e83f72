// A topology of one's own, in one file: `topology: {kind: chain, tiles: N, bandwidth: B, latency:
// L}`. Tiles in a row, each linked to the next one.
#include <memory>
#include <string>

#include "tessera/machine/topology/topology.hpp"

namespace {

using namespace tessera;
using namespace tessera::machine;

class Chain final : public Topology {
 public:
  Chain(std::uint32_t tiles, LinkClass link) : tiles_(tiles) { classes_ = {std::move(link)}; }

  std::uint32_t nodes() const override { return tiles_; }
  unsigned ports(EntityId) const override { return 2; }
  Link link(EntityId node, unsigned port) const override {
    const std::uint32_t here = node.value();
    if (port == 0) {
      return {here == 0 ? EntityId::none() : EntityId(here - 1), 0};
    }
    return {here + 1 == tiles_ ? EntityId::none() : EntityId(here + 1), 0};
  }
  Position position(EntityId node) const override { return {static_cast<double>(node.value()), 0}; }
  std::string node_name(EntityId node) const override {
    return "tile " + std::to_string(node.value());
  }

 private:
  std::uint32_t tiles_;
};

const Registration registration(
    topologies(),
    {"chain",
     "tiles in a row",
     {{"tiles", "", "", "how many, 2 to 1024"},
      {"bandwidth", "B/s", "", "of a link"},
      {"latency", "ps", "", "of a link, > 0"}}},
    [](config::Section& section) -> std::unique_ptr<Topology> {
      const auto tiles = section.get<std::int64_t>("tiles", config::between<std::int64_t>(2, 1024));
      LinkClass link{
          "link", section.get<SimTime>("latency", config::at_least(SimTime::from_ps(1))),
          section.get<Bandwidth>("bandwidth", config::at_least(Bandwidth::bytes_per_second(1)))};
      if (tiles == 0 || link.latency == SimTime::zero()) {
        return nullptr;  // complained about
      }
      return std::make_unique<Chain>(static_cast<std::uint32_t>(tiles), std::move(link));
    });

}  // namespace
