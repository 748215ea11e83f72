// JSON that commands print, put together key by key; the library that writes it stays in this room.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::trace {

class JsonText {
 public:
  static JsonText object();
  static JsonText list();
  static JsonText list(const std::vector<std::string>& texts);
  static JsonText null();
  JsonText(const std::string& text);  // NOLINT: values stand where they are put
  JsonText(const char* text) : JsonText(std::string(text)) {}          // NOLINT
  JsonText(double number);                                             // NOLINT: not finite: null
  JsonText(std::same_as<bool> auto truth) : JsonText(Truth{truth}) {}  // NOLINT
  JsonText(std::signed_integral auto number)                           // NOLINT
      : JsonText(Signed{static_cast<std::int64_t>(number)}) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) JsonText(T number) : JsonText(Unsigned{number}) {}  // NOLINT
  JsonText(const JsonText& other);
  JsonText(JsonText&& other) noexcept;
  JsonText& operator=(const JsonText& other);
  JsonText& operator=(JsonText&& other) noexcept;
  ~JsonText();

  // Of an object: keys keep their order.
  JsonText& put(std::string_view key, const JsonText& value);
  // Of a list.
  JsonText& add(const JsonText& value);

  // Indented by two, with a newline at the end; what is no UTF-8 becomes U+FFFD.
  std::string to_string() const;
  // On one line, without one.
  std::string to_line() const;

 private:
  struct Value;
  struct Truth {
    bool value;
  };
  struct Signed {
    std::int64_t value;
  };
  struct Unsigned {
    std::uint64_t value;
  };
  explicit JsonText(Truth truth);
  explicit JsonText(Signed number);
  explicit JsonText(Unsigned number);
  explicit JsonText(std::unique_ptr<Value> value);

  std::unique_ptr<Value> value_;
};

}  // namespace tessera::trace
