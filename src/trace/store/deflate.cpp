#include "store/deflate.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "store/huffman.hpp"
#include "tessera/core/error.hpp"

namespace tessera::trace {
namespace {

constexpr std::size_t shortest_match = 3;
constexpr std::size_t longest_match = 258;
constexpr std::size_t end_of_block = 256;
constexpr std::uint32_t adler_modulus = 65'521;
// A plane of whose first bytes less than a quarter are repetitions is noise.
constexpr std::size_t probe_bytes = 1'024;

template <class Word>
Word load(const std::byte* place) {
  Word word;
  std::memcpy(&word, place, sizeof(Word));
  return word;
}

// A symbol and the bits that follow its code.
struct Symbol {
  std::uint32_t symbol;
  std::uint32_t extra_bits;
  std::uint32_t extra;
};

// All values a byte has, in memory.
constexpr auto byte_values = [] {
  std::array<std::byte, 256> values{};
  for (std::size_t value = 0; value < values.size(); ++value) {
    values[value] = static_cast<std::byte>(value);
  }
  return values;
}();

// RFC 1951, section 3.2.5: four symbols a power of two for lengths, two for distances.
constexpr Symbol length_symbol(std::uint32_t length) {
  const std::uint32_t over = length - static_cast<std::uint32_t>(shortest_match);
  if (length == longest_match) {
    return {285, 0, 0};
  }
  if (over < 8) {
    return {257 + over, 0, 0};
  }
  const auto bits = static_cast<std::uint32_t>(std::bit_width(over)) - 3;
  return {257 + 4 * (bits + 1) + (over >> bits & 3), bits, over & ((1U << bits) - 1)};
}

constexpr Symbol distance_symbol(std::uint32_t distance) {
  const std::uint32_t over = distance - 1;
  if (over < 4) {
    return {over, 0, 0};
  }
  const auto bits = static_cast<std::uint32_t>(std::bit_width(over)) - 2;
  return {2 * (bits + 1) + (over >> bits & 1), bits, over & ((1U << bits) - 1)};
}

constexpr std::size_t room_piece = 4'096;              // bytes
constexpr std::size_t longest_piece = room_piece / 2;  // literals, of at most 15 bits

// Writes bits, lowest first, behind what `out` holds.
class BitWriter {
 public:
  BitWriter(std::vector<std::byte>& out, std::uint64_t bits, unsigned count)
      : out_(out), place_(out.data() + out.size()), end_(place_), bits_(bits), count_(count) {}

  // For what is drained until the next call, at most `room_piece` bytes. Room is made a piece at a
  // time, so that little more memory is touched than is filled.
  void make_room(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - place_) < bytes + sizeof(bits_)) {
      const std::size_t size = written();
      out_.resize(size + room_piece + sizeof(bits_));
      place_ = out_.data() + size;
      end_ = out_.data() + out_.size();
    }
  }
  // Gives back the room that was not needed.
  void end() { out_.resize(written()); }

  // At most 56 bits between two calls of `drain`.
  void put(std::uint64_t bits, unsigned count) {
    bits_ |= bits << count_;
    count_ += count;
  }
  void put(PrefixCode code) { put(code.bits, code.length); }
  // Writes the whole bytes; touches eight.
  void drain() {
    std::memcpy(place_, &bits_, sizeof(bits_));
    place_ += count_ / 8;
    bits_ >>= count_ & ~7U;
    count_ &= 7;
  }
  std::uint64_t bits() const { return bits_; }
  unsigned count() const { return count_; }

 private:
  std::size_t written() const { return static_cast<std::size_t>(place_ - out_.data()); }

  std::vector<std::byte>& out_;
  std::byte* place_;
  std::byte* end_;  // of the room
  std::uint64_t bits_;
  unsigned count_;
};

