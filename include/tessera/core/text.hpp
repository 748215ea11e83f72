// Small text helpers shared by messages and tables.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

// The candidate nearest to `name` by edit distance, or "" when none is near enough to suggest
// (more than a third of the letters differ).
std::string nearest_match(std::string_view name, std::span<const std::string> candidates);

// "unknown KIND 'NAME'; did you mean 'X'?" or "…; known: a, b, c".
std::string unknown_name(std::string_view kind, std::string_view name,
                         std::span<const std::string> candidates);

// Items with ", " between them.
std::string join(std::span<const std::string> items, std::string_view separator = ", ");

// Shortest decimal that reads back as the same double; never locale-dependent.
std::string format_number(double value);

// A table with aligned columns; the first row is the head, numbers align right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string to_string() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tessera
