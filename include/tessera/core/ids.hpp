// Distinct identifier types: an entity is not a rank.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace tessera {

// An index of one kind. `Tag` tells the kinds apart; no implicit conversion in or out.
template <class Tag, class Value = std::uint32_t>
class Id {
 public:
  using value_type = Value;
  constexpr Id() = default;
  explicit constexpr Id(Value value) : value_(value) {}
  static constexpr Id none() { return Id(std::numeric_limits<Value>::max()); }
  constexpr Value value() const { return value_; }
  constexpr bool valid() const { return value_ != none().value_; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  Value value_ = std::numeric_limits<Value>::max();
};

// A place of the machine that handles events: a tile with its router, a switch, a host. Numbered
// by the machine description alone, never by how it was cut over ranks. The highest value means
// "none".
using EntityId = Id<struct EntityTag>;

}  // namespace tessera

template <class Tag, class Value>
struct std::hash<tessera::Id<Tag, Value>> {
  std::size_t operator()(tessera::Id<Tag, Value> id) const noexcept {
    return std::hash<Value>()(id.value());
  }
};
