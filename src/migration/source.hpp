// A mapping of a source under reading: what is taken is carried over, what is left is said.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/migration/format.hpp"

namespace tessera::migration {

// Reads a file as JSON, of which YAML takes all, or as YAML. Syntax errors are complaints with
// their place, after which the value is null.
config::Value read_yaml(const std::string& path, Request& request, Migrated& migrated);
config::Value read_json(const std::string& path, Request& request, Migrated& migrated);
// The text of a source, which is noted as one. Throws ConfigError where it is no plain text.
std::string read_text(const std::string& path, Request& request, Migrated& migrated);

class Source {
 public:
  // `migrated` takes what is left, and must outlive this.
  Source(config::Section section, Migrated& migrated);
  Source(const config::Value& root, Request& request, Migrated& migrated);

  bool has(std::string_view key) const { return section_.has(key); }
  // None when it is absent or no good, which is a complaint then.
  template <config::Readable T>
  std::optional<T> take(std::string_view key, config::Range<T> range = {}) {
    ask(key);
    std::optional<T> value = section_.get_optional<T>(key, range);
    if (!value && has(key)) {
      refused_.emplace(key);
    }
    return value;
  }
  // The same, of a key that must be there.
  template <config::Readable T>
  T need(std::string_view key, config::Range<T> range = {}) {
    if (has(key)) {
      return take<T>(key, range).value_or(T{});
    }
    ask(key, true);
    refused_.emplace(key);
    return section_.get<T>(key, range);
  }
  // One that must be there, too; empty where it is not, which its reader complains of.
  template <config::Readable T>
  std::vector<T> list(std::string_view key) {
    ask(key, true);
    return section_.get_list<T>(key);
  }
  bool is_empty_list(std::string_view key);
  // One of these names; the first of them after a complaint.
  std::string name(std::string_view key, const std::vector<std::string>& names,
                   std::string_view usual = "");
  // true, false, or a number that is none; false when it is absent.
  bool truth(std::string_view key);
  Source section(std::string_view key, bool is_needed = false);

  // A place in the list that `key` is.
  void error(std::string_view key, std::size_t item, const std::string& message);
  // Not of a key that was refused when it was read.
  void error(std::string_view key, const std::string& message);
  // "system.json:3".
  std::string origin(std::string_view key) const;

  // What is known but has no counterpart; nothing when it is absent.
  void leave(std::string_view key, const std::string& because);
  // What was left elsewhere, for the same reason.
  void pass_over(std::string_view key) { taken_.insert(std::string(key)); }
  // All that was neither taken nor left. What may be a key that must be there, misspelt, is a
  // complaint.
  void leave_rest();

 private:
  void ask(std::string_view key, bool is_needed = false);

  config::Section section_;
  Migrated& migrated_;
  std::set<std::string, std::less<>> taken_;
  std::set<std::string, std::less<>> refused_;
  std::vector<std::string> absent_;   // of those that were asked for, what may be absent
  std::vector<std::string> missing_;  // and what may not
};

}  // namespace tessera::migration
