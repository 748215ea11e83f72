// Named texts and numbers of a report. JSON is made of them in one source, as its header takes
// seconds to compile.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tessera::bench {

struct Field {
  Field(std::string field, std::string text) : name(std::move(field)), value(std::move(text)) {}
  Field(std::string field, double number) : name(std::move(field)), value(number) {}
  template <std::integral T>
  Field(std::string field, T number)
      : name(std::move(field)),
        value(static_cast<std::conditional_t<std::signed_integral<T>, std::int64_t, std::uint64_t>>(
            number)) {}

  std::string name;
  std::variant<std::string, std::int64_t, std::uint64_t, double> value;
};

using Fields = std::vector<Field>;  // in the order in which they are shown

}  // namespace tessera::bench
