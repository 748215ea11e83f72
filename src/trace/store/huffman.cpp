#include "store/huffman.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "tessera/core/error.hpp"

namespace tessera::trace {
namespace {

constexpr std::size_t most_symbols = 288;
constexpr std::size_t most_bits = 15;

using LengthCounts = std::array<std::uint32_t, most_symbols>;

// How many leaves of Huffman's tree have which depth; `weights` ascend.
LengthCounts depths_of(std::span<const std::uint32_t> weights) {
  const std::size_t leaves = weights.size();
  std::array<std::uint32_t, 2 * most_symbols> weight{};
  std::array<std::uint16_t, 2 * most_symbols> parent{};
  std::copy(weights.begin(), weights.end(), weight.begin());
  // Inner nodes are made in ascending order, too, so the two lightest nodes are at the head of one
  // of two queues: leaves, and inner nodes.
  std::size_t leaf = 0;
  std::size_t inner = leaves;
  for (std::size_t node = leaves; node < 2 * leaves - 1; ++node) {
    for (int child = 0; child < 2; ++child) {
      const bool takes_leaf = leaf < leaves && (inner == node || weight[leaf] <= weight[inner]);
      const std::size_t lightest = takes_leaf ? leaf++ : inner++;
      weight[node] += weight[lightest];
      parent[lightest] = static_cast<std::uint16_t>(node);
    }
  }
  LengthCounts counts{};
  std::array<std::uint16_t, 2 * most_symbols> depth{};
  for (std::size_t node = 2 * leaves - 2; node-- > 0;) {
    depth[node] = static_cast<std::uint16_t>(depth[parent[node]] + 1);
    if (node < leaves) {
      ++counts[depth[node]];
    }
  }
  return counts;
}

// Makes the counts a full code of at most `longest` bits.
void limit(LengthCounts& counts, unsigned longest) {
  for (std::size_t length = longest + 1; length < counts.size(); ++length) {
    counts[longest] += counts[length];
    counts[length] = 0;
  }
  // Room taken, in units of one code of `longest` bits.
  std::uint32_t taken = 0;
  for (unsigned length = 1; length <= longest; ++length) {
    taken += counts[length] << (longest - length);
  }
  for (; taken > (1U << longest); --taken) {
    // A leaf moves down beside one of the longest codes: that frees one of them.
    unsigned length = longest - 1;
    while (counts[length] == 0) {
      --length;
    }
    --counts[length];
    counts[length + 1] += 2;
    --counts[longest];
  }
}

std::uint16_t reversed(std::uint32_t code, unsigned length) {
  std::uint32_t result = 0;
  for (unsigned bit = 0; bit < length; ++bit) {
    result = result << 1 | (code >> bit & 1);
  }
  return static_cast<std::uint16_t>(result);
}

}  // namespace

void make_prefix_codes(std::span<const std::uint32_t> frequencies, unsigned longest,
                       std::span<PrefixCode> codes) {
  ensure(frequencies.size() >= 2 && frequencies.size() <= most_symbols && longest <= most_bits &&
             codes.size() == frequencies.size(),
         "a prefix code that deflate does not have");
  struct Used {
    std::uint32_t frequency;
    std::uint32_t symbol;
  };
  std::array<Used, most_symbols> used;
  std::size_t count = 0;
  for (std::uint32_t symbol = 0; symbol < frequencies.size(); ++symbol) {
    if (frequencies[symbol] > 0) {
      used[count++] = {frequencies[symbol], symbol};
    }
  }
  for (std::uint32_t symbol = 0; count < 2; ++symbol) {
    if (frequencies[symbol] == 0) {
      used[count++] = {1, symbol};
    }
  }
  std::sort(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(count),
            [](const Used& a, const Used& b) {
              return a.frequency != b.frequency ? a.frequency < b.frequency : a.symbol < b.symbol;
            });
  std::array<std::uint32_t, most_symbols> weights;
  std::transform(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(count), weights.begin(),
                 [](const Used& entry) { return entry.frequency; });
  LengthCounts counts = depths_of({weights.data(), count});
  limit(counts, longest);

  std::fill(codes.begin(), codes.end(), PrefixCode{});
  std::size_t next = 0;
  for (unsigned length = longest; length > 0; --length) {
    for (std::uint32_t i = 0; i < counts[length]; ++i) {
      codes[used[next++].symbol].length = static_cast<std::uint8_t>(length);
    }
  }
  // Codes of one length follow each other in the order of the symbols, shorter ones first.
  std::array<std::uint32_t, most_bits + 1> first{};
  for (unsigned length = 1; length < longest; ++length) {
    first[length + 1] = (first[length] + counts[length]) << 1;
  }
  for (PrefixCode& code : codes) {
    if (code.length > 0) {
      code.bits = reversed(first[code.length]++, code.length);
    }
  }
}

}  // namespace tessera::trace
