// The unit of simulation: a fixed-size plain record addressed to one entity.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tessera/core/ids.hpp"
#include "tessera/core/time.hpp"

namespace tessera::pdes {

// Where at an entity an event goes: one of the components attached to the engine, and one of the
// message kinds of that component. Seven bits, so that a model can carry a port in a byte and keep
// one bit for itself.
class Port {
 public:
  static constexpr unsigned max_components = 8;
  static constexpr unsigned max_kinds = 16;
  constexpr Port() = default;
  constexpr Port(unsigned component, unsigned kind)
      : code_(static_cast<std::uint8_t>(component * max_kinds + kind)) {}
  static constexpr Port from_code(std::uint8_t code) {
    Port port;
    port.code_ = code;
    return port;
  }
  constexpr std::uint8_t code() const { return code_; }
  constexpr unsigned component() const { return code_ / max_kinds; }
  constexpr unsigned kind() const { return code_ % max_kinds; }
  friend constexpr bool operator==(Port, Port) = default;

 private:
  std::uint8_t code_ = 0;
};

// Bytes a model may put in an event.
inline constexpr std::size_t payload_bytes = 24;

// 48 bytes, trivially copyable: sent between ranks and checkpointed as it is. Bytes of the payload
// that the model did not set hold anything.
//
// Events of one entity are handled in order of (time, source, sequence), none of which depends on
// the partition. The sequence is a counter of the source; it is compared as a serial number
// (RFC 1982), so wrapping after 2^32 sends is harmless.
struct Event {
  SimTime time;
  std::uint32_t target = 0;  // entity number on the wire; index in the rank's arrays once queued
  EntityId source;
  std::uint32_t sequence = 0;
  Port port;
  std::uint8_t flags = 0;
  std::uint16_t tag = 0;
  std::array<std::byte, payload_bytes> payload{};

  template <class T>
  T as() const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= payload_bytes);
    T value;
    std::memcpy(&value, payload.data(), sizeof(T));
    return value;
  }
  template <class T>
  void set_payload(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= payload_bytes);
    std::memcpy(payload.data(), &value, sizeof(T));
  }
};
static_assert(sizeof(Event) == 48);
static_assert(std::is_trivially_copyable_v<Event>);

// The order in which one entity handles its events.
inline bool handled_before(const Event& a, const Event& b) {
  if (a.time != b.time) {
    return a.time < b.time;
  }
  if (a.source != b.source) {
    return a.source < b.source;
  }
  return static_cast<std::int32_t>(a.sequence - b.sequence) < 0;
}

}  // namespace tessera::pdes
