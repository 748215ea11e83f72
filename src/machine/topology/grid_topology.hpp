// Meshes, tori and wafers: a rectangle of nodes whose links follow from arithmetic, so that nothing
// is stored per node.
#pragma once

#include <string>
#include <vector>

#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

// One class of links for all, or two: the second for links between blocks of
// `block_rows` × `block_columns` nodes.
class GridTopology final : public Topology {
 public:
  GridTopology(Grid grid, std::vector<LinkClass> classes);

  std::uint32_t nodes() const override { return grid_.rows * grid_.columns; }
  unsigned ports(EntityId) const override { return 4; }
  Link link(EntityId node, unsigned port) const override;
  Position position(EntityId node) const override;
  std::string node_name(EntityId node) const override;
  std::optional<Grid> grid() const override { return grid_; }
  std::optional<std::uint32_t> first_tiles() const override { return nodes(); }
  bool has_even_axes() const override { return true; }
  SimTime smallest_latency() const override;
  std::uint64_t links() const override;
  std::string default_routing() const override { return "xy"; }
  std::size_t resident_bytes() const override;

 private:
  // Index after (or before) `at` along a side of `size` nodes; `beyond` outside of the rim.
  std::uint32_t neighbour(std::uint32_t at, std::uint32_t size, bool upward) const;
  bool two_level() const { return classes_.size() > 1; }

  static constexpr std::uint32_t beyond = node_limit;
  Grid grid_;
};

}  // namespace tessera::machine
