#include "flit/departures.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "harness.hpp"

namespace tessera::network {
namespace {

const SimTime hop = SimTime::from_ps(5000);
const SimTime credit = SimTime::from_ps(3000);
const SimTime early = SimTime::from_ps(1);

// A row of six nodes, of which the first four are here and the others there.
class FlitDeparturesOfARow : public ::testing::Test {
 protected:
  FlitDeparturesOfARow()
      : network_(testing::network_of(testing::mesh(1, 6))),
        routes_(make_flit_routes(*network_.machine.topology, "xy", 2, problem_)),
        departures_(*network_.machine.topology, *routes_, regions_,
                    FlitReach{{hop}, {credit}, early}) {}

  // After the next event.
  SimTime after_next() { return departures_.outlook(1, SimTime::zero()).after_next; }
  void pass(std::uint32_t here, std::uint32_t bits) {
    Flit flit;
    flit.target = 5;
    flit.source = bits;
    departures_.pass(EntityId(here), EntityId(here + 1), 0, flit);
  }

  std::string problem_;
  testing::Described network_;
  std::vector<std::uint32_t> owner_{0, 0, 0, 0, 1, 1};
  pdes::RegionView regions_{owner_, 0};
  std::unique_ptr<FlitRoutes> routes_;
  FlitDepartures departures_;
};

TEST_F(FlitDeparturesOfARow, CountAPacketUntilItsTailIsOverTheBorder) {
  EXPECT_TRUE(after_next().is_never());
  departures_.come(EntityId(1), EntityId(5));
  EXPECT_EQ(after_next(), hop * 3 - early);
  pass(1, Flit::head);
  EXPECT_EQ(after_next(), hop * 2 - early);
  pass(1, 0);
  pass(2, Flit::head);
  pass(3, Flit::head);
  EXPECT_EQ(after_next(), hop - early);
  pass(3, 0);
  EXPECT_EQ(after_next(), hop - early);
  pass(3, Flit::tail);
  EXPECT_TRUE(after_next().is_never());
}

TEST_F(FlitDeparturesOfARow, GoByThePacketThatIsNearest) {
  departures_.come(EntityId(0), EntityId(4));  // a message that waits
  departures_.come(EntityId(3), EntityId(5));
  departures_.come(EntityId(0), EntityId(3));  // stays here
  EXPECT_EQ(after_next(), hop - early);
  pass(3, Flit::head | Flit::tail);
  EXPECT_EQ(after_next(), hop * 4 - early);
  departures_.go(EntityId(0), EntityId(4));
  EXPECT_TRUE(after_next().is_never());
}

TEST_F(FlitDeparturesOfARow, CountFlitsFromThereForTheirCredits) {
  departures_.hold(EntityId(4));
  departures_.hold(EntityId(4));
  departures_.hold(EntityId(2));  // from a router here
  EXPECT_EQ(after_next(), credit - early);
  departures_.release(EntityId(4));
  EXPECT_EQ(after_next(), credit - early);
  departures_.release(EntityId(4));
  EXPECT_TRUE(after_next().is_never());
}

// Of one that comes in while nothing passes through.
TEST_F(FlitDeparturesOfARow, SayThatACreditFollowsAFlit) {
  departures_.crossings().learn([](const auto& visit) { visit(EntityId(5), EntityId(0)); });
  EXPECT_EQ(departures_.outlook(1, SimTime::zero()).after_input, credit);
}

}  // namespace
}  // namespace tessera::network
