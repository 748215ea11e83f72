// Algorithms and protocols as NCCL's tuning model has them.
#include "tessera/collective/library.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera::collective::library_test {
namespace {

constexpr LibrarySettings ampere{Library::nccl, LibraryDevice::ampere, false};
constexpr LibrarySettings hopper{Library::nccl, LibraryDevice::hopper, false};
constexpr LibrarySettings with_nvls{Library::nccl, LibraryDevice::hopper, true};

SimTime time_of(double bytes, double bandwidth) {
  return SimTime::from_ps(static_cast<std::int64_t>(bytes / bandwidth * 1e3));
}

double microseconds(SimTime time) {
  return static_cast<double>(time.ps()) * 1e-6;
}

// Over links in servers that pass so many GB/s, and as many or others out of each.
LibraryChoice choice(const LibrarySettings& settings, Kind kind, const LibraryGroup& group,
                     std::uint64_t bytes, double inside, double between) {
  const double slowest = group.servers == 1             ? inside
                         : group.servers == group.ranks ? between
                                                        : std::min(inside, between);
  const auto size = static_cast<double>(bytes);
  const double rounds = kind == Kind::all_reduce ? 2 : 1;
  const LibraryLinks links{time_of(rounds * (group.ranks - 1) / group.ranks * size, slowest),
                           group.servers < group.ranks ? time_of(size, inside) : SimTime(),
                           group.servers > 1 ? time_of(size, between) : SimTime()};
  return choose(settings, kind, group, Bytes(bytes), links);
}

LibraryChoice choice(Kind kind, const LibraryGroup& group, std::uint64_t bytes, double bandwidth) {
  return choice(ampere, kind, group, bytes, bandwidth, bandwidth);
}

// By hand, eight ranks of a server and 240 GB/s.
TEST(Library, TimesAreThoseOfTheModel) {
  const LibraryGroup server{8, 1};
  // Simple: 8.4 + 14 * 3.4 us, and 2 * 7 / 8 of a GB by 240 GB/s.
  const LibraryChoice large = choice(Kind::all_reduce, server, 1'000'000'000, 240);
  EXPECT_EQ(large.algorithm, LibraryAlgorithm::ring);
  EXPECT_EQ(large.protocol, LibraryProtocol::simple);
  EXPECT_NEAR(static_cast<double>(large.time.ps()), (8.4 + 14 * 3.4) * 1e6 + 1.75e12 / 240, 2);
  // LL: 3.6 + 14 * 0.47 us, and a quarter of the bandwidth.
  const LibraryChoice small = choice(Kind::all_reduce, server, 96'000, 240);
  EXPECT_EQ(small.algorithm, LibraryAlgorithm::ring);
  EXPECT_EQ(small.protocol, LibraryProtocol::ll);
  EXPECT_NEAR(static_cast<double>(small.time.ps()), (3.6 + 14 * 0.47) * 1e6 + 1.68e8 / 60, 6);
  // LL128 between: 10 + 14 * 1.9 us, and 0.92 of it.
  const LibraryChoice middle = choice(Kind::all_reduce, server, 3'000'000, 240);
  EXPECT_EQ(middle.protocol, LibraryProtocol::ll128);
  EXPECT_NEAR(static_cast<double>(middle.time.ps()), (10 + 14 * 1.9) * 1e6 + 5.25e9 / 240 / 0.92,
              3);
}

// All-gathers have half the steps, and no trees.
TEST(Library, GathersGoAroundOnce) {
  const LibraryChoice gather = choice(Kind::all_gather, {8, 1}, 1'000'000'000, 240);
  EXPECT_NEAR(static_cast<double>(gather.time.ps()), (8.4 + 7 * 3.4) * 1e6 + 0.875e12 / 240, 2);
  for (std::uint64_t bytes = 64; bytes < 1U << 30U; bytes *= 4) {
    EXPECT_EQ(choice(Kind::all_gather, {512, 64}, bytes, 20).algorithm, LibraryAlgorithm::ring);
    EXPECT_EQ(choice(with_nvls, Kind::all_gather, {512, 64}, bytes, 360, 20).algorithm,
              LibraryAlgorithm::ring);
  }
}

// Over many servers the latency of a ring grows with their number, a tree's with its logarithm.
TEST(Library, ManyServersReduceOverTrees) {
  const LibraryGroup many{1024, 128};
  const LibraryChoice small = choice(Kind::all_reduce, many, 100'000, 160);
  EXPECT_EQ(small.algorithm, LibraryAlgorithm::tree);
  EXPECT_LT(small.time, SimTime::from_ps(200'000'000));
  // One all-reduce of 16 GB is a matter of bandwidth: a ring's, which a tree has 80 GB/s of.
  const LibraryChoice large = choice(Kind::all_reduce, many, 16'000'000'000, 160);
  EXPECT_EQ(large.algorithm, LibraryAlgorithm::ring);
  EXPECT_EQ(large.protocol, LibraryProtocol::simple);
  // 8.4 us, 2 * (1023 - 127) steps in servers and 2 * 127 between them, 1.9 times at the plateau.
  const double latency = 1.9 * (8.4 + 2 * (1023 - 127) * 3.4 + 2 * 127 * 9.6);
  const double moved = 2.0 * 1023 / 1024 * 16e9 / 160 * 1e-3;
  EXPECT_NEAR(static_cast<double>(large.time.ps()), (latency + moved) * 1e6, 1e4);
}

// NVIDIA/nccl, issue 1455: 365 to 370 GB/s with a ring of 2 to 8 H100, and 370 to 480 with NVLS of
// 4 to 8 ("bus bandwidth").
TEST(Library, SwitchesThatAddUpAreAsFastAsMeasured) {
  constexpr std::uint64_t bytes = 4ULL << 30U;
  const double measured[] = {370, 420, 440, 460, 480};
  for (std::uint32_t ranks = 4; ranks <= 8; ++ranks) {
    const double passed = 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes) * 1e-3;
    const LibraryChoice ring = choice(hopper, Kind::all_reduce, {ranks, 1}, bytes, 367, 0);
    EXPECT_NEAR(passed / microseconds(ring.time), 367, 3) << ranks;
    const LibraryChoice switched = choice(with_nvls, Kind::all_reduce, {ranks, 1}, bytes, 367, 0);
    EXPECT_EQ(switched.algorithm, LibraryAlgorithm::nvls);
    const double found = passed / microseconds(switched.time);
    EXPECT_NEAR(found / measured[ranks - 4], 1, 0.02) << ranks;
  }
  // 25 us, and 9/8 of a GB at 85 % of 360 GB/s.
  const LibraryChoice eight = choice(with_nvls, Kind::all_reduce, {8, 1}, 1'000'000'000, 360, 0);
  EXPECT_NEAR(microseconds(eight.time), 25 + 1.125e6 / 0.85 / 360, 0.01);
  EXPECT_EQ(choice(with_nvls, Kind::all_reduce, {2, 1}, bytes, 367, 0).algorithm,
            LibraryAlgorithm::ring);
  LibrarySettings no_such_switch = ampere;
  no_such_switch.nvls = true;
  EXPECT_NE(choice(no_such_switch, Kind::all_reduce, {8, 1}, bytes, 367, 0).algorithm,
            LibraryAlgorithm::nvls);
}

// A tree of switches takes its latency in place of a ring's, and a server of two sends the vector
// once.
TEST(Library, TreesOfSwitchesReachTheNetwork) {
  const LibraryChoice pair = choice(with_nvls, Kind::all_reduce, {16, 2}, 1'000'000'000, 360, 360);
  EXPECT_EQ(pair.algorithm, LibraryAlgorithm::nvls_tree);
  EXPECT_NEAR(microseconds(pair.time), 25 + 2 * 14 + 1.125e6 / 0.85 / 360, 0.01);
  const LibraryChoice many = choice(with_nvls, Kind::all_reduce, {512, 64}, 200'000'000, 360, 280);
  EXPECT_EQ(many.algorithm, LibraryAlgorithm::nvls_tree);
  EXPECT_NEAR(microseconds(many.time), 25 + 2 * 6 * 14 + 2 * 2e5 / 280, 0.01);
  EXPECT_NE(choice(with_nvls, Kind::all_reduce, {64, 64}, 200'000'000, 360, 35).algorithm,
            LibraryAlgorithm::nvls_tree);
}

// Of NVIDIA's own table for Hopper: no limit of 80 GB/s of trees.
TEST(Library, HopperIsNotHeldToWhatAmpereReaches) {
  const LibraryGroup many{512, 64};
  const LibraryChoice limited = choice(ampere, Kind::all_reduce, many, 50'000'000, 360, 280);
  const LibraryChoice free = choice(hopper, Kind::all_reduce, many, 50'000'000, 360, 280);
  EXPECT_EQ(free.algorithm, LibraryAlgorithm::tree);
  EXPECT_LT(free.time, limited.time);
  // LL128: 14 us, 2 * (7 * 1.25 + 6 * 8.5) between, and 2 * 50 MB at 0.92 * 120 / 128 * 0.9 of 280
  // GB/s.
  EXPECT_NEAR(microseconds(free.time),
              14 + 2 * (7 * 1.25 + 6 * 8.5) + 1e5 / 280 / 0.92 * 128 / 120 / 0.9, 0.01);
  // LL over servers passes 20.4 GB/s at most, a step takes the host 1 us, or the network 2.7.
  const LibraryChoice small = choice(hopper, Kind::all_gather, many, 100'000, 360, 280);
  EXPECT_NEAR(microseconds(small.time),
              6.6 + (511 - 63) * 1.0 + 63 * 2.7 + 511.0 / 512 * 1e2 / 20.4, 0.01);
}

// What bytes take on the links is the least, whatever is chosen.
TEST(Library, NothingIsFasterThanItsBytesOnTheLinks) {
  for (const LibrarySettings& settings : {ampere, hopper, with_nvls}) {
    for (const LibraryGroup& group : {LibraryGroup{8, 1}, LibraryGroup{16, 2}, LibraryGroup{24, 3},
                                      LibraryGroup{512, 64}, LibraryGroup{64, 64}}) {
      for (std::uint64_t bytes = 1000; bytes < 1ULL << 36U; bytes *= 7) {
        const double size = static_cast<double>(bytes) * 1e-3;
        // All that a server must send at least, of what all together add up.
        const double least = group.servers == 1
                                 ? size / 360
                                 : 2.0 * (group.servers - 1) / group.servers * size / 100;
        EXPECT_GE(microseconds(choice(settings, Kind::all_reduce, group, bytes, 360, 100).time) *
                      1.000001,
                  least);
      }
    }
  }
}

// More bytes never take less time where one algorithm and protocol is kept, and at most a little
// where they change.
TEST(Library, TimesGrowWithBytes) {
  for (const LibraryGroup& group : {LibraryGroup{2, 1}, LibraryGroup{8, 1}, LibraryGroup{16, 2},
                                    LibraryGroup{64, 8}, LibraryGroup{64, 64}}) {
    SimTime before;
    for (std::uint64_t bytes = 1024; bytes < 1U << 30U; bytes += bytes / 8) {
      const SimTime now = choice(Kind::all_reduce, group, bytes, 100).time;
      EXPECT_GT(static_cast<double>(now.ps()), 0.75 * static_cast<double>(before.ps())) << bytes;
      before = now;
    }
  }
}

TEST(Library, KnowsThreeKinds) {
  EXPECT_TRUE(models(Library::nccl, Kind::all_reduce));
  EXPECT_TRUE(models(Library::nccl, Kind::reduce_scatter));
  EXPECT_FALSE(models(Library::nccl, Kind::all_to_all));
  EXPECT_FALSE(models(Library::none, Kind::all_reduce));
}

}  // namespace
}  // namespace tessera::collective::library_test
