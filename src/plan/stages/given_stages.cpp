#include "stages/given_stages.hpp"

#include <string>

#include "placement/grid_layout.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/node_list.hpp"

namespace tessera::plan {
namespace {

using config::Value;
using machine::number_in;

class GivenStages {
 public:
  GivenStages(config::Section& section, const workload::Workload& workload,
              const machine::Topology& topology, std::uint32_t chunks, PlacementRequest& request)
      : section_(section),
        workload_(workload),
        chunks_(chunks),
        request_(request),
        nodes_(topology, request.nodes,
               [this](const Value& item, const std::string& message) { refuse(item, message); }) {}

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
    request_.tiles = nodes_.nodes();
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
    const std::size_t before = nodes_.nodes().size();
    const std::vector<Value> items =
        value.kind == Value::Kind::sequence ? value.items : std::vector<Value>{value};
    if (items.size() == 1 && items.front().items.size() == 4) {
      return read_rectangle(items.front()) && check_count(value, before);
    }
    for (const Value& item : items) {
      if (!nodes_.take_item(item)) {
        return false;
      }
    }
    return check_count(value, before);
  }

  bool check_count(const Value& value, std::size_t before) {
    const std::size_t given = nodes_.nodes().size() - before;
    const std::uint64_t wanted = std::uint64_t{request_.degrees.data} * request_.degrees.tensor;
    return given == wanted ||
           refuse(value, "has " + std::to_string(given) +
                             " tiles, but data * tensor = " + std::to_string(wanted));
  }

  // One rectangle of as many tiles as the stage has: arranged.
  bool read_rectangle(const Value& item) {
    const auto rectangle = nodes_.rectangle_of(item);
    if (!rectangle) {
      return false;
    }
    const std::uint64_t wanted = std::uint64_t{request_.degrees.data} * request_.degrees.tensor;
    if (std::uint64_t{rectangle->rows} * rectangle->columns != wanted) {
      return nodes_.take_item(item);
    }
    try {
      return nodes_.take_cells(item, rectangle->corner,
                               stage_cells({rectangle->rows, rectangle->columns}, request_));
    } catch (const ConfigError& error) {
      return refuse(item, error.diagnostics().front().message);
    }
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
  std::uint32_t chunks_;  // of layers a stage
  PlacementRequest& request_;
  machine::NodeList nodes_;
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
