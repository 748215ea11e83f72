// Channels that sources share evenly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness.hpp"
#include "tessera/pdes/fair_queue.hpp"

namespace tessera::memory::fair_test {
namespace {

using pdes::FairQueue;
using testing::Access;
using testing::described;
using testing::Described;
using testing::Done;
using ::testing::ElementsAre;
using testing::Outcome;
using testing::run;

std::vector<int> all_of(FairQueue<int>& queue) {
  std::vector<int> order;
  while (const auto next = queue.next()) {
    order.push_back(*next);
  }
  return order;
}

TEST(FairQueue, GivesSourcesEvenPartsOfTheBytes) {
  FairQueue<int> queue;
  for (int i = 0; i < 3; ++i) {
    queue.add(7, 100, i);
  }
  for (int i = 10; i < 16; ++i) {
    queue.add(8, 50, i);
  }
  // Start tags 0, 100, 200 and 0, 50, …, 250; the lower number first where they are the same.
  EXPECT_THAT(all_of(queue), ElementsAre(0, 10, 11, 1, 12, 13, 2, 14, 15));
}

// Who comes late begins at the virtual time and does not make up for what it did not ask for.
TEST(FairQueue, BeginsAtTheVirtualTime) {
  FairQueue<int> queue;
  for (int i = 0; i < 4; ++i) {
    queue.add(1, 100, i);
  }
  EXPECT_EQ(queue.next(), 0);
  EXPECT_EQ(queue.next(), 1);
  EXPECT_EQ(queue.next(), 2);  // at 200
  queue.add(2, 100, 10);
  queue.add(2, 100, 11);
  EXPECT_THAT(all_of(queue), ElementsAre(10, 3, 11));
}

TEST(FairQueue, IsTheSameAfterACheckpoint) {
  FairQueue<int> queue;
  queue.add(1, 100, 0);
  queue.add(1, 100, 1);
  queue.add(2, 30, 2);
  EXPECT_EQ(queue.next(), 0);
  pdes::StateWriter writer;
  queue.save(writer);
  FairQueue<int> other;
  pdes::StateReader reader(writer.bytes());
  other.restore(reader);
  EXPECT_TRUE(reader.at_end());
  for (FairQueue<int>* const one : {&queue, &other}) {
    one->add(2, 30, 3);
    EXPECT_THAT(all_of(*one), ElementsAre(2, 3, 1));
  }
}

// A channel of 100 GB/s with a tile at each side, over links as fast, which answers 2 us later.
Described three(const std::string& arbitration) {
  return described(
      "topology: {kind: mesh, rows: 1, columns: 3, bandwidth: 100 GB/s, latency: 10 ns}\n"
      "dram: {at: nodes, nodes: [1], bandwidth: 100 GB/s, latency: 2 us}\n"
      "network: {model: analytical, ports: shared}\n"
      "memory: {model: channel, arbitration: " +
      arbitration + "}\n");
}

double us_of_the_small(const std::string& arbitration) {
  // 16 bursts each: of 2.06 MB, which take 20.6 us, and of 125 kB.
  const std::vector<Access> accesses{{0, 0, 33'000'000, true, 1},
                                     {22'000'000, 2, 2'000'000, true, 2}};
  const Outcome outcome = run(three(arbitration), accesses);
  EXPECT_EQ(outcome.done.size(), 2U);
  EXPECT_EQ(outcome.totals.at(0).written, 35'000'000U);
  for (const Done& done : outcome.done) {
    if (done.tag == 2) {
      return static_cast<double>(done.at_ps - 22'000'000) * 1e-6;
    }
  }
  return 0;
}

// 2 MB beside 33 MB: its fair share is 20 us of its own and as much of the other's, and the answer.
// First come, first served, its last burst waits for one more of the other's.
TEST(FairChannel, GivesASmallAccessItsShare) {
  EXPECT_NEAR(us_of_the_small("first-come"), 62, 1);
  EXPECT_LT(us_of_the_small("fair"), 42);
  EXPECT_GT(us_of_the_small("fair"), 22);  // by itself
}

// What one tile asks for is as before, and so is all that the channel does.
TEST(FairChannel, IsTheSameForOneTile) {
  for (const bool write : {false, true}) {
    const std::vector<Access> accesses{{0, 0, 3'000'000, write, 1},
                                       {1'000'000, 0, 70'000, !write, 2}};
    const Outcome one = run(three("first-come"), accesses);
    const Outcome other = run(three("fair"), accesses);
    EXPECT_EQ(one.done, other.done);
    EXPECT_EQ(one.totals, other.totals);
  }
}

}  // namespace
}  // namespace tessera::memory::fair_test
