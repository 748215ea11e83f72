#include "given_stages.hpp"

#include <charconv>
#include <string>

#include "grid_layout.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/node_finder.hpp"

namespace tessera::plan {
namespace {

using config::Value;

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

bool is_number(const Value& value) {
  return value.kind == Value::Kind::scalar && number_in(value.text).has_value();
}

class GivenStages {
 public:
  GivenStages(config::Section& section, const workload::Workload& workload,
              const machine::Topology& topology, std::uint32_t chunks, PlacementRequest& request)
      : section_(section),
        workload_(workload),
        topology_(topology),
        grid_(topology.grid()),
        chunks_(chunks),
        request_(request),
        find_node_(topology),
        used_(topology.nodes()) {}

  void read() {
    const Value list = section_.raw("tiles");
    if (list.kind != Value::Kind::sequence) {
      section_.error("tiles", std::string(list.kind == Value::Kind::null ? "missing; " : "") +
                                  "layout 'given' needs a list with the tiles of each stage, or a "
                                  "file with one");
      return;
    }
    if (list.items.size() != request_.degrees.pipeline) {
      section_.error("tiles",
                     "has " + std::to_string(list.items.size()) +
                         " stages, but pipeline = " + std::to_string(request_.degrees.pipeline));
      return;
    }
    if (chunks_ > 1 && !layers_are_free(list)) {
      return;
    }
    bool good = true;
    for (std::size_t stage = 0; stage < list.items.size(); ++stage) {
      stage_ = stage;
      good = read_stage(list.items[stage]) && good;
    }
    if (good && !request_.first_layers.empty()) {
      check_all_layers(list);
    }
  }

 private:
  bool refuse(const Value& at, const std::string& message) {
    section_.error("tiles", at, "stage " + std::to_string(stage_) + ": " + message);
    return false;
  }

  // A stage of several chunks holds as many runs of layers.
  bool layers_are_free(const Value& list) {
    for (stage_ = 0; stage_ < list.items.size(); ++stage_) {
      if (const Value::Member* const layers = list.items[stage_].find("layers")) {
        return refuse(layers->value,
                      "'layers' names one run of layers, but the stage holds chunks = " +
                          std::to_string(chunks_) + " of them; leave out one of the two keys");
      }
    }
    return true;
  }

  bool read_stage(const Value& stage) {
    if (stage.kind != Value::Kind::mapping) {
      return read_tiles(stage) && (request_.first_layers.empty() || refuse(stage, uneven_layers));
    }
    for (const Value::Member& member : stage.members) {
      if (member.key != "tiles" && member.key != "layers") {
        Value key;
        key.place = member.key_place;
        const std::vector<std::string> known{"tiles", "layers"};
        return refuse(key, unknown_name("key", member.key, known));
      }
    }
    const Value::Member* const tiles = stage.find("tiles");
    if (tiles == nullptr) {
      return refuse(stage, "missing 'tiles'");
    }
    const Value::Member* const layers = stage.find("layers");
    if (layers == nullptr ? !request_.first_layers.empty()
                          : request_.first_layers.empty() && stage_ > 0) {
      return refuse(stage, uneven_layers);
    }
    return read_tiles(tiles->value) && (layers == nullptr || read_layers(layers->value));
  }

  bool read_tiles(const Value& value) {
    const std::size_t before = request_.tiles.size();
    const std::vector<Value> items =
        value.kind == Value::Kind::sequence ? value.items : std::vector<Value>{value};
    if (items.size() == 1 && items.front().items.size() == 4) {
      return read_rectangle(items.front(), true) && check_count(value, before);
    }
    for (const Value& item : items) {
      if (!read_item(item)) {
        return false;
      }
    }
    return check_count(value, before);
  }

  bool check_count(const Value& value, std::size_t before) {
    const std::size_t given = request_.tiles.size() - before;
    const std::uint64_t wanted = std::uint64_t{request_.degrees.data} * request_.degrees.tensor;
    return given == wanted ||
           refuse(value, "has " + std::to_string(given) +
                             " tiles, but data * tensor = " + std::to_string(wanted));
  }

  bool read_item(const Value& item) {
    if (item.kind == Value::Kind::sequence) {
      return item.items.size() == 4 ? read_rectangle(item, false) : read_cell(item);
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
        return read_range(item, *first, *last);
      }
    }
    const std::optional<EntityId> node = find_node_(item.text);
    return node ? take(item, *node)
                : refuse(item, "there is no tile '" + item.text + "'; " + numbering());
  }

  bool read_range(const Value& item, std::uint32_t first, std::uint32_t last) {
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

  bool read_cell(const Value& item) {
    if (item.items.size() != 2 || !is_number(item.items[0]) || !is_number(item.items[1])) {
      return refuse(item, "expected [row, column] or [row, column, rows, columns]");
    }
    return need_grid(item) &&
           take_cells(item, {*number_in(item.items[0].text), *number_in(item.items[1].text)},
                      {{0, 0}});
  }

  bool read_rectangle(const Value& item, bool alone) {
    std::array<std::uint32_t, 4> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (!is_number(item.items[i])) {
        return refuse(item, "expected [row, column, rows, columns]");
      }
      numbers[i] = *number_in(item.items[i].text);
    }
    const auto [row, column, rows, columns] = numbers;
    if (!need_grid(item)) {
      return false;
    }
    if (rows == 0 || columns == 0 || std::uint64_t{row} + rows > grid_->rows ||
        std::uint64_t{column} + columns > grid_->columns) {
      return refuse(item, "the rectangle of " + text_of({rows, columns}) + " at (" +
                              std::to_string(row) + "," + std::to_string(column) +
                              ") does not lie in the grid of " +
                              text_of({grid_->rows, grid_->columns}));
    }
    const std::uint64_t wanted = std::uint64_t{request_.degrees.data} * request_.degrees.tensor;
    if (!alone || std::uint64_t{rows} * columns != wanted) {
      std::vector<Cell> cells;
      for (std::uint32_t i = 0; i < rows; ++i) {
        for (std::uint32_t j = 0; j < columns; ++j) {
          cells.emplace_back(i, j);
        }
      }
      return take_cells(item, {row, column}, cells);
    }
    try {
      return take_cells(item, {row, column}, stage_cells({rows, columns}, request_));
    } catch (const ConfigError& error) {
      return refuse(item, error.diagnostics().front().message);
    }
  }

