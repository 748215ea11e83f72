#include "tables.hpp"

#include <algorithm>
#include <sstream>

namespace tessera::migration {
namespace {

using config::Place;
using config::Value;

constexpr const char* blanks = " \t\r";

struct Line {
  std::string text;
  Place place;  // of its first column
};

std::vector<Line> lines_of(const std::string& path, const std::string& text) {
  std::vector<Line> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back({line, {path, static_cast<int>(lines.size()) + 1, 1}});
  }
  return lines;
}

// A part of a line without blanks around it; at its end where there is nothing else.
Cell trimmed(const Line& line, std::size_t begin, std::size_t end) {
  const std::string part = line.text.substr(begin, end - begin);
  const std::size_t first = std::min(part.find_first_not_of(blanks), part.size());
  const std::size_t last = part.find_last_not_of(blanks);
  Place place = line.place;
  place.column = static_cast<int>(begin + first) + 1;
  return {last == std::string::npos ? "" : part.substr(first, last + 1 - first), place};
}

Value scalar(const Cell& cell) {
  Value value;
  value.kind = cell.text.empty() ? Value::Kind::null : Value::Kind::scalar;
  value.text = cell.text;
  value.place = cell.place;
  return value;
}

Value mapping(const Place& place) {
  Value value;
  value.kind = Value::Kind::mapping;
  value.place = place;
  return value;
}

void add(Value& to, const Cell& key, Value value, config::Diagnostics& diagnostics) {
  if (key.text.empty()) {
    diagnostics.error(key.place, "a name is missing");
  } else if (const Value::Member* before = to.find(key.text); before != nullptr) {
    diagnostics.error(key.place, key.text + ": given twice; first at line " +
                                     std::to_string(before->key_place.line));
  } else {
    to.members.push_back({key.text, key.place, std::move(value)});
  }
}

void add_line(const Line& line, const Cell& whole, Value& root, config::Diagnostics& diagnostics) {
  if (whole.text.front() == '[') {
    const std::size_t open = line.text.find('[');
    const std::size_t close = line.text.find(']', open);
    if (close == std::string::npos) {
      diagnostics.error(whole.place, "expected ']' behind the name of a section");
      return;
    }
    add(root, trimmed(line, open + 1, close), mapping(whole.place), diagnostics);
    return;
  }
  const std::size_t sign = line.text.find_first_of(":=");
  if (sign == std::string::npos) {
    diagnostics.error(whole.place, "expected '[section]', 'key: value' or 'key = value'");
  } else if (root.members.empty()) {
    diagnostics.error(whole.place, "a key stands before the first section");
  } else {
    add(root.members.back().value, trimmed(line, 0, sign),
        scalar(trimmed(line, sign + 1, line.text.size())), diagnostics);
  }
}

}  // namespace

Value read_ini(const std::string& path, const std::string& text, config::Diagnostics& diagnostics) {
  Value root = mapping({path, 1, 1});
  for (const Line& line : lines_of(path, text)) {
    const Cell whole = trimmed(line, 0, line.text.size());
    if (!whole.text.empty() && whole.text.front() != '#' && whole.text.front() != ';') {
      add_line(line, whole, root, diagnostics);
    }
  }
  return root;
}

std::vector<std::vector<Cell>> read_csv(const std::string& path, const std::string& text) {
  std::vector<std::vector<Cell>> rows;
  for (const Line& line : lines_of(path, text)) {
    std::vector<Cell> cells;
    for (std::size_t begin = 0; begin < line.text.size();) {
      const std::size_t comma = std::min(line.text.find(',', begin), line.text.size());
      cells.push_back(trimmed(line, begin, comma));
      begin = comma + 1;
    }
    while (!cells.empty() && cells.back().text.empty()) {
      cells.pop_back();
    }
    if (!cells.empty()) {
      rows.push_back(std::move(cells));
    }
  }
  return rows;
}

}  // namespace tessera::migration
