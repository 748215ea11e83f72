#include "tessera/core/record_digest.hpp"

#include <cstring>

namespace tessera {
namespace {

using Words = RecordDigest::Words;
using Fields = std::array<Words, RecordDigest::fields>;

Digest one_by_one(const Fields& of, std::size_t records) {
  Digest sum;
  for (std::size_t at = 0; at < records; ++at) {
    sum.add(
        {of[0][at], of[1][at], of[2][at], of[3][at], of[4][at], of[5][at], of[6][at], of[7][at]});
  }
  return sum;
}

#if defined(__x86_64__) && defined(__GNUC__)
// A word of each of eight records. Four of these are on their way at a time, as a product of words
// takes some fifteen cycles, of which it keeps the processor's unit busy for three.
using Lanes = std::uint64_t __attribute__((vector_size(64)));
constexpr std::size_t lanes = sizeof(Lanes) / sizeof(std::uint64_t);
constexpr std::size_t strands = RecordDigest::side_by_side / lanes;

// As mix64.
__attribute__((target("avx512f,avx512dq"))) inline void mix_lanes(Lanes& x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33;
}

// Of as many records as there is room for. Each field enters as Digest::with says.
__attribute__((target("avx512f,avx512dq"))) Digest side_by_side(const Fields& of) {
  std::array<Lanes, strands> high;
  std::array<Lanes, strands> low;
  high.fill(Lanes{} + Digest::of_no_fields().high());
  low.fill(Lanes{} + Digest::of_no_fields().low());
  for (const Words& words : of) {
#pragma GCC unroll 4
    for (std::size_t strand = 0; strand < strands; ++strand) {
      Lanes field;
      std::memcpy(&field, &words[strand * lanes], sizeof(field));
      high[strand] ^= field;
      low[strand] += field * Digest::low_factor;
      mix_lanes(high[strand]);
      mix_lanes(low[strand]);
    }
  }
  Words highs;
  Words lows;
  std::memcpy(highs.data(), high.data(), sizeof(high));
  std::memcpy(lows.data(), low.data(), sizeof(low));
  Digest sum;
  for (std::size_t record = 0; record < highs.size(); ++record) {
    sum.merge(Digest(highs[record], lows[record]));
  }
  return sum;
}

Digest sum_of(const Fields& of, std::size_t records) {
  static const bool is_wide =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
  return is_wide && records == RecordDigest::side_by_side ? side_by_side(of)
                                                          : one_by_one(of, records);
}
#else
Digest sum_of(const Fields& of, std::size_t records) {
  return one_by_one(of, records);
}
#endif

}  // namespace

void RecordDigest::take_waiting() {
  taken_.merge(sum_of(waiting_, count_));
  count_ = 0;
}

Digest RecordDigest::sum() const {
  Digest all = taken_;
  all.merge(sum_of(waiting_, count_));
  return all;
}

}  // namespace tessera