  bool need_grid(const Value& item) {
    return grid_.has_value() ||
           refuse(item, "rows and columns need a grid (mesh, torus, wafer); give numbers or names");
  }

  bool take_cells(const Value& item, const Cell& corner, const std::vector<Cell>& cells) {
    for (const Cell& cell : cells) {
      const std::uint32_t row = corner.first + cell.first;
      const std::uint32_t column = corner.second + cell.second;
      if (row >= grid_->rows || column >= grid_->columns) {
        return refuse(item, "(" + std::to_string(row) + "," + std::to_string(column) +
                                ") does not lie in the grid of " +
                                text_of({grid_->rows, grid_->columns}));
      }
      if (!take(item, grid_->node(row, column))) {
        return false;
      }
    }
    return true;
  }

  bool take(const Value& item, EntityId node) {
    const std::string number = std::to_string(node.value());
    if (!topology_.computes(node)) {
      return refuse(item, topology_.node_name(node) + " is a switch and executes nothing");
    }
    if (used_[node.value()]) {
      return refuse(item, "tile " + number + ", " + topology_.node_name(node) + ", is given twice");
    }
    used_[node.value()] = true;
    request_.tiles.push_back(node);
    return true;
  }

  std::string numbering() const {
    return "tiles are numbered 0 to " + std::to_string(topology_.nodes() - 1);
  }

  bool read_layers(const Value& value) {
    if (value.kind != Value::Kind::sequence || value.items.size() != 2) {
      return refuse(value, "expected layers: [first, last]");
    }
    const auto first = find_layer(value.items[0], false);
    const auto last = first ? find_layer(value.items[1], true) : std::nullopt;
    if (!last) {
      return false;
    }
    const std::size_t expected = request_.first_layers.empty() ? 0 : request_.first_layers.back();
    if (*first != expected) {
      return refuse(value, expected < workload_.layers.size()
                               ? "must begin with layer " + std::to_string(expected) + ", '" +
                                     workload_.layers[expected].name + "'"
                               : "no layers are left");
    }
    if (*last < *first) {
      return refuse(value, "has no layer");
    }
    if (request_.first_layers.empty()) {
      request_.first_layers.push_back(0);
    }
    request_.first_layers.push_back(*last + 1);
    return true;
  }

  std::optional<std::size_t> find_layer(const Value& value, bool last) {
    if (const auto number = number_in(value.text); number && *number < workload_.layers.size()) {
      return *number;
    }
    for (std::size_t layer = 0; layer < workload_.layers.size(); ++layer) {
      const workload::Layer& found = workload_.layers[layer];
      if (found.name == value.text) {
        return layer;
      }
      for (const workload::Operator& op : found.operators) {
        if (found.name + "/" + op.name != value.text) {
          continue;
        }
        const workload::Operator& edge = last ? found.operators.back() : found.operators.front();
        if (op.name == edge.name) {
          return layer;
        }
        refuse(value, std::string("a stage ") +
                          (last ? "ends with the last" : "begins with the first") +
                          " operator of a layer, here '" + found.name + "/" + edge.name + "'");
        return std::nullopt;
      }
    }
    refuse(value, "there is no layer '" + value.text + "'; layers are numbered 0 to " +
                      std::to_string(workload_.layers.size() - 1) + ", or have names, from '" +
                      workload_.layers.front().name + "' to '" + workload_.layers.back().name +
                      "'");
    return std::nullopt;
  }

  void check_all_layers(const Value& list) {
    const std::size_t end = request_.first_layers.back();
    if (end < workload_.layers.size()) {
      refuse(list.items.back(), "must end with the last layer, '" + workload_.layers.back().name +
                                    "'; all stages together end with layer " +
                                    std::to_string(end - 1));
    }
  }

  static constexpr const char* uneven_layers = "'layers' must be given for all stages or none";

  config::Section& section_;
  const workload::Workload& workload_;
  const machine::Topology& topology_;
  std::optional<machine::Grid> grid_;
  std::uint32_t chunks_;  // of layers a stage
  PlacementRequest& request_;
  machine::NodeFinder find_node_;
  std::vector<bool> used_;
  std::size_t stage_ = 0;
};

}  // namespace

void read_given_stages(config::Section& section, const workload::Workload& workload,
                       const machine::Topology& topology, std::uint32_t chunks,
                       PlacementRequest& request) {
  if (!workload.layers.empty()) {  // else the workload has already been complained about
    GivenStages(section, workload, topology, chunks, request).read();
  }
}

}  // namespace tessera::plan
