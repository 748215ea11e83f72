// Templates of trace_file.hpp.
#pragma once

#include <array>
#include <concepts>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::trace {
namespace detail {

template <class>
inline constexpr bool always_false = false;

// The stored type of a member; a type that a trace cannot hold does not compile.
template <class Member>
constexpr FieldType field_type() {
  if constexpr (std::same_as<Member, std::uint8_t>) {
    return FieldType::u8;
  } else if constexpr (std::same_as<Member, std::uint16_t>) {
    return FieldType::u16;
  } else if constexpr (std::same_as<Member, std::uint32_t>) {
    return FieldType::u32;
  } else if constexpr (std::same_as<Member, std::uint64_t>) {
    return FieldType::u64;
  } else if constexpr (std::same_as<Member, std::int64_t>) {
    return FieldType::i64;
  } else if constexpr (std::same_as<Member, double>) {
    return FieldType::f64;
  } else if constexpr (std::same_as<Member, std::array<char, 32>>) {
    return FieldType::text32;
  } else if constexpr (std::same_as<Member, std::array<char, 64>>) {
    return FieldType::text64;
  } else {
    static_assert(always_false<Member>, "a trace cannot hold a member of this type");
  }
}

}  // namespace detail

template <class Record, class Member>
Field field(std::string name, Member Record::*member, std::string unit, std::string description) {
  // `offsetof` takes a member's name, not a pointer to member; so an object is asked.
  static const Record probe{};
  const auto* start = reinterpret_cast<const std::byte*>(&probe);
  const auto* place = reinterpret_cast<const std::byte*>(&(probe.*member));
  return Field{std::move(name), detail::field_type<Member>(),
               static_cast<std::size_t>(place - start), std::move(unit), std::move(description)};
}

template <class Record>
TableSpec describe(std::string name, std::string description, std::vector<Field> fields) {
  static_assert(std::is_trivially_copyable_v<Record>, "rows are copied as bytes");
  return TableSpec{std::move(name), std::move(description), sizeof(Record), std::move(fields)};
}

template <class Record>
Record ReadTable::record(std::uint64_t row) const {
  static_assert(std::is_trivially_copyable_v<Record>, "rows are copied as bytes");
  ensure(sizeof(Record) == spec.row_bytes, "the record is not of this table");
  ensure(row < rows, "row beyond the end of the table");
  Record result;
  std::memcpy(&result, bytes.data() + row * sizeof(Record), sizeof(Record));
  return result;
}

}  // namespace tessera::trace
