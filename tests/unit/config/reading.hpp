// A document with its diagnostics, for the tests of this room.
#pragma once

#include <string>
#include <vector>

#include "tessera/config/document.hpp"

namespace tessera::config {

using Lines = std::vector<std::string>;

inline Lines lines_of(const Diagnostics& diagnostics) {
  Lines lines;
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    lines.push_back(diagnostic.to_string());
  }
  return lines;
}

// The root of "m.yaml" with this text; keeps what its sections complain about.
class Reading {
 public:
  explicit Reading(const std::string& text)
      : document(parse("m.yaml", text, diagnostics)), root(document, "", diagnostics) {}
  Lines lines() const { return lines_of(diagnostics); }

  Diagnostics diagnostics;
  Value document;
  Section root;
};

// What parsing alone complains about.
inline Lines complaints(const std::string& text) {
  Diagnostics diagnostics;
  parse("m.yaml", text, diagnostics);
  return lines_of(diagnostics);
}

// What reading key `a` of this document as a T complains about.
template <Readable T>
Lines complaints_of_a(const std::string& text, Range<T> range = {}) {
  Reading reading(text);
  reading.root.get<T>("a", range);
  return reading.lines();
}

// Everything but places and the style of quotes.
inline bool same(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.text != b.text || a.items.size() != b.items.size() ||
      a.members.size() != b.members.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!same(a.items[i], b.items[i])) {
      return false;
    }
  }
  for (std::size_t i = 0; i < a.members.size(); ++i) {
    if (a.members[i].key != b.members[i].key || !same(a.members[i].value, b.members[i].value)) {
      return false;
    }
  }
  return true;
}

}  // namespace tessera::config
