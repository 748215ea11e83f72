#include "tessera/machine/node_list.hpp"

#include <array>
#include <charconv>

namespace tessera::machine {
namespace {

using config::Value;

bool is_number(const Value& value) {
  return value.kind == Value::Kind::scalar && number_in(value.text).has_value();
}

}  // namespace

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

NodeList::NodeList(const Topology& topology, const std::vector<EntityId>& usable, Complain complain)
    : topology_(topology),
      grid_(topology.grid()),
      complain_(std::move(complain)),
      find_node_(topology),
      used_(topology.nodes()),
      usable_(usable.empty() ? 0 : topology.nodes()) {
  for (const EntityId node : usable) {
    usable_[node.value()] = true;
  }
}

bool NodeList::refuse(const Value& item, const std::string& message) {
  complain_(item, message);
  return false;
}

bool NodeList::take_item(const Value& item) {
  if (item.kind == Value::Kind::sequence) {
    if (item.items.size() != 4) {
      return take_cell(item);
    }
    const std::optional<Rectangle> rectangle = rectangle_of(item);
    if (!rectangle) {
      return false;
    }
    std::vector<Cell> cells;
    for (std::uint32_t i = 0; i < rectangle->rows; ++i) {
      for (std::uint32_t j = 0; j < rectangle->columns; ++j) {
        cells.emplace_back(i, j);
      }
    }
    return take_cells(item, rectangle->corner, cells);
  }
  if (item.kind != Value::Kind::scalar) {
    return refuse(item,
                  "expected a tile: a number, a range, a name, [row, column] or [row, "
                  "column, rows, columns]");
  }
  const std::size_t dash = item.text.find('-');
  const auto first = number_in(std::string_view(item.text).substr(0, dash));
  if (dash != std::string::npos && first) {
    if (const auto last = number_in(std::string_view(item.text).substr(dash + 1))) {
      return take_range(item, *first, *last);
    }
  }
  const std::optional<EntityId> node = find_node_(item.text);
  return node ? take(item, *node)
              : refuse(item, "there is no tile '" + item.text + "'; " + numbering());
}

bool NodeList::take_range(const Value& item, std::uint32_t first, std::uint32_t last) {
  if (last < first) {
    return refuse(item, "the range " + item.text + " is empty");
  }
  if (last >= topology_.nodes()) {
    return refuse(item, "the range " + item.text + " reaches past the machine; " + numbering());
  }
  for (std::uint32_t node = first; node <= last; ++node) {
    if (!take(item, EntityId(node))) {
      return false;
    }
  }
  return true;
}

bool NodeList::take_cell(const Value& item) {
  if (item.items.size() != 2 || !is_number(item.items[0]) || !is_number(item.items[1])) {
    return refuse(item, "expected [row, column] or [row, column, rows, columns]");
  }
  return need_grid(item) &&
         take_cells(item, {*number_in(item.items[0].text), *number_in(item.items[1].text)},
                    {{0, 0}});
}

std::optional<NodeList::Rectangle> NodeList::rectangle_of(const Value& item) {
  std::array<std::uint32_t, 4> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i >= item.items.size() || !is_number(item.items[i])) {
      refuse(item, "expected [row, column, rows, columns]");
      return std::nullopt;
    }
    numbers[i] = *number_in(item.items[i].text);
  }
  const auto [row, column, rows, columns] = numbers;
  if (!need_grid(item)) {
    return std::nullopt;
  }
  if (rows == 0 || columns == 0 || std::uint64_t{row} + rows > grid_->rows ||
      std::uint64_t{column} + columns > grid_->columns) {
    const auto text_of = [](std::uint32_t first, std::uint32_t second) {
      return std::to_string(first) + " x " + std::to_string(second);
    };
    refuse(item, "the rectangle of " + text_of(rows, columns) + " at (" + std::to_string(row) +
                     "," + std::to_string(column) + ") does not lie in the grid of " +
                     text_of(grid_->rows, grid_->columns));
    return std::nullopt;
  }
  return Rectangle{{row, column}, rows, columns};
}

bool NodeList::need_grid(const Value& item) {
  return grid_.has_value() ||
         refuse(item, "rows and columns need a grid (mesh, torus, wafer); give numbers or names");
}

bool NodeList::take_cells(const Value& item, const Cell& corner, const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    const std::uint32_t row = corner.first + cell.first;
    const std::uint32_t column = corner.second + cell.second;
    if (row >= grid_->rows || column >= grid_->columns) {
      return refuse(item, "(" + std::to_string(row) + "," + std::to_string(column) +
                              ") does not lie in the grid of " + std::to_string(grid_->rows) +
                              " x " + std::to_string(grid_->columns));
    }
    if (!take(item, grid_->node(row, column))) {
      return false;
    }
  }
  return true;
}

bool NodeList::take(const Value& item, EntityId node) {
  const std::string number = std::to_string(node.value());
  if (!topology_.computes(node)) {
    return refuse(item, topology_.node_name(node) + " is a switch and executes nothing");
  }
  if (!usable_.empty() && !usable_[node.value()]) {
    return refuse(item, "tile " + number + ", " + topology_.node_name(node) +
                            ", is not among the tiles that may be used");
  }
  if (used_[node.value()]) {
    return refuse(item, "tile " + number + ", " + topology_.node_name(node) + ", is given twice");
  }
  used_[node.value()] = true;
  nodes_.push_back(node);
  return true;
}

std::string NodeList::numbering() const {
  return "tiles are numbered 0 to " + std::to_string(topology_.nodes() - 1);
}

}  // namespace tessera::machine
