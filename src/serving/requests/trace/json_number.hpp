// Members of JSON objects: names they may have, and numbers with their place, for complaints.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "requests/json_reader.hpp"
#include "requests/trace/rows.hpp"

namespace tessera::serving {

template <class Names>
bool is_among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Names of an object that are read, each of which may be there once.
class OnceNames {
 public:
  void forget() { count_ = 0; }
  // Complains, at the value that comes next, of a name that is there a second time.
  void see(const JsonReader& json, std::string_view name) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (names_[i] == name) {
        throw json.text().error("'" + std::string(name) + "' is there a second time");
      }
    }
    if (count_ == names_.size()) {
      names_.emplace_back();
    }
    names_[count_++] = name;
  }

 private:
  std::vector<std::string> names_;  // the first `count_`; others keep their memory
  std::size_t count_ = 0;
};

// What stands where something else should, for complaints; its place is that of the value.
struct Misfit {
  std::string name;  // of the member; empty: there is none
  std::string what;  // "a text"
  int line = 0;
  int column = 0;

  // There is one, and it is not `null`, which stands for nothing.
  bool is_something() const { return !name.empty() && what != "null"; }
  std::string complaint(const std::string& expected) const {
    return name + ": " + what + "; it must be " + expected;
  }
};

// Of the value that comes next, which is left where it is.
inline Misfit misfit_next(JsonReader& json, std::string_view name) {
  const int byte = json.first();
  const char* const what = byte == '"'                                   ? "a text"
                           : byte == '['                                 ? "a list"
                           : byte == '{'                                 ? "an object"
                           : byte == 'n'                                 ? "null"
                           : byte == 't' || byte == 'f'                  ? "a truth value"
                           : byte == '-' || (byte >= '0' && byte <= '9') ? "a number"
                                                                         : "no number";
  return {std::string(name), what, json.text().line(), json.text().column()};
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
