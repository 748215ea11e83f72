#include <algorithm>
#include <filesystem>
#include <type_traits>
#include <utility>

#include "emit.hpp"
#include "excerpt.hpp"
#include "scalar.hpp"
#include "section_state.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/text.hpp"

namespace tessera::config {
namespace {

constexpr Bytes largest_size(std::uint64_t{1} << 60U);  // so that a few together do not wrap

template <Readable T>
std::string range_text(const Range<T>& range) {
  if (range.low && range.high) {
    return "between " + to_text(*range.low) + " and " + to_text(*range.high);
  }
  return range.low ? "at least " + to_text(*range.low) : "at most " + to_text(*range.high);
}

template <Readable T>
std::string missing() {
  const TypeWords words = words_for<T>();
  const std::string text = std::string("missing; give ") + words.name;
  return std::same_as<T, bool> ? text : text + ", e.g. " + words.example;
}

// The value as it stands in the resolved configuration.
template <Readable T>
Value shown(const T& value) {
  if constexpr (std::same_as<T, std::string>) {
    return text_value(value);
  } else {
    return plain_value(to_text(value));
  }
}

template <Readable T>
bool can_be_shown(const T& value) {
  if constexpr (std::same_as<T, SimTime>) {
    return !value.is_never();
  } else {
    return true;
  }
}

// Makes `name` the path beside the place where it stands; gives it from the root of the file
// system, as it can be shown anywhere.
Value find_file(const Place& place, std::string& name, Diagnostics& diagnostics) {
  if (name.empty()) {
    return text_value(name);
  }
  name = path_beside(place, name);
  const std::string whole = std::filesystem::absolute(name).lexically_normal().string();
  diagnostics.name_file(whole);
  return text_value(whole);
}

// The root's own place is the start of its file: the mark of a mapping is its first key's.
Place place_of_section(const Value& value, const std::string& path) {
  return path.empty() ? Place{value.place.file, 1, 1} : value.place;
}

}  // namespace

Section::Section(Value value, std::string path, Diagnostics& diagnostics) {
  Place place = place_of_section(value, path);
  state_ = std::make_shared<State>(std::make_shared<const Value>(std::move(value)), std::move(path),
                                   std::move(place), diagnostics);
}

Section::Section(std::shared_ptr<State> state) : state_(std::move(state)) {}

template <Readable T>
std::optional<T> Section::convert(const Value& value, const std::string& path,
                                  const Range<T>& range) {
  const auto refuse = [&](const std::string& message) {
    state_->error(value.place, path, message);
    return std::nullopt;
  };
  if (value.kind == Value::Kind::null) {
    return refuse("missing value");
  }
  if (value.kind != Value::Kind::scalar) {
    return refuse(std::string("expected a single value; got ") + kind_name(value.kind));
  }
  if (never_quoted<T> && value.quoted) {
    return refuse(std::string("expected ") + words_for<T>().name + " without quotes; got " +
                  excerpt(value.text) + " in quotes");
  }
  std::string problem;
  std::optional<T> result = parse_as<T>(value.text, problem);
  if (!result) {
    return refuse(problem);
  }
  if ((range.low && *result < *range.low) || (range.high && *range.high < *result)) {
    return refuse("must be " + range_text(range) + "; got " + excerpt(value.text));
  }
  if constexpr (std::is_same_v<T, Bytes>) {
    if (!range.high && largest_size < *result) {
      return refuse("must be at most " + to_text(largest_size) + "; got " + excerpt(value.text));
    }
  }
  return result;
}

template <Readable T>
std::optional<T> Section::read(std::string_view key, const Range<T>& range) {
  const Value::Member* member = state_->ask(key);
  if (member == nullptr) {
    return std::nullopt;
  }
  std::optional<T> value = convert<T>(member->value, state_->path_of(key), range);
  if (value) {
    note(key, *value);
  }
  return value;
}

template <Readable T>
void Section::note(std::string_view key, const T& value) {
  if (can_be_shown(value)) {
    state_->content_of(key) = shown(value);
  }
}

template <Readable T>
T Section::get(std::string_view key, Range<T> range) {
  const std::optional<T> value = read<T>(key, range);
  if (!has(key) && !state_->broken) {
    state_->error(state_->place, state_->path_of(key), missing<T>());
  }
  return value.value_or(T{});
}

template <Readable T>
T Section::get_or(std::string_view key, T default_value, Range<T> range) {
  std::optional<T> value = read<T>(key, range);
  if (value) {
    return *std::move(value);
  }
  note(key, default_value);
  return default_value;
}

template <Readable T>
std::optional<T> Section::get_optional(std::string_view key, Range<T> range) {
  return read<T>(key, range);
}

template <Readable T>
std::vector<T> Section::get_list(std::string_view key, std::vector<T> default_value) {
  const Value::Member* member = state_->ask(key);
  std::vector<T> values;
  bool good = member != nullptr;
  if (good && member->value.kind != Value::Kind::sequence) {
    state_->error(member->value.place, state_->path_of(key),
                  member->value.kind == Value::Kind::null
                      ? std::string("missing value; write [] for an empty list")
                      : std::string("expected a list; got ") + kind_name(member->value.kind));
    good = false;
  } else if (good) {
    for (const Value& item : member->value.items) {
      const std::string path = state_->path_of(key) + "[" + std::to_string(values.size()) + "]";
      const std::optional<T> value = convert<T>(item, path, {});
      good = good && value.has_value();
      values.push_back(value.value_or(T{}));
    }
  }
  if (!good) {
    values = std::move(default_value);
  }
  Value list;
  list.kind = Value::Kind::sequence;
  for (const auto& value : values) {  // a proxy of a truth value
    list.items.push_back(shown<T>(value));
  }
  if (std::all_of(values.begin(), values.end(),
                  [](const T& value) { return can_be_shown(value); })) {
    state_->content_of(key) = std::move(list);
  }
  return values;
}

std::string Section::get_name(std::string_view key, std::vector<std::string> names,
                              std::string_view default_name) {
  std::string fallback(default_name);
  if (state_->ask(key) == nullptr) {
    if (fallback.empty() && !state_->broken) {
      state_->error(state_->place, state_->path_of(key), "missing; give one of: " + join(names));
    }
  } else if (const std::optional<std::string> name = read<std::string>(key, {})) {
    if (std::find(names.begin(), names.end(), *name) != names.end()) {
      return *name;
    }
    const std::string nearest = nearest_match(*name, names);
    state_->error(state_->find(key)->value.place, state_->path_of(key),
                  "unknown name " + excerpt(*name) +
                      (nearest.empty() ? "; " : "; did you mean '" + nearest + "'? ") +
                      "known: " + join(names));
  }
  if (!fallback.empty()) {
    note(key, fallback);
  }
  return fallback;
}

std::string Section::get_file(std::string_view key) {
  return has(key) ? get_optional_file(key).value_or("") : get<std::string>(key);
}

std::optional<std::string> Section::get_optional_file(std::string_view key) {
  auto name = get_optional<std::string>(key);
  if (name) {
    state_->content_of(key) =
        find_file(state_->find(key)->value.place, *name, *state_->diagnostics);
  }
  return name;
}

std::vector<std::string> Section::get_files(std::string_view key) {
  auto names = get_list<std::string>(key);
  Value list;
  list.kind = Value::Kind::sequence;
  for (std::size_t number = 0; number < names.size(); ++number) {
    const Value& item = state_->find(key)->value.items[number];
    list.items.push_back(find_file(item.place, names[number], *state_->diagnostics));
  }
  state_->content_of(key) = std::move(list);
  return names;
}

Section Section::section(std::string_view key) {
  const Value::Member* member = state_->ask(key);
  State::Content& content = state_->content_of(key);
  if (const auto* child = std::get_if<State::Child>(&content)) {
    return Section(*child);
  }
  auto child = state_->make_child(key, member != nullptr ? state_->share(member->value) : nullptr,
                                  state_->path_of(key), state_->place_of(key));
  child->broken = child->broken || state_->broken;
  content = child;
  return Section(std::move(child));
}

std::vector<Section> Section::sections(std::string_view key) {
  const Value::Member* member = state_->ask(key);
  State::Content& content = state_->content_of(key);
  if (!std::holds_alternative<std::vector<State::Child>>(content)) {
    std::vector<State::Child> children;
    if (member != nullptr && member->value.kind == Value::Kind::sequence) {
      for (const Value& item : member->value.items) {
        const std::string path = state_->path_of(key) + "[" + std::to_string(children.size()) + "]";
        children.push_back(state_->make_child(key, state_->share(item), path, item.place));
      }
    } else if (member != nullptr && member->value.kind != Value::Kind::null) {
      state_->error(
          member->value.place, state_->path_of(key),
          std::string("expected a list of mappings; got ") + kind_name(member->value.kind));
    }
    content = std::move(children);
  }
  std::vector<Section> result;
  for (const State::Child& child : std::get<std::vector<State::Child>>(content)) {
    result.push_back(Section(child));
  }
  return result;
}

void Section::leave_keys_of_others(const std::vector<PartInfo>& parts, std::string_view chosen) {
  const auto asks = [&](const PartInfo& part, const std::string& key) {
    return std::any_of(part.parameters.begin(), part.parameters.end(),
                       [&](const ParameterInfo& parameter) { return parameter.name == key; });
  };
  for (const std::string& key : keys()) {
    bool others = false;
    bool own = false;
    for (const PartInfo& part : parts) {
      (part.name == chosen ? own : others) |= asks(part, key);
    }
    if (others && !own) {
      raw(key);
      state_->diagnostics->note(state_->path_of(key) + " has no effect with " +
                                std::string(chosen));
    }
  }
}

void Section::tell(std::string text) {
  state_->diagnostics->note(std::move(text));
}

Value Section::raw(std::string_view key) {
  const Value::Member* member = state_->ask(key);
  if (member == nullptr) {
    Value nothing;
    nothing.place = state_->place;
    return nothing;
  }
  State::Content& content = state_->content_of(key);
  // What was read as something more precise stays so.
  if (std::holds_alternative<std::monostate>(content)) {
    content = member->value;
  }
  return member->value;
}

bool Section::has(std::string_view key) const {
  return state_->find(key) != nullptr;
}

std::vector<std::string> Section::keys() const {
  std::vector<std::string> result;
  if (is_mapping()) {
    for (const Value::Member& member : state_->value->members) {
      result.push_back(member.key);
    }
  }
  return result;
}

Place Section::place_of(std::string_view key) const {
  return state_->place_of(key);
}

void Section::error(std::string_view key, const std::string& message) {
  state_->error(state_->place_of(key), state_->path_of(key), message);
}

void Section::error(std::string_view key, const Value& part, const std::string& message) {
  state_->error(part.place, state_->path_of(key), message);
}

const std::string& Section::path() const {
  return state_->path;
}

bool Section::is_mapping() const {
  return state_->value && state_->value->kind == Value::Kind::mapping;
}

void Section::declare(std::function<SectionInfo()> declared) {
  state_->declared = std::make_shared<const DeclaredKeys>(std::move(declared), state_->value);
}

void Section::finish() {
  state_->finish();
}

std::string Section::resolved_yaml() const {
  return to_yaml(state_->resolved());
}

TESSERA_CONFIG_SECTION_TEMPLATES(, bool);
TESSERA_CONFIG_SECTION_TEMPLATES(, std::int64_t);
TESSERA_CONFIG_SECTION_TEMPLATES(, double);
TESSERA_CONFIG_SECTION_TEMPLATES(, std::string);
TESSERA_CONFIG_SECTION_TEMPLATES(, Bytes);
TESSERA_CONFIG_SECTION_TEMPLATES(, Bandwidth);
TESSERA_CONFIG_SECTION_TEMPLATES(, SimTime);
TESSERA_CONFIG_SECTION_TEMPLATES(, Clock);
TESSERA_CONFIG_SECTION_TEMPLATES(, Flops);
TESSERA_CONFIG_SECTION_TEMPLATES(, FlopRate);
TESSERA_CONFIG_SECTION_TEMPLATES(, Fraction);

}  // namespace tessera::config
