// Plain data in and out of a checkpoint.
//
// Values follow one another without tags: who reads has to know what was written. Bytes are those
// of this kind of processor; the file that holds them says which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "tessera/core/error.hpp"

namespace tessera::pdes {

class StateWriter {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(&value, sizeof(T));
  }
  // The number of values, then the values.
  template <class T>
  void put_all(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(static_cast<std::uint64_t>(values.size()));
    append(values.data(), values.size_bytes());
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    put_all(std::span<const T>(values));
  }

  std::size_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  void append(const void* data, std::size_t size);  // by itself, as so many values are put

  std::vector<std::byte> bytes_;
};

// Throws InternalError when more is read than is there.
class StateReader {
 public:
  explicit StateReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    take(&value, sizeof(T));
    return value;
  }
  template <class T>
  std::vector<T> get_all() {
    const auto count = get<std::uint64_t>();
    ensure(count <= left_.size() / sizeof(T), "a checkpoint holds less than it should");
    std::vector<T> values(static_cast<std::size_t>(count));
    take(values.data(), values.size() * sizeof(T));
    return values;
  }
  bool at_end() const { return left_.empty(); }

 private:
  void take(void* target, std::size_t size);

  std::span<const std::byte> left_;
};

}  // namespace tessera::pdes