// The lengths of a block's codes as they stand in its header: runs of zeros and repetitions are
// shortened (RFC 1951, section 3.2.7).
class CodeLengths {
 public:
  CodeLengths(std::span<const PrefixCode> literals, std::span<const PrefixCode> distances) {
    literals_ = used(literals, 257);
    distances_ = used(distances, 1);
    std::array<std::uint8_t, 320> lengths{};
    for (std::size_t i = 0; i < literals_; ++i) {
      lengths[i] = literals[i].length;
    }
    for (std::size_t i = 0; i < distances_; ++i) {
      lengths[literals_ + i] = distances[i].length;
    }
    shorten({lengths.data(), literals_ + distances_});
    std::array<std::uint32_t, symbols> frequencies{};
    for (std::size_t i = 0; i < count_; ++i) {
      ++frequencies[items_[i].symbol];
    }
    make_prefix_codes(frequencies, 7, codes_);
  }

  void write(BitWriter& out) const {
    constexpr std::array<std::uint8_t, symbols> order{16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
    std::size_t sent = symbols;
    while (sent > 4 && codes_[order[sent - 1]].length == 0) {
      --sent;
    }
    out.put(literals_ - 257, 5);
    out.put(distances_ - 1, 5);
    out.put(sent - 4, 4);
    out.drain();
    for (std::size_t i = 0; i < sent; ++i) {
      out.put(codes_[order[i]].length, 3);
      out.drain();
    }
    for (std::size_t i = 0; i < count_; ++i) {
      const Item item = items_[i];
      out.put(codes_[item.symbol]);
      out.put(item.extra, item.symbol < 16 ? 0 : item.symbol == 16 ? 2 : item.symbol == 17 ? 3 : 7);
      out.drain();
    }
  }

 private:
  static constexpr std::size_t symbols = 19;
  struct Item {
    std::uint8_t symbol;
    std::uint8_t extra;
  };

  static std::size_t used(std::span<const PrefixCode> codes, std::size_t at_least) {
    std::size_t size = codes.size();
    while (size > at_least && codes[size - 1].length == 0) {
      --size;
    }
    return size;
  }

  void add(std::size_t symbol, std::size_t extra) {
    items_[count_++] = {static_cast<std::uint8_t>(symbol), static_cast<std::uint8_t>(extra)};
  }

  void shorten(std::span<const std::uint8_t> lengths) {
    for (std::size_t i = 0; i < lengths.size();) {
      const std::uint8_t length = lengths[i];
      std::size_t run = 1;
      while (i + run < lengths.size() && lengths[i + run] == length) {
        ++run;
      }
      i += run;
      if (length != 0) {
        add(length, 0);
        --run;
      }
      while (run >= 3) {
        const std::size_t part = std::min<std::size_t>(run, length != 0 ? 6 : 138);
        if (length != 0) {
          add(16, part - 3);
        } else if (part <= 10) {
          add(17, part - 3);
        } else {
          add(18, part - 11);
        }
        run -= part;
      }
      for (; run > 0; --run) {
        add(length, 0);
      }
    }
  }

  std::size_t literals_ = 0;
  std::size_t distances_ = 0;
  std::array<Item, 320> items_{};
  std::size_t count_ = 0;
  std::array<PrefixCode, symbols> codes_{};
};

// Bytes that `a` and `b` have in common, at most `most`; reads up to eight more.
std::size_t common_bytes(const std::byte* a, const std::byte* b, std::size_t most) {
  for (std::size_t length = 0; length < most; length += 8) {
    const std::uint64_t difference =
        load<std::uint64_t>(a + length) ^ load<std::uint64_t>(b + length);
    if (difference != 0) {
      return std::min(length + static_cast<std::size_t>(std::countr_zero(difference)) / 8, most);
    }
  }
  return most;
}

}  // namespace

Deflater::Deflater() : places_(std::size_t{1} << hash_bits) {
  sequences_.reserve(block_tokens / 8);
}

void Deflater::start(std::vector<std::byte>& out) {
  out_ = &out;
  // Deflate with a window of 32 KiB, fastest level.
  out.push_back(std::byte{0x78});
  out.push_back(std::byte{0x01});
  bits_ = 0;
  bit_count_ = 0;
  adler_low_ = 1;
  adler_high_ = 0;
}

