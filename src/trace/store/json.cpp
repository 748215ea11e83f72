#include "tessera/trace/store/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace tessera::trace {
namespace {

// Keeps the order of members.
using Library = nlohmann::ordered_json;

constexpr std::size_t deepest = 200;

std::string text_of(const Library& json, int indent) {
  return json.dump(indent, ' ', false, Library::error_handler_t::replace);
}

// Makes a value of what the library's parser tells.
class Reading {
 public:
  Json take() { return std::move(root_); }

  bool null() { return put(Json()); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(std::int64_t value) { return put(value); }
  bool number_unsigned(std::uint64_t value) { return put(value); }
  bool number_float(double value, const std::string& /*digits*/) { return put(value); }
  bool string(std::string& text) { return put(std::move(text)); }
  static bool binary(const Library::binary_t& /*bytes*/) { return false; }
  bool start_object(std::size_t /*size*/) { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) { return open(Json::list()); }
  bool key(std::string& name) {
    open_.back().key = std::move(name);
    return true;
  }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  static bool parse_error(std::size_t /*place*/, const std::string& /*token*/,
                          const Library::exception& /*error*/) {
    return false;
  }

 private:
  struct Open {
    Json value;
    std::string key;  // of the member that comes
  };

  bool put(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.is_list()) {
      open_.back().value.push_back(std::move(value));
    } else {
      open_.back().value[open_.back().key] = std::move(value);
    }
    return true;
  }
  bool open(Json value) {
    open_.push_back({std::move(value), ""});
    return open_.size() <= deepest;
  }
  bool close() {
    Json whole = std::move(open_.back().value);
    open_.pop_back();
    return put(std::move(whole));
  }

  std::vector<Open> open_;
  Json root_;
};

[[noreturn]] void refuse(const std::string& what) {
  throw JsonError("JSON: " + what);
}

bool is_member(const Json& item) {
  return item.is_list() && item.size() == 2 && item.items().front().is_text();
}

template <class AnyObject>
auto place_of(AnyObject& members, std::string_view key) {
  return std::find_if(members.begin(), members.end(),
                      [&](const Json::Member& member) { return member.key == key; });
}

}  // namespace

Json::Json() noexcept = default;
Json::Json(int value) {
  set_whole(value);
}
Json::Json(unsigned value) : held_(std::uint64_t{value}) {}
Json::Json(long value) {
  set_whole(value);
}
Json::Json(unsigned long value) : held_(std::uint64_t{value}) {}
Json::Json(double value) : held_(value) {}
Json::Json(const char* text) : held_(std::string(text)) {}
Json::Json(std::string text) : held_(std::move(text)) {}
Json::Json(std::string_view text) : held_(std::string(text)) {}

Json::Json(std::initializer_list<Json> items) {
  if (!std::all_of(items.begin(), items.end(), is_member)) {
    held_ = List(items);
    return;
  }
  held_ = Object();
  for (const Json& item : items) {
    const List& pair = item.items();
    std::string key;
    pair.front().get_to(key);
    (*this)[key] = pair.back();
  }
}

Json::~Json() = default;
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;

Json Json::list() {
  Json json;
  json.held_ = List();
  return json;
}

Json Json::object() {
  Json json;
  json.held_ = Object();
  return json;
}

void Json::set_whole(std::int64_t value) {
  if (value < 0) {
    held_ = value;
  } else {
    held_ = static_cast<std::uint64_t>(value);
  }
}

std::optional<Json> Json::parse(std::string_view text) {
  Reading reading;
  return Library::sax_parse(text, &reading) ? std::optional(reading.take()) : std::nullopt;
}

namespace {

Library library_of(const Json& json);

Library library_of_object(const Json& json) {
  Library object = Library::object();
  for (const Json::Member& member : json.members()) {
    // Members have different names: they need not be looked for.
    object.get_ref<Library::object_t&>().push_back({member.key, library_of(member.value)});
  }
  return object;
}

Library library_of_list(const Json& json) {
  Library list = Library::array();
  for (const Json& item : json.items()) {
    list.push_back(library_of(item));
  }
  return list;
}

Library library_of_number(const Json& json) {
  if (json.is_whole_in(0, std::numeric_limits<std::uint64_t>::max())) {
    return json.get<std::uint64_t>();
  }
  if (json.is_whole_in(std::numeric_limits<std::int64_t>::min(), 0)) {
    return json.get<std::int64_t>();
  }
  return json.get<double>();
}

Library library_of(const Json& json) {
  return json.is_null()     ? Library()
         : json.is_bool()   ? Library(json.get<bool>())
         : json.is_number() ? library_of_number(json)
         : json.is_text()   ? Library(json.get<std::string>())
         : json.is_list()   ? library_of_list(json)
                            : library_of_object(json);
}

}  // namespace

