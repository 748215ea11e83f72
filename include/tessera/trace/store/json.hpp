// JSON values, and their text. The library that reads and writes it is known to one file alone
// (store/json.cpp): its header takes seconds to compile.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera::trace {

// A value is not what was asked for: no such member, no number, out of range.
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Null, truth, number, text, list or object, whose members keep their order. Made of what it is to
// hold, or of a list in braces: of pairs that begin with a text it is an object, else a list.
// NOLINTBEGIN(google-explicit-constructor): so that documents are written as they look.
class Json {
 public:
  struct Member;
  using List = std::vector<Json>;
  using Object = std::vector<Member>;

  Json() noexcept;
  template <std::same_as<bool> Truth>  // no pointer
  Json(Truth value) : held_(value) {}
  Json(int value);
  Json(unsigned value);
  Json(long value);
  Json(unsigned long value);
  Json(double value);
  Json(const char* text);
  Json(std::string text);
  Json(std::string_view text);
  Json(std::initializer_list<Json> items);
  template <class Item>
  Json(const std::vector<Item>& items);
  template <class Value, class Less>
  Json(const std::map<std::string, Value, Less>& members);
  ~Json();
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;

  static Json list();
  static Json object();
  // None where the text is no JSON, or nested deeper than anything this program writes.
  static std::optional<Json> parse(std::string_view text);
  // On one line, or with so many blanks a level. What is no UTF-8 becomes U+FFFD; numbers that are
  // not finite become null.
  std::string text() const { return written(-1); }
  std::string text(int indent) const { return written(indent); }

  bool is_null() const;
  bool is_bool() const;
  bool is_number() const;
  bool is_text() const;
  bool is_list() const;
  bool is_object() const;
  // A whole number without fraction or exponent, in this range.
  bool is_whole_in(std::int64_t low, std::uint64_t high) const;

  // Of a list or an object. Throw JsonError for anything else.
  const List& items() const;
  const Object& members() const;
  // Of a list, an object or (0) null. Throws JsonError for anything else.
  std::size_t size() const;
  void push_back(Json item);  // null becomes a list

  // The member of that name; nullptr when there is none, or this is no object.
  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  const Json& at(std::string_view key) const;  // throws JsonError
  // A null one is added at the end where there is none; null becomes an object. Throws JsonError.
  Json& operator[](std::string_view key);
  // Of a list. Throws JsonError.
  Json& operator[](std::size_t place);
  void erase(std::string_view key);
  // Adds the members of another object, or gives members of this one their values.
  void update(const Json& other);

  // Throw JsonError when this is something else, or out of range.
  void get_to(bool& value) const;
  void get_to(double& value) const;
  void get_to(std::string& value) const;
  template <std::integral Whole>
  void get_to(Whole& value) const;
  template <class Item>
  void get_to(std::vector<Item>& value) const;
  template <class Value, class Less>
  void get_to(std::map<std::string, Value, Less>& value) const;
  template <class Value>
  Value get() const;

  friend bool operator==(const Json& a, const Json& b);

 private:
  // Whole numbers that are not negative are unsigned.
  using Held = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                            List, Object>;

  std::string written(int indent) const;
  void set_whole(std::int64_t value);
  Object& own_members();
  // Sign and magnitude of a whole number in [low, high] as a pattern of 64 bits.
  std::uint64_t whole_bits(std::int64_t low, std::uint64_t high) const;

  Held held_;
};
// NOLINTEND(google-explicit-constructor)

struct Json::Member {
  std::string key;
  Json value;
  friend bool operator==(const Member& a, const Member& b) = default;
};

// A text as JSON, with its quotes; what is no UTF-8 becomes U+FFFD.
std::string json_text(std::string_view text);

template <class Item>
Json::Json(const std::vector<Item>& items) : Json(list()) {
  for (const auto& item : items) {
    push_back(Json(item));
  }
}

template <class Value, class Less>
Json::Json(const std::map<std::string, Value, Less>& members) : Json(object()) {
  for (const auto& [key, value] : members) {
    (*this)[key] = Json(value);
  }
}

template <std::integral Whole>
void Json::get_to(Whole& value) const {
  value =
      static_cast<Whole>(whole_bits(static_cast<std::int64_t>(std::numeric_limits<Whole>::min()),
                                    static_cast<std::uint64_t>(std::numeric_limits<Whole>::max())));
}

template <class Item>
void Json::get_to(std::vector<Item>& value) const {
  value.clear();
  for (const Json& item : items()) {
    value.push_back(item.get<Item>());
  }
}

template <class Value, class Less>
void Json::get_to(std::map<std::string, Value, Less>& value) const {
  value.clear();
  for (const Member& member : members()) {
    value.insert_or_assign(member.key, member.value.get<Value>());
  }
}

template <class Value>
Value Json::get() const {
  Value value{};
  get_to(value);
  return value;
}

}  // namespace tessera::trace
