// Members of JSON objects: names they may have, and numbers with their place, for complaints.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "requests/json_reader.hpp"
#include "requests/trace/rows.hpp"

namespace tessera::serving {

template <class Names>
bool is_among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

struct JsonNumber {
  std::string text;
  std::string name;  // of the member that it is of
  int line = 0;
  int column = 0;
  TraceField field() const { return {text, line, column}; }
};

inline bool is_number_next(JsonReader& json) {
  const int byte = json.first();
  return byte == '-' || (byte >= '0' && byte <= '9');
}

inline JsonNumber take_number(JsonReader& json, std::string_view name) {
  json.first();
  JsonNumber made;
  made.line = json.text().line();
  made.column = json.text().column();
  made.name = name;
  made.text = json.number();
  return made;
}

}  // namespace tessera::serving
