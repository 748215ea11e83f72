// Algorithms and protocols as NCCL's tuning model has them.
#include "tessera/collective/library.hpp"

#include <gtest/gtest.h>

namespace tessera::collective::library_test {
namespace {

// Of a ring whose links pass so many GB/s.
SimTime on_links(Kind kind, std::uint32_t ranks, std::uint64_t bytes, double bandwidth) {
  const double rounds = kind == Kind::all_reduce ? 2 : 1;
  const double passed = rounds * (ranks - 1) / ranks * static_cast<double>(bytes);
  return SimTime::from_ps(static_cast<std::int64_t>(passed / bandwidth * 1e3));
}

LibraryChoice choice(Kind kind, const LibraryGroup& group, std::uint64_t bytes, double bandwidth) {
  return choose(kind, group, Bytes(bytes), on_links(kind, group.ranks, bytes, bandwidth));
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
  EXPECT_NEAR(static_cast<double>(small.time.ps()), (3.6 + 14 * 0.47) * 1e6 + 1.68e8 / 60, 2);
  // LL128 between: 10 + 14 * 1.9 us, and 0.92 of it.
  const LibraryChoice middle = choice(Kind::all_reduce, server, 3'000'000, 240);
  EXPECT_EQ(middle.protocol, LibraryProtocol::ll128);
  EXPECT_NEAR(static_cast<double>(middle.time.ps()), (10 + 14 * 1.9) * 1e6 + 5.25e9 / 240 / 0.92,
              2);
}

// All-gathers have half the steps, and no trees.
TEST(Library, GathersGoAroundOnce) {
  const LibraryChoice gather = choice(Kind::all_gather, {8, 1}, 1'000'000'000, 240);
  EXPECT_NEAR(static_cast<double>(gather.time.ps()), (8.4 + 7 * 3.4) * 1e6 + 0.875e12 / 240, 2);
  for (std::uint64_t bytes = 64; bytes < 1U << 30U; bytes *= 4) {
    EXPECT_EQ(choice(Kind::all_gather, {512, 64}, bytes, 20).algorithm, LibraryAlgorithm::ring);
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
