#include "tessera/memory/dram/address.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <vector>

#include "tessera/core/random.hpp"

namespace tessera::memory::dram_address_test {
namespace {

DramSpec small() {
  DramSpec spec;
  spec.organization = {4, 2, 2, 2, 2, 8, 4, Bytes(64)};
  spec.controller.mapping = {DramField::row,   DramField::bank,   DramField::rank,
                             DramField::group, DramField::pseudo, DramField::channel,
                             DramField::column};
  return spec;
}

// Number `index` of those of a channel.
std::uint64_t burst_of_channel(const DramAddressMap& map, std::uint32_t channel,
                               std::uint64_t index) {
  DramPlace place = map.place_in_channel(index);
  place.channel = channel;
  return map.burst_at(place);
}

// Every burst has a place of its own, with and without a hash.
TEST(DramAddress, IsOneToOne) {
  for (const bool hash : {false, true}) {
    DramSpec spec = small();
    spec.controller.hash_channels = hash;
    const DramAddressMap map(spec);
    const std::uint64_t bursts =
        spec.organization.capacity().count() / spec.organization.burst.count();
    ASSERT_EQ(bursts, 4U * 2 * 2 * 2 * 2 * 8 * 4);
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> seen;
    for (std::uint64_t burst = 0; burst < bursts; ++burst) {
      const DramPlace place = map.place(burst);
      EXPECT_LT(place.channel, 4U);
      EXPECT_LT(place.bank, 16U);
      EXPECT_LT(place.row, 8U);
      EXPECT_LT(place.column, 4U);
      seen.insert({place.channel, place.bank, place.row, place.column});
      EXPECT_EQ(map.burst_at(place), burst);
    }
    EXPECT_EQ(seen.size(), bursts);
  }
}

// Every part of the address space, channel by channel, holds each of its bursts once and in order.
TEST(DramAddress, ChannelsShareOutEveryPart) {
  RandomStream random(1, EntityId(0), 0);
  for (const bool hash : {false, true}) {
    DramSpec spec = small();
    spec.controller.hash_channels = hash;
    const DramAddressMap map(spec);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t first = random.next_below(1'800);  // of 2048 bursts in all
      const std::uint64_t last = first + random.next_below(i % 2 == 0 ? 4 : 200);
      std::set<std::uint64_t> seen;
      map.for_each_channel(
          first, last, [&](std::uint32_t channel, std::uint64_t index, std::uint32_t count) {
            for (std::uint64_t k = index; k < index + count; ++k) {
              const std::uint64_t burst = burst_of_channel(map, channel, k);
              EXPECT_EQ(map.place(burst).channel, channel);
              EXPECT_EQ(map.place(burst).row, map.place_in_channel(k).row);
              EXPECT_EQ(map.place(burst).bank, map.place_in_channel(k).bank);
              EXPECT_TRUE(k == index || burst > burst_of_channel(map, channel, k - 1));
              seen.insert(burst);
            }
          });
      EXPECT_EQ(seen.size(), last - first + 1);
      EXPECT_EQ(*seen.begin(), first);
      EXPECT_EQ(*seen.rbegin(), last);
    }
  }
}

TEST(DramAddress, FollowsTheMapping) {
  const DramAddressMap map(small());
  EXPECT_EQ(map.place(1).column, 1U);
  EXPECT_EQ(map.place(4).channel, 1U);
  EXPECT_EQ(map.place(16).bank, 8U);   // pseudo-channel 1
  EXPECT_EQ(map.place(32).bank, 2U);   // group 1
  EXPECT_EQ(map.place(64).bank, 4U);   // rank 1
  EXPECT_EQ(map.place(128).bank, 1U);  // bank 1
  EXPECT_EQ(map.place(256).row, 1U);
  EXPECT_EQ(map.place(2048).row, 0U);  // beyond the capacity: from the start again
}

TEST(DramAddress, PresetsMapEveryField) {
  for (const std::string& name : dram_presets().names()) {
    const DramSpec spec = dram_presets().at(name)();
    const DramAddressMap map(spec);
    RandomStream random(1, EntityId(0), 0);
    const std::uint64_t bursts =
        spec.organization.capacity().count() / spec.organization.burst.count();
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t burst = random.next_below(bursts);
      EXPECT_EQ(map.burst_at(map.place(burst)), burst) << name;
    }
  }
}

// x^3 + x + 1 divides x^7 + 1: the remainders of powers of x repeat after seven.
TEST(Ipoly, IsTheRemainderOfAPolynomial) {
  const std::vector<std::uint32_t> powers{1, 2, 4, 3, 6, 7, 5, 1, 2};
  for (unsigned i = 0; i < powers.size(); ++i) {
    EXPECT_EQ(ipoly_hash(std::uint64_t{1} << i, 8), powers[i]) << i;
  }
  EXPECT_EQ(ipoly_hash(0b1011, 8), 0U);
  EXPECT_EQ(ipoly_hash(0b1011 ^ 0b10000, 8), powers[4]);
  EXPECT_EQ(ipoly_hash(123456, 1), 0U);
}

// Strides that are powers of two meet one channel without the hash, and all alike with it.
TEST(Ipoly, SpreadsStrides) {
  for (std::uint64_t stride = 1; stride <= 4096; stride *= 2) {
    std::vector<int> hits(16, 0);
    for (std::uint64_t i = 0; i < 1024; ++i) {
      ++hits[ipoly_hash(i * stride, 16)];
    }
    for (const int count : hits) {
      EXPECT_EQ(count, 64) << stride;
    }
  }
}

}  // namespace
}  // namespace tessera::memory::dram_address_test