// Literals go in front of the repetition that comes next.
inline void Deflater::literals(const std::byte* bytes, std::size_t count) {
  sequences_.push_back({bytes, static_cast<std::uint32_t>(count), 0, 0});
  for (std::size_t i = 0; i < count; ++i) {
    ++literal_frequency_[static_cast<std::size_t>(bytes[i])];
  }
  tokens_ += count;
}

inline void Deflater::match(std::size_t length, std::size_t distance) {
  while (length > 0) {
    std::size_t part = std::min(length, longest_match);
    if (length - part > 0 && length - part < shortest_match) {
      part -= shortest_match;
    }
    if (sequences_.back().length != 0) {
      sequences_.push_back({nullptr, 0, 0, 0});
    }
    sequences_.back().length = static_cast<std::uint16_t>(part);
    sequences_.back().distance = static_cast<std::uint16_t>(distance);
    ++literal_frequency_[length_symbol(static_cast<std::uint32_t>(part)).symbol];
    ++distance_frequency_[distance_symbol(static_cast<std::uint32_t>(distance)).symbol];
    ++tokens_;
    length -= part;
  }
}

void Deflater::end_of_plane() {
  if (tokens_ >= block_tokens) {
    write_block(false);
  }
}

void Deflater::add(const std::byte* plane, std::size_t size) {
  ensure(size > 0 && size <= longest_plane, "a plane that cannot be compressed");
  sum(plane, size);
  std::fill(places_.begin(), places_.end(), std::uint16_t{0});
  const auto place_of = [this](std::uint32_t four) -> std::uint16_t& {
    return places_[four * 0x9E3779B1U >> (32 - hash_bits)];
  };
  std::size_t done = 0;  // bytes of which there are sequences
  std::size_t at = 1;
  std::size_t repeated = 0;
  const std::size_t last = size - std::min<std::size_t>(size, 4);  // where four bytes are left
  while (at <= last) {
    const auto four = load<std::uint32_t>(plane + at);
    std::uint16_t& place = place_of(four);
    const std::size_t before = std::exchange(place, static_cast<std::uint16_t>(at));
    if (load<std::uint32_t>(plane + before) != four) {
      ++at;
      if (at == probe_bytes && repeated < probe_bytes / 4) {
        break;
      }
      continue;
    }
    const std::size_t length = common_bytes(plane + before, plane + at, size - at);
    literals(plane + done, at - done);
    match(length, at - before);
    repeated += length;
    at += length;
    done = at;
    // Where the repetition ended is where another may start.
    place_of(load<std::uint32_t>(plane + at - 2)) = static_cast<std::uint16_t>(at - 2);
  }
  if (done < size) {
    literals(plane + done, size - done);
  }
  end_of_plane();
}

void Deflater::add_same(std::byte value, std::size_t size) {
  const auto byte = static_cast<std::uint64_t>(value);
  add_sums(byte * size, byte * size * (size + 1) / 2, size);
  const std::byte* const place = &byte_values[static_cast<std::size_t>(value)];
  literals(place, 1);
  if (size > shortest_match) {
    match(size - 1, 1);
  } else {
    for (std::size_t i = 1; i < size; ++i) {
      literals(place, 1);
    }
  }
  end_of_plane();
}

void Deflater::finish() {
  write_block(true);
  if (bit_count_ > 0) {
    out_->push_back(static_cast<std::byte>(bits_));
  }
  for (const std::uint32_t half : {adler_high_, adler_low_}) {
    out_->push_back(static_cast<std::byte>(half >> 8));
    out_->push_back(static_cast<std::byte>(half & 0xFF));
  }
  out_ = nullptr;
}

