#include "tessera/pdes/pending_crossings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/core/random.hpp"
#include "tessera/pdes/outlook.hpp"

namespace tessera::pdes::pending_crossings_test {
namespace {

SimTime at(std::int64_t ps) {
  return SimTime::from_ps(ps);
}

TEST(PendingCrossings, GiveTheEarliestOfWhatIsPending) {
  PendingCrossings crossings;
  EXPECT_TRUE(crossings.earliest(SimTime::zero()).is_never());
  crossings.add(at(10), at(90));
  crossings.add(at(30), at(40));
  crossings.add(at(20), at(60));
  EXPECT_EQ(crossings.earliest(at(10)), at(40));
  EXPECT_EQ(crossings.earliest(at(30)), at(40)) << "its event is not before the next one";
  EXPECT_TRUE(crossings.earliest(at(31)).is_never()) << "all events were handled";
  crossings.add(at(50), at(70));
  EXPECT_EQ(crossings.earliest(at(31)), at(70));
}

// As a list that is searched, also long after the room for entries is full: what was handled may be
// dropped, and nothing else.
TEST(PendingCrossings, ForgetOnlyWhatWasHandled) {
  struct Entry {
    std::int64_t time;
    std::int64_t crossing;
  };
  RandomStream random(3, EntityId(0), 0);
  PendingCrossings crossings;
  std::vector<Entry> all;
  std::int64_t now = 0;
  for (int step = 0; step < 4000; ++step) {
    const auto time = now + static_cast<std::int64_t>(random.next_u64() % 2000);
    const auto crossing = time + static_cast<std::int64_t>(random.next_u64() % 3000);
    crossings.add(at(time), at(crossing));
    all.push_back({time, crossing});
    now += static_cast<std::int64_t>(random.next_u64() % 5);
    crossings.reached(at(now));
    if (step % 500 == 499) {
      SimTime expected = SimTime::never();
      for (const Entry& entry : all) {
        if (entry.time >= now) {
          expected = std::min(expected, at(entry.crossing));
        }
      }
      EXPECT_EQ(crossings.earliest(at(now)), expected) << step;
    }
  }
}

// Of those that come first it is asked what is known by now, which may be later.
TEST(PendingCrossings, LookAgainAtTheFirst) {
  CrossingsWith<int> crossings;
  crossings.add(at(10), at(20), 1);
  crossings.add(at(10), at(40), 2);
  crossings.add(at(10), at(90), 3);
  SimTime of_first = at(30);
  const auto look_again = [&](SimTime time, int which) {
    EXPECT_EQ(time, at(10));
    EXPECT_NE(which, 3) << "it is not among the first";
    return which == 1 ? of_first : at(45);
  };
  EXPECT_EQ(crossings.earliest(at(10), look_again), at(30));
  of_first = SimTime::never();
  EXPECT_EQ(crossings.earliest(at(10), look_again), at(45));
  EXPECT_TRUE(crossings.earliest(at(11), look_again).is_never()) << "all events were handled";
}

TEST(Outlook, OfTwoIsTheEarlierInEachPart) {
  Outlook outlook{at(10), at(200), at(30)};
  outlook.add({at(20), at(100), at(40)});
  EXPECT_EQ(outlook, (Outlook{at(10), at(100), at(30)}));
  EXPECT_EQ(outlook.through(), at(30));
  outlook.add({at(5), SimTime::never(), at(150)});
  EXPECT_EQ(outlook, (Outlook{at(5), at(100), at(30)}));
  EXPECT_EQ((Outlook{at(5), at(7), at(9)}).through(), at(7));
  EXPECT_TRUE(Outlook().through().is_never());
}

}  // namespace
}  // namespace tessera::pdes::pending_crossings_test
