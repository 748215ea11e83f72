// What the copies of one Section share.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "declared_keys.hpp"
#include "tessera/config/document.hpp"

namespace tessera::config {

struct Section::State {
  using Child = std::shared_ptr<State>;
  // Of a key that was asked for: nothing to show, a value, a section, or a list of sections.
  using Content = std::variant<std::monostate, Value, Child, std::vector<Child>>;

  // `the_value` is part of a document that the pointer keeps alive; null when there is none.
  State(std::shared_ptr<const Value> the_value, std::string the_path, Place the_place,
        Diagnostics& the_diagnostics);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Looks a key up and marks it as asked for; null when it is absent.
  const Value::Member* ask(std::string_view key);
  const Value::Member* find(std::string_view key) const;
  Content& content_of(std::string_view key);

  std::string path_of(std::string_view key) const;
  Place place_of(std::string_view key) const;
  void error(const Place& where, const std::string& path_of_value,
             const std::string& message) const;

  // The section `key`, or an item of the list that stands there.
  Child make_child(std::string_view key, std::shared_ptr<const Value> of_child,
                   std::string its_path, Place its_place) const;

  // A part of `value`, kept alive with the whole.
  std::shared_ptr<const Value> share(const Value& part) const { return {value, &part}; }

  void finish();
  Value resolved() const;

  std::shared_ptr<const Value> value;
  std::string path;
  Place place;
  Diagnostics* diagnostics;
  std::shared_ptr<const DeclaredKeys> declared;  // null: nobody says
  bool broken = false;  // not a mapping: complained about once, and that is enough
  bool finished = false;

 private:
  struct Asked {
    std::string key;
    Content content;
  };
  void complain_about(const Value::Member& unknown) const;
  // That can stand in the place of the unknown one.
  std::vector<std::string> known_keys(const std::string& unknown) const;

  // Keys of the document by name; a linear search would make long lists of names quadratic.
  std::unordered_map<std::string_view, const Value::Member*> members_;
  std::vector<Asked> asked_;                            // in order of asking
  std::unordered_map<std::string, std::size_t> index_;  // into asked_
};

// "a list", for "expected a single value; got a list".
const char* kind_name(Value::Kind kind);

}  // namespace tessera::config