void Deflater::write_block(bool last) {
  literal_frequency_[end_of_block] = 1;
  std::array<PrefixCode, literal_symbols> literals;
  std::array<PrefixCode, distance_symbols> distances;
  make_prefix_codes(literal_frequency_, 15, literals);
  make_prefix_codes(distance_frequency_, 15, distances);
  const CodeLengths header(literals, distances);

  // A length's code together with the bits behind it.
  std::array<std::uint32_t, longest_match + 1> length_bits{};
  std::array<std::uint8_t, longest_match + 1> length_count{};
  for (std::uint32_t length = shortest_match; length <= longest_match; ++length) {
    const Symbol symbol = length_symbol(length);
    const PrefixCode code = literals[symbol.symbol];
    length_bits[length] = code.bits | symbol.extra << code.length;
    length_count[length] = static_cast<std::uint8_t>(code.length + symbol.extra_bits);
  }

  constexpr std::size_t header_bytes = 576;  // at most 320 items of 14 bits
  constexpr std::size_t match_bytes = 6;     // at most 15 + 5 + 15 + 13 bits
  BitWriter out(*out_, bits_, bit_count_);
  out.make_room(header_bytes);
  out.put(last ? 1 : 0, 1);
  out.put(2, 2);  // codes of its own
  header.write(out);
  for (const Sequence& sequence : sequences_) {
    const std::byte* literal = sequence.literals;
    for (std::size_t left = sequence.literal_count; left > 0;) {
      const std::size_t piece = std::min(left, longest_piece);
      out.make_room(2 * piece);
      left -= piece;
      const std::byte* const end = literal + piece;
      for (; end - literal >= 3; literal += 3) {
        out.put(literals[static_cast<std::size_t>(literal[0])]);
        out.put(literals[static_cast<std::size_t>(literal[1])]);
        out.put(literals[static_cast<std::size_t>(literal[2])]);
        out.drain();
      }
      for (; literal != end; ++literal) {
        out.put(literals[static_cast<std::size_t>(*literal)]);
        out.drain();
      }
    }
    if (sequence.length != 0) {
      out.make_room(match_bytes);
      const Symbol symbol = distance_symbol(sequence.distance);
      out.put(length_bits[sequence.length], length_count[sequence.length]);
      out.put(distances[symbol.symbol]);
      out.put(symbol.extra, symbol.extra_bits);
      out.drain();
    }
  }
  out.make_room(match_bytes);
  out.put(literals[end_of_block]);
  out.drain();
  out.end();
  bits_ = out.bits();
  bit_count_ = out.count();

  sequences_.clear();
  tokens_ = 0;
  literal_frequency_.fill(0);
  distance_frequency_.fill(0);
}

// Adler-32 (RFC 1950, section 8) in closed form: the plain sum of the bytes, and the sum in which a
// byte counts as often as there are bytes from it to the end. Columns of 64 bytes are summed side
// by side, which the compiler turns into vector instructions.
void Deflater::sum(const std::byte* plane, std::size_t size) {
  constexpr std::size_t width = 64;
  std::array<std::uint32_t, width> columns{};
  std::array<std::uint32_t, width> prefixes{};  // of the sums of columns
  std::size_t at = 0;
  for (; at + width <= size; at += width) {
    for (std::size_t i = 0; i < width; ++i) {
      prefixes[i] += columns[i];
      columns[i] += static_cast<std::uint32_t>(plane[at + i]);
    }
  }
  std::uint64_t bytes = 0;
  std::uint64_t weighted = 0;
  for (std::size_t i = 0; i < width; ++i) {
    bytes += columns[i];
    weighted += std::uint64_t{width} * prefixes[i] + (width - i) * columns[i];
  }
  add_sums(bytes, weighted, at);
  for (; at < size; ++at) {
    const auto byte = static_cast<std::uint64_t>(plane[at]);
    add_sums(byte, byte, 1);
  }
}

void Deflater::add_sums(std::uint64_t bytes, std::uint64_t weighted, std::size_t size) {
  adler_high_ =
      static_cast<std::uint32_t>((adler_high_ + size * adler_low_ + weighted) % adler_modulus);
  adler_low_ = static_cast<std::uint32_t>((adler_low_ + bytes) % adler_modulus);
}

}  // namespace tessera::trace
