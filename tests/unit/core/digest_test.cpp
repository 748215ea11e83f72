#include "tessera/core/digest.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "tessera/core/record_digest.hpp"

namespace tessera::digest_test {
namespace {

Digest digest_of(std::initializer_list<std::uint64_t> fields) {
  Digest digest;
  digest.add(fields);
  return digest;
}

TEST(Digest, DoesNotDependOnTheOrderOfRecords) {
  Digest forward;
  Digest backward;
  for (std::uint64_t i = 0; i < 100; ++i) {
    forward.add({i, i * i});
    backward.add({99 - i, (99 - i) * (99 - i)});
  }
  EXPECT_EQ(forward, backward);
}

TEST(Digest, RanksMergeInAnyOrder) {
  Digest whole;
  Digest even;
  Digest odd;
  for (std::uint64_t i = 0; i < 100; ++i) {
    whole.add({i});
    (i % 2 == 0 ? even : odd).add({i});
  }
  Digest left = even;
  left.merge(odd);
  Digest right = odd;
  right.merge(even);
  EXPECT_EQ(left, whole);
  EXPECT_EQ(right, whole);
}

TEST(Digest, TellsRecordsFieldsAndMultiplicityApart) {
  EXPECT_NE(digest_of({1, 2}), digest_of({2, 1}));
  EXPECT_NE(digest_of({1}), digest_of({1, 0}));
  EXPECT_NE(digest_of({0}), Digest());
  Digest twice = digest_of({1});
  twice.add({1});
  EXPECT_NE(twice, digest_of({1})) << "a record handled twice must show";
  EXPECT_NE(twice, Digest()) << "nor may two equal records cancel";
}

TEST(Digest, CarriesFromTheLowToTheHighHalf) {
  Digest digest(1, std::numeric_limits<std::uint64_t>::max());
  digest.merge(Digest(2, 1));
  EXPECT_EQ(digest, Digest(4, 0));
  Digest both(0, std::numeric_limits<std::uint64_t>::max());
  both.merge(Digest(0, std::numeric_limits<std::uint64_t>::max()));
  EXPECT_EQ(both, Digest(1, std::numeric_limits<std::uint64_t>::max() - 1));
}

TEST(Digest, TextHasThirtyTwoDigits) {
  EXPECT_EQ(Digest(0x1, 0xabcdef).to_string(), "00000000000000010000000000abcdef");
}

// fmix64 is a bijection with these images in the reference implementation of MurmurHash3.
TEST(Mix64, KnownAnswers) {
  EXPECT_EQ(mix64(0), 0U);
  EXPECT_EQ(mix64(1), 0xb456bcfc34c2cb2cULL);
}

TEST(Crc32c, KnownAnswers) {
  const std::string digits = "123456789";
  EXPECT_EQ(crc32c(digits.data(), digits.size()), 0xe3069283U);
  EXPECT_EQ(crc32c(nullptr, 0), 0U);
  // RFC 3720, appendix B.4: 32 bytes of zeros, of ones, and ascending.
  EXPECT_EQ(crc32c(std::string(32, '\0').data(), 32), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff').data(), 32), 0x62a8ab43U);
  std::string ascending;
  for (char c = 0; c < 32; ++c) {
    ascending += c;
  }
  EXPECT_EQ(crc32c(ascending.data(), ascending.size()), 0x46dd794eU);
}

TEST(Crc32c, ContinuesFromASeedAtEverySplit) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  const std::uint32_t whole = crc32c(text.data(), text.size());
  for (std::size_t split = 0; split <= text.size(); ++split) {
    const std::uint32_t first = crc32c(text.data(), split);
    EXPECT_EQ(crc32c(text.data() + split, text.size() - split, first), whole) << split;
  }
}

TEST(RecordDigest, IsThatOfItsRecordsOneByOne) {
  Digest alone;
  RecordDigest together;
  std::uint64_t word = 1;
  const auto next = [&word] { return word = mix64(word); };
  for (int records = 0; records < 200; ++records) {
    EXPECT_EQ(together.sum(), alone) << records;
    const std::array<std::uint64_t, RecordDigest::fields> record{2,      next(), next(), 0,
                                                                 next(), next(), next(), next()};
    alone.add(
        {record[0], record[1], record[2], record[3], record[4], record[5], record[6], record[7]});
    together.add(record);
  }
}

}  // namespace
}  // namespace tessera::digest_test
