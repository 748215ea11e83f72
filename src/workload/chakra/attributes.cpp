#include "chakra/attributes.hpp"

#include <charconv>
#include <cmath>
#include <type_traits>

namespace tessera::workload {
namespace {

template <class Number>
std::optional<std::uint64_t> count_of(Number number) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (!(number >= 0) || number != std::floor(number) || number >= 18446744073709551616.0) {
      return std::nullopt;
    }
  } else if constexpr (std::is_signed_v<Number>) {
    if (number < 0) {
      return std::nullopt;
    }
  }
  return static_cast<std::uint64_t>(number);
}

// Digits only.
std::optional<std::uint64_t> count_of(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

template <class List>
std::optional<std::vector<bool>> flags_of(const List& list) {
  std::vector<bool> flags;
  for (const auto value : list.values()) {
    flags.push_back(value != 0);
  }
  return flags;
}

template <class List>
std::optional<std::vector<std::uint64_t>> counts_of(const List& list) {
  std::vector<std::uint64_t> counts;
  for (const auto value : list.values()) {
    const auto count = count_of(value);
    if (!count) {
      return std::nullopt;
    }
    counts.push_back(*count);
  }
  return counts;
}

}  // namespace

const chakra::Attribute* find_attribute(const chakra::Node& node, const std::string& name) {
  for (const chakra::Attribute& attribute : node.attributes()) {
    if (attribute.name() == name) {
      return &attribute;
    }
  }
  return nullptr;
}

std::optional<std::uint64_t> as_count(const chakra::Attribute& attribute) {
  using Kind = chakra::Attribute;
  switch (attribute.value_case()) {
    case Kind::kDoubleValue:
      return count_of(attribute.double_value());
    case Kind::kFloatValue:
      return count_of(attribute.float_value());
    case Kind::kInt32Value:
      return count_of(attribute.int32_value());
    case Kind::kInt64Value:
      return count_of(attribute.int64_value());
    case Kind::kUint32Value:
      return count_of(attribute.uint32_value());
    case Kind::kUint64Value:
      return count_of(attribute.uint64_value());
    case Kind::kSint32Value:
      return count_of(attribute.sint32_value());
    case Kind::kSint64Value:
      return count_of(attribute.sint64_value());
    case Kind::kFixed32Value:
      return count_of(attribute.fixed32_value());
    case Kind::kFixed64Value:
      return count_of(attribute.fixed64_value());
    case Kind::kSfixed32Value:
      return count_of(attribute.sfixed32_value());
    case Kind::kSfixed64Value:
      return count_of(attribute.sfixed64_value());
    case Kind::kBoolValue:
      return attribute.bool_value() ? 1 : 0;
    case Kind::kStringValue:
      return count_of(attribute.string_value());
    default:
      return std::nullopt;
  }
}

std::optional<std::string> as_text(const chakra::Attribute& attribute) {
  if (attribute.value_case() == chakra::Attribute::kStringValue) {
    return attribute.string_value();
  }
  if (attribute.value_case() == chakra::Attribute::kBytesValue) {
    return attribute.bytes_value();
  }
  const auto count = as_count(attribute);
  return count ? std::optional(std::to_string(*count)) : std::nullopt;
}

std::optional<std::vector<std::uint64_t>> as_counts(const chakra::Attribute& attribute) {
  using Kind = chakra::Attribute;
  switch (attribute.value_case()) {
    case Kind::kInt32List:
      return counts_of(attribute.int32_list());
    case Kind::kInt64List:
      return counts_of(attribute.int64_list());
    case Kind::kUint32List:
      return counts_of(attribute.uint32_list());
    case Kind::kUint64List:
      return counts_of(attribute.uint64_list());
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<bool>> as_flags(const chakra::Attribute& attribute) {
  using Kind = chakra::Attribute;
  switch (attribute.value_case()) {
    case Kind::kBoolList:
      return flags_of(attribute.bool_list());
    case Kind::kInt32List:
      return flags_of(attribute.int32_list());
    case Kind::kInt64List:
      return flags_of(attribute.int64_list());
    case Kind::kUint32List:
      return flags_of(attribute.uint32_list());
    case Kind::kUint64List:
      return flags_of(attribute.uint64_list());
    default: {
      const auto count = as_count(attribute);
      return count ? std::optional(std::vector<bool>{*count != 0}) : std::nullopt;
    }
  }
}

}  // namespace tessera::workload
