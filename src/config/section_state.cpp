#include "section_state.hpp"

#include <algorithm>
#include <utility>

#include "emit.hpp"
#include "tessera/core/text.hpp"

namespace tessera::config {

const char* kind_name(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::null:
      return "nothing";
    case Value::Kind::scalar:
      return "a single value";
    case Value::Kind::sequence:
      return "a list";
    case Value::Kind::mapping:
      break;
  }
  return "a mapping";
}

Section::State::State(std::shared_ptr<const Value> the_value, std::string the_path, Place the_place,
                      Diagnostics& the_diagnostics)
    : value(std::move(the_value)),
      path(std::move(the_path)),
      place(std::move(the_place)),
      diagnostics(&the_diagnostics) {
  if (!value || value->kind == Value::Kind::null) {
    return;
  }
  if (value->kind != Value::Kind::mapping) {
    error(value->place, path, std::string("expected a mapping; got ") + kind_name(value->kind));
    broken = true;
    return;
  }
  for (const Value::Member& member : value->members) {
    members_.emplace(member.key, &member);
  }
}

const Value::Member* Section::State::find(std::string_view key) const {
  const auto found = members_.find(key);
  return found == members_.end() ? nullptr : found->second;
}

const Value::Member* Section::State::ask(std::string_view key) {
  content_of(key);
  return find(key);
}

Section::State::Content& Section::State::content_of(std::string_view key) {
  const auto [entry, is_new] = index_.emplace(key, asked_.size());
  if (is_new) {
    asked_.push_back({std::string(key), {}});
  }
  return asked_[entry->second].content;
}

std::string Section::State::path_of(std::string_view key) const {
  if (key.empty()) {
    return path;
  }
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

Place Section::State::place_of(std::string_view key) const {
  const Value::Member* member = find(key);
  return member != nullptr ? member->key_place : place;
}

void Section::State::error(const Place& where, const std::string& path_of_value,
                           const std::string& message) const {
  diagnostics->error(where, path_of_value.empty() ? message : path_of_value + ": " + message);
}

Section::State::Child Section::State::make_child(std::string_view key,
                                                 std::shared_ptr<const Value> of_child,
                                                 std::string its_path, Place its_place) const {
  auto child = std::make_shared<State>(std::move(of_child), std::move(its_path),
                                       std::move(its_place), *diagnostics);
  if (declared) {
    child->declared = std::make_shared<const DeclaredKeys>(declared, key, child->value);
  }
  return child;
}

std::vector<std::string> Section::State::known_keys(const std::string& unknown) const {
  std::vector<std::string> keys;
  for (const Asked& asked : asked_) {
    keys.push_back(asked.key);
  }
  const std::vector<std::string> all = declared ? declared->keys() : std::vector<std::string>{};
  if (std::find(all.begin(), all.end(), unknown) != all.end()) {
    return keys;  // it is declared, but not for what the other keys say
  }
  for (const std::string& key : all) {
    if (!index_.contains(key)) {
      keys.push_back(key);
    }
  }
  return keys;
}

void Section::State::complain_about(const Value::Member& unknown) const {
  const std::vector<std::string> known = known_keys(unknown.key);
  const std::string nearest = nearest_match(unknown.key, known);
  std::string hint = "; no keys are known here";
  if (!nearest.empty()) {
    hint = "; did you mean '" + nearest + "'?";
  } else if (!known.empty()) {
    hint = "; known keys: " + join(known);
  }
  error(unknown.key_place, path_of(unknown.key), "unknown key" + hint);
}

void Section::State::finish() {
  if (std::exchange(finished, true)) {
    return;
  }
  if (value && !broken) {
    for (const Value::Member& member : value->members) {
      if (!index_.contains(member.key)) {
        complain_about(member);
      }
    }
  }
  for (const Asked& asked : asked_) {
    if (const auto* child = std::get_if<Child>(&asked.content)) {
      (*child)->finish();
    } else if (const auto* children = std::get_if<std::vector<Child>>(&asked.content)) {
      for (const Child& each : *children) {
        each->finish();
      }
    }
  }
}

Value Section::State::resolved() const {
  Value mapping;
  mapping.kind = Value::Kind::mapping;
  const auto add = [&](const std::string& key, Value member) {
    mapping.members.push_back({key, {}, std::move(member)});
  };
  for (const Asked& asked : asked_) {
    if (const auto* scalar_or_raw = std::get_if<Value>(&asked.content)) {
      add(asked.key, *scalar_or_raw);
    } else if (const auto* child = std::get_if<Child>(&asked.content)) {
      Value section = (*child)->resolved();
      // An empty section that is not in the document stays out: `has` must stay false.
      if (find(asked.key) != nullptr || !section.members.empty()) {
        add(asked.key, std::move(section));
      }
    } else if (const auto* children = std::get_if<std::vector<Child>>(&asked.content)) {
      Value list;
      list.kind = Value::Kind::sequence;
      for (const Child& each : *children) {
        list.items.push_back(each->resolved());
      }
      if (find(asked.key) != nullptr) {
        add(asked.key, std::move(list));
      }
    }
  }
  return mapping;
}

}  // namespace tessera::config
