// Lists of nodes that compute, as users write them in files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/machine/node_finder.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

// A whole text that is a number.
std::optional<std::uint32_t> number_in(std::string_view text);

// Takes items one by one: a number, a range of numbers "0-15", the name of a node, or on a grid
// [row, column] or the rectangle [row, column, rows, columns], row by row. No node is taken twice.
class NodeList {
 public:
  // Told what is wrong with an item.
  using Complain = std::function<void(const config::Value& item, const std::string& message)>;
  using Cell = std::pair<std::uint32_t, std::uint32_t>;  // row, column
  struct Rectangle {
    Cell corner;
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
  };

  // The topology is kept by reference. `usable` are the nodes that may be taken; empty: all that
  // compute.
  NodeList(const Topology& topology, const std::vector<EntityId>& usable, Complain complain);

  // False after a complaint; so below.
  bool take_item(const config::Value& item);
  bool take(const config::Value& item, EntityId node);
  // Of the grid, as seen from its corner.
  bool take_cells(const config::Value& item, const Cell& corner, const std::vector<Cell>& cells);
  // An item of four numbers; none after a complaint.
  std::optional<Rectangle> rectangle_of(const config::Value& item);

  // Taken so far, in order.
  const std::vector<EntityId>& nodes() const { return nodes_; }

 private:
  bool refuse(const config::Value& item, const std::string& message);
  bool take_range(const config::Value& item, std::uint32_t first, std::uint32_t last);
  bool take_cell(const config::Value& item);
  bool need_grid(const config::Value& item);
  std::string numbering() const;

  const Topology& topology_;
  std::optional<Grid> grid_;
  Complain complain_;
  NodeFinder find_node_;
  std::vector<bool> used_;    // by node
  std::vector<bool> usable_;  // the same; empty: all that compute
  std::vector<EntityId> nodes_;
};

}  // namespace tessera::machine
