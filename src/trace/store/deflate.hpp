// Compresses the byte planes of a chunk into a zlib stream (RFC 1950 and 1951) that any reader can
// inflate.
//
// Made for shuffled tables, most of whose planes are one value over and over, and the others long
// repetitions or noise: planes of one value are never looked at, in the others the search is greedy
// and tries one place, the last with the same four bytes (as LZ4 does), and where a plane begins as
// noise the rest of it is not searched. On messages of a large run this takes a sixth of the time
// of zlib's level 1 for 5 % more bytes (docs/design/0006). Codes are made anew for every 65 536
// tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tessera::trace {

class Deflater {
 public:
  Deflater();

  // Bytes that `add` may read, but not use, behind a plane.
  static constexpr std::size_t slack = 8;
  // Bytes of a plane at most.
  static constexpr std::size_t longest_plane = 16'384;

  // Starts a stream at the end of `out`, which must stay until `finish`.
  void start(std::vector<std::byte>& out);
  // Goes on with `size` bytes, 1 to `longest_plane`, which must stay until `finish`; `slack` more
  // must be readable.
  void add(const std::byte* plane, std::size_t size);
  // Goes on with `size` times `value`, at least once.
  void add_same(std::byte value, std::size_t size);
  // Ends the stream.
  void finish();

 private:
  // Bytes as they are, and then a repetition.
  struct Sequence {
    const std::byte* literals;
    std::uint32_t literal_count;
    std::uint16_t length;  // 0: no repetition
    std::uint16_t distance;
  };
  // A block ends with the plane that brings it to as many literals and repetitions.
  static constexpr std::size_t block_tokens = 65'536;
  static constexpr std::size_t hash_bits = 13;
  static constexpr std::size_t literal_symbols = 286;
  static constexpr std::size_t distance_symbols = 30;

 public:
  // Memory it takes, without the stream.
  static constexpr std::size_t working_bytes =
      block_tokens / 8 * sizeof(Sequence) + (sizeof(std::uint16_t) << hash_bits);

 private:
  void literals(const std::byte* bytes, std::size_t count);
  void match(std::size_t length, std::size_t distance);
  void end_of_plane();
  void write_block(bool last);
  void sum(const std::byte* plane, std::size_t size);
  void add_sums(std::uint64_t bytes, std::uint64_t weighted, std::size_t size);

  std::vector<std::byte>* out_ = nullptr;
  std::uint64_t bits_ = 0;  // not yet in `out_`, lowest first
  unsigned bit_count_ = 0;  // fewer than 8 between blocks
  std::uint32_t adler_low_ = 1;
  std::uint32_t adler_high_ = 0;
  std::vector<Sequence> sequences_;
  std::size_t tokens_ = 0;             // in them
  std::vector<std::uint16_t> places_;  // by hash of four bytes: where they were last
  std::array<std::uint32_t, literal_symbols> literal_frequency_{};
  std::array<std::uint32_t, distance_symbols> distance_frequency_{};
};

}  // namespace tessera::trace
