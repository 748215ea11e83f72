#include "programs/placement_file.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "experiment/parts.hpp"
#include "tessera/core/error.hpp"

namespace tessera::sim {
namespace {

using config::Diagnostics;
using config::Value;

constexpr std::string_view csv_head = "stage,tile";
constexpr std::uint32_t most_stages = 1U << 20;

Value sequence_at(const config::Place& place) {
  Value value;
  value.kind = Value::Kind::sequence;
  value.place = place;
  return value;
}

// One line behind the head; false after a complaint.
bool read_line(std::string_view line, const config::Place& place, Value& stages,
               Diagnostics& diagnostics) {
  std::uint32_t stage = 0;
  const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), stage);
  const auto comma = static_cast<std::size_t>(rest - line.data());
  if (error != std::errc() || comma + 1 >= line.size() || line[comma] != ',') {
    diagnostics.error(place, "expected STAGE,TILE, such as 0,17 or 0,16-31");
    return false;
  }
  if (stage >= most_stages) {
    diagnostics.error(place, "stage " + std::to_string(stage) + " is too high");
    return false;
  }
  while (stages.items.size() <= stage) {
    stages.items.push_back(sequence_at(place));
  }
  Value tile;
  tile.kind = Value::Kind::scalar;
  tile.place = place;
  tile.place.column = static_cast<int>(comma) + 2;
  tile.text = line.substr(comma + 1);
  stages.items[stage].items.push_back(std::move(tile));
  return true;
}

Value parse_places(const std::string& path, std::string_view text, Diagnostics& diagnostics) {
  Value stages = sequence_at({path, 1, 1});
  bool head = true;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
      line.remove_suffix(1);
    }
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const config::Place place{path, number, 1};
    if (head && line != csv_head) {
      diagnostics.error(place, "expected the head '" + std::string(csv_head) + "'");
      return {};
    }
    if (!head && !read_line(line, place, stages, diagnostics)) {
      return {};
    }
    head = false;
  }
  return stages;
}

}  // namespace

void include_placement(Value& root, const config::TextLoader& load, Diagnostics& diagnostics) {
  Value* const tiles = value_of(value_of(value_of(&root, "strategy"), "placement"), "tiles");
  if (tiles == nullptr || tiles->kind != Value::Kind::scalar) {
    return;
  }
  const std::string path = config::path_beside(tiles->place, tiles->text);
  std::string text;
  try {
    text = load(path);
  } catch (const IoError& error) {
    diagnostics.error(tiles->place, std::string("strategy.placement.tiles: ") + error.what());
    return;
  }
  const bool is_csv = std::filesystem::path(path).extension() == ".csv";
  *tiles = is_csv ? parse_places(path, text, diagnostics) : config::parse(path, text, diagnostics);
}

}  // namespace tessera::sim
