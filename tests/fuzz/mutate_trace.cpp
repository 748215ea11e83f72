#include "mutate_trace.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "../soak/mutate.hpp"
#include "tessera/core/digest.hpp"

namespace tessera::fuzz {
namespace {

// A part of the file that a sum follows.
struct Summed {
  std::size_t begin = 0;
  std::size_t size = 0;  // without the sum
  bool of_commit = false;
};

constexpr std::size_t sum_bytes = 4;
constexpr std::size_t largest_part = 2048;
constexpr std::size_t most_tables = 4;

std::uint32_t word_at(const std::uint8_t* place) {
  std::uint32_t word = 0;
  std::memcpy(&word, place, sizeof(word));
  return word;
}

// `hashlittle` of B. Jenkins' lookup3 (2006), from zero.
std::uint32_t lookup3(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t block = 12;
  const auto start = static_cast<std::uint32_t>(0xDEADBEEFU + bytes.size());
  std::uint32_t a = start;
  std::uint32_t b = start;
  std::uint32_t c = start;
  while (bytes.size() > block) {
    a += word_at(bytes.data());
    b += word_at(bytes.data() + 4);
    c += word_at(bytes.data() + 8);
    a = (a - c) ^ std::rotl(c, 4);
    c += b;
    b = (b - a) ^ std::rotl(a, 6);
    a += c;
    c = (c - b) ^ std::rotl(b, 8);
    b += a;
    a = (a - c) ^ std::rotl(c, 16);
    c += b;
    b = (b - a) ^ std::rotl(a, 19);
    a += c;
    c = (c - b) ^ std::rotl(b, 4);
    b += a;
    bytes = bytes.subspan(block);
  }
  if (bytes.empty()) {
    return c;
  }
  std::array<std::uint8_t, block> rest{};
  std::copy(bytes.begin(), bytes.end(), rest.begin());
  a += word_at(rest.data());
  b += word_at(rest.data() + 4);
  c += word_at(rest.data() + 8);
  c = (c ^ b) - std::rotl(b, 14);
  a = (a ^ c) - std::rotl(c, 11);
  b = (b ^ a) - std::rotl(a, 25);
  c = (c ^ b) - std::rotl(b, 16);
  a = (a ^ c) - std::rotl(c, 4);
  b = (b ^ a) - std::rotl(a, 14);
  return (c ^ b) - std::rotl(b, 24);
}

std::uint32_t sum_of(std::span<const std::uint8_t> bytes, const Summed& part) {
  const auto of = bytes.subspan(part.begin, part.size);
  return part.of_commit ? crc32c(of.data(), of.size()) : lookup3(of);
}

bool is_summed(std::span<const std::uint8_t> bytes, const Summed& part) {
  const std::size_t end = part.begin + part.size;
  return end + sum_bytes <= bytes.size() && sum_of(bytes, part) == word_at(bytes.data() + end);
}

// The size of a part is where its sum is right.
void add_metadata(std::span<const std::uint8_t> bytes, std::size_t begin,
                  std::vector<Summed>& parts) {
  const std::size_t most = std::min(largest_part, bytes.size() - begin);
  for (std::size_t size = 6; size < most; ++size) {
    if (is_summed(bytes, {begin, size, false})) {
      parts.push_back({begin, size, false});
      return;
    }
  }
}

void add_commit(std::span<const std::uint8_t> bytes, std::size_t begin,
                std::vector<Summed>& parts) {
  for (std::size_t tables = 1; tables <= most_tables; ++tables) {
    const Summed row{begin, 20 + 8 * tables, true};
    const std::size_t end = begin + row.size;
    // Not where all is zero.
    if (end + sum_bytes <= bytes.size() && word_at(bytes.data() + end) != 0 &&
        is_summed(bytes, row)) {
      parts.push_back(row);
      return;
    }
  }
}

// The signature of a part of metadata begins there.
bool is_metadata(std::string_view at) {
  constexpr std::array<std::string_view, 15> signatures{"\x89HDF", "OHDR", "OCHK", "FRHP", "FHDB",
                                                        "FHIB",    "BTHD", "BTIN", "BTLF", "EAHD",
                                                        "EAIB",    "EASB", "EADB", "FAHD", "FADB"};
  return std::string_view("\x89OFBE").find(at.front()) != std::string_view::npos &&
         std::find(signatures.begin(), signatures.end(), at) != signatures.end();
}

std::vector<Summed> parts_of(std::span<const std::uint8_t> bytes) {
  std::vector<Summed> parts;
  for (std::size_t begin = 0; begin + 8 < bytes.size(); ++begin) {
    if (bytes[begin] == 0 && begin % 8 != 0) {
      continue;
    }
    if (is_metadata({reinterpret_cast<const char*>(bytes.data()) + begin, 4})) {
      add_metadata(bytes, begin, parts);
    } else if (begin % 8 == 0) {
      add_commit(bytes, begin, parts);
    }
  }
  return parts;
}

}  // namespace

bool mutate_summed(std::span<std::uint8_t> bytes, bool only_commits, unsigned seed) {
  std::vector<Summed> parts = parts_of(bytes);
  if (only_commits) {
    std::erase_if(parts, [](const Summed& part) { return !part.of_commit; });
  }
  if (parts.empty()) {
    return false;
  }
  soak::Random random(seed);
  const Summed& part = parts[soak::pick(random, parts.size())];
  for (std::size_t left = 1 + soak::pick(random, 3); left > 0; --left) {
    std::uint8_t& byte = bytes[part.begin + soak::pick(random, part.size)];
    switch (soak::pick(random, 4)) {
      case 0:
        byte ^= static_cast<std::uint8_t>(1U << soak::pick(random, 8));
        break;
      case 1:
        byte = static_cast<std::uint8_t>(byte + 1);
        break;
      case 2:
        byte = soak::pick(random, 2) == 0 ? 0 : 0xFF;
        break;
      default:
        byte = static_cast<std::uint8_t>(soak::pick(random, 256));
        break;
    }
  }
  const std::uint32_t sum = sum_of(bytes, part);
  std::memcpy(bytes.data() + part.begin + part.size, &sum, sizeof(sum));
  return true;
}

}  // namespace tessera::fuzz
