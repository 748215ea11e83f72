// What of ring and line the property test does not say.
#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>

#include "tessera/collective/algorithm.hpp"
#include "tessera/core/error.hpp"

namespace tessera::collective::ring_test {
namespace {

TEST(Ring, HasTheStepsOfTheClosedForm) {
  const auto ring = algorithms().at("ring")({});
  const auto line = algorithms().at("line")({});
  for (std::uint32_t size = 1; size < 34; ++size) {
    for (const Kind kind : {Kind::reduce_scatter, Kind::all_gather, Kind::all_to_all, Kind::gather,
                            Kind::scatter, Kind::barrier}) {
      EXPECT_EQ(ring->steps(kind, size), size - 1);
    }
    for (const Kind kind : {Kind::all_reduce, Kind::broadcast, Kind::reduce}) {
      EXPECT_EQ(ring->steps(kind, size), 2 * (size - 1));
    }
    EXPECT_EQ(line->steps(Kind::all_reduce, size), 4 * (size - 1));
  }
}

TEST(Ring, AllReduceIsReduceScatterThenAllGather) {
  const auto ring = algorithms().at("ring")({});
  const Bytes bytes(1001);
  const auto fields = [](const Step& step) {
    return std::tuple(step.send_to, step.send_chunks.first, step.send_bytes, step.receive_from,
                      step.receive_chunks.first, step.receive_bytes, step.reduces);
  };
  constexpr std::uint32_t size = 7;
  for (std::uint32_t s = 0; s < size - 1; ++s) {
    for (Member member = 0; member < size; ++member) {
      EXPECT_EQ(fields(ring->step(Kind::all_reduce, size, member, bytes, s)),
                fields(ring->step(Kind::reduce_scatter, size, member, bytes, s)));
      EXPECT_EQ(fields(ring->step(Kind::all_reduce, size, member, bytes, size - 1 + s)),
                fields(ring->step(Kind::all_gather, size, member, bytes, s)));
    }
  }
}

// No message between the last member and the first.
TEST(Line, AllReducesWithoutTheClosingLink) {
  const auto line = algorithms().at("line")({});
  for (const std::uint32_t size : {2U, 5U, 16U}) {
    for (std::uint32_t s = 0; s < line->steps(Kind::all_reduce, size); ++s) {
      for (Member member = 0; member < size; ++member) {
        const Step step = line->step(Kind::all_reduce, size, member, Bytes(1001), s);
        EXPECT_TRUE(step.send_to == nobody || step.send_to + 1 == member ||
                    step.send_to == member + 1);
      }
    }
  }
}

TEST(Ring, GoesRoundInMemberOrder) {
  const auto ring = algorithms().at("ring")({});
  const Step step = ring->step(Kind::all_reduce, 4, 3, Bytes(10), 0);
  EXPECT_EQ(step.send_to, 0U);
  EXPECT_EQ(step.receive_from, 2U);
  EXPECT_EQ(step.send_chunks.first, 2U);
  EXPECT_EQ(step.receive_chunks.first, 1U);
  EXPECT_EQ(step.send_bytes, Bytes(2)) << "ten bytes are cut 3, 3, 2, 2";
  EXPECT_EQ(step.receive_bytes, Bytes(3));
  EXPECT_TRUE(step.reduces);
}

TEST(Ring, LargeGroupsNeedNoStorage) {
  const auto ring = algorithms().at("ring")({});
  constexpr std::uint32_t size = 400'000;
  const Step step = ring->step(Kind::all_reduce, size, 0, Bytes(1ULL << 40), 2 * (size - 1) - 1);
  EXPECT_EQ(step.send_to, 1U);
  EXPECT_EQ(step.send_chunks.first, 2U)
      << "the last chunk passed on is that of the member after next";
  EXPECT_EQ(step.receive_chunks.first, 1U);
  EXPECT_FALSE(step.reduces);
}

TEST(Ring, AQuestionOutsideTheScheduleIsADefect) {
  const auto ring = algorithms().at("ring")({});
  EXPECT_THROW(ring->steps(Kind::all_reduce, 0), InternalError);
  EXPECT_THROW(ring->step(Kind::all_reduce, 4, 4, Bytes(1), 0), InternalError);
  EXPECT_THROW(ring->step(Kind::all_reduce, 4, 0, Bytes(1), 6), InternalError);
  EXPECT_THROW(ring->step(Kind::all_gather, 4, 0, Bytes(1), 3), InternalError);
  EXPECT_THROW(ring->step(Kind::all_reduce, 1, 0, Bytes(1), 0), InternalError);
}

}  // namespace
}  // namespace tessera::collective::ring_test