std::string Json::written(int indent) const {
  return text_of(library_of(*this), indent);
}

bool Json::is_null() const {
  return std::holds_alternative<std::monostate>(held_);
}
bool Json::is_bool() const {
  return std::holds_alternative<bool>(held_);
}
bool Json::is_number() const {
  return std::holds_alternative<std::int64_t>(held_) ||
         std::holds_alternative<std::uint64_t>(held_) || std::holds_alternative<double>(held_);
}
bool Json::is_text() const {
  return std::holds_alternative<std::string>(held_);
}
bool Json::is_list() const {
  return std::holds_alternative<List>(held_);
}
bool Json::is_object() const {
  return std::holds_alternative<Object>(held_);
}

bool Json::is_whole_in(std::int64_t low, std::uint64_t high) const {
  if (const auto* const value = std::get_if<std::uint64_t>(&held_)) {
    return *value <= high && std::cmp_greater_equal(*value, low);
  }
  const auto* const negative = std::get_if<std::int64_t>(&held_);
  return negative != nullptr && *negative >= low && std::cmp_less_equal(*negative, high);
}

const Json::List& Json::items() const {
  if (const auto* const list = std::get_if<List>(&held_)) {
    return *list;
  }
  refuse("no list");
}

const Json::Object& Json::members() const {
  if (const auto* const object = std::get_if<Object>(&held_)) {
    return *object;
  }
  refuse("no object");
}

std::size_t Json::size() const {
  return is_null() ? 0 : is_list() ? items().size() : members().size();
}

void Json::push_back(Json item) {
  if (is_null()) {
    held_ = List();
  }
  if (auto* const list = std::get_if<List>(&held_)) {
    list->push_back(std::move(item));
  } else {
    refuse("no list");
  }
}

Json::Object& Json::own_members() {
  if (is_null()) {
    held_ = Object();
  }
  if (auto* const object = std::get_if<Object>(&held_)) {
    return *object;
  }
  refuse("no object");
}

const Json* Json::find(std::string_view key) const {
  const auto* const object = std::get_if<Object>(&held_);
  if (object == nullptr) {
    return nullptr;
  }
  const auto found = place_of(*object, key);
  return found == object->end() ? nullptr : &found->value;
}

const Json& Json::at(std::string_view key) const {
  if (const Json* const found = find(key)) {
    return *found;
  }
  refuse("no member '" + std::string(key) + "'");
}

Json& Json::operator[](std::string_view key) {
  Object& object = own_members();
  const auto found = place_of(object, key);
  return found != object.end() ? found->value
                               : object.emplace_back(Member{std::string(key), Json()}).value;
}

Json& Json::operator[](std::size_t place) {
  auto* const list = std::get_if<List>(&held_);
  if (list == nullptr || place >= list->size()) {
    refuse("no such item");
  }
  return (*list)[place];
}

void Json::erase(std::string_view key) {
  std::erase_if(own_members(), [&](const Member& member) { return member.key == key; });
}

void Json::update(const Json& other) {
  for (const Member& member : other.members()) {
    (*this)[member.key] = member.value;
  }
}

void Json::get_to(bool& value) const {
  if (!is_bool()) {
    refuse("no truth value");
  }
  value = std::get<bool>(held_);
}

void Json::get_to(double& value) const {
  if (const auto* const real = std::get_if<double>(&held_)) {
    value = *real;
  } else if (const auto* const negative = std::get_if<std::int64_t>(&held_)) {
    value = static_cast<double>(*negative);
  } else if (const auto* const whole = std::get_if<std::uint64_t>(&held_)) {
    value = static_cast<double>(*whole);
  } else {
    refuse("no number");
  }
}

void Json::get_to(std::string& value) const {
  if (!is_text()) {
    refuse("no text");
  }
  value = std::get<std::string>(held_);
}

std::uint64_t Json::whole_bits(std::int64_t low, std::uint64_t high) const {
  if (!is_whole_in(low, high)) {
    refuse("no whole number in range");
  }
  const auto* const negative = std::get_if<std::int64_t>(&held_);
  return negative != nullptr ? static_cast<std::uint64_t>(*negative)
                             : std::get<std::uint64_t>(held_);
}

bool operator==(const Json& a, const Json& b) {
  return a.held_ == b.held_;
}

std::string json_text(std::string_view text) {
  return text_of(Library(text), -1);
}

}  // namespace tessera::trace
