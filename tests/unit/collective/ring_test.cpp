// The ring is run by all members at once, following who holds whose contribution to which chunk.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "tessera/collective/algorithm.hpp"
#include "tessera/core/error.hpp"

namespace tessera::collective {
namespace {

// Whose contributions are in a copy of a chunk, one bit a member.
using Contributions = std::uint64_t;
// [member][chunk]
using Vectors = std::vector<std::vector<Contributions>>;

Contributions only(Member member) {
  return Contributions{1} << member;
}
Contributions everybody(std::uint32_t size) {
  return (Contributions{1} << size) - 1;
}

Vectors start_of(Kind kind, std::uint32_t size) {
  Vectors vectors(size, std::vector<Contributions>(size, 0));
  for (Member member = 0; member < size; ++member) {
    for (std::uint32_t chunk = 0; chunk < size; ++chunk) {
      if (kind == Kind::broadcast) {
        vectors[member][chunk] = member == 0 ? everybody(size) : 0;
      } else if (kind != Kind::all_gather) {
        vectors[member][chunk] = only(member);
      } else if (chunk == member) {
        vectors[member][chunk] = everybody(size);
      }
    }
  }
  return vectors;
}

struct Outcome {
  Vectors vectors;
  std::vector<Bytes> sent;  // by member
};

// Runs all steps; every message is checked against what its target expects in the same step.
Outcome run(const Algorithm& algorithm, Kind kind, std::uint32_t size, Bytes bytes) {
  Outcome outcome{start_of(kind, size), std::vector<Bytes>(size)};
  for (std::uint32_t s = 0; s < algorithm.steps(kind, size); ++s) {
    const Vectors before = outcome.vectors;
    for (Member member = 0; member < size; ++member) {
      const Step mine = algorithm.step(kind, size, member, bytes, s);
      if (mine.receive_from != nobody) {
        EXPECT_EQ(algorithm.step(kind, size, mine.receive_from, bytes, s).send_to, member);
      }
      if (mine.send_to == nobody) {
        continue;
      }
      EXPECT_LT(mine.send_to, size);
      EXPECT_NE(mine.send_to, member);
      const Step theirs = algorithm.step(kind, size, mine.send_to, bytes, s);
      EXPECT_EQ(theirs.receive_from, member);
      EXPECT_EQ(theirs.receive_chunk, mine.send_chunk);
      EXPECT_EQ(theirs.receive_bytes, mine.send_bytes);
      EXPECT_EQ(mine.send_bytes, chunk_bytes(bytes, size, mine.send_chunk));
      outcome.sent[member] += mine.send_bytes;
      const Contributions arriving = before[member][mine.send_chunk];
      Contributions& kept = outcome.vectors[mine.send_to][mine.send_chunk];
      if (theirs.reduces) {
        EXPECT_EQ(kept & arriving, 0U) << "a contribution would be added twice";
        kept |= arriving;
      } else {
        EXPECT_EQ(arriving, everybody(size)) << "an incomplete chunk is handed on as a result";
        kept = arriving;
      }
    }
  }
  return outcome;
}

class RingOfSize : public testing::TestWithParam<std::uint32_t> {
 protected:
  std::uint32_t size() const { return GetParam(); }
  Outcome run_ring(Kind kind, Bytes bytes) const { return run(*ring_, kind, size(), bytes); }
  // Odd, fewer than members, nothing at all.
  std::vector<Bytes> sizes() const {
    return {Bytes(0), Bytes(1), Bytes(size() / 2), Bytes(1001), Bytes(65'537)};
  }
  const std::unique_ptr<Algorithm> ring_ = algorithms().at("ring")();
};

TEST_P(RingOfSize, HasTheStepsOfTheClosedForm) {
  EXPECT_EQ(ring_->steps(Kind::all_reduce, size()), 2 * (size() - 1));
  EXPECT_EQ(ring_->steps(Kind::reduce_scatter, size()), size() - 1);
  EXPECT_EQ(ring_->steps(Kind::all_gather, size()), size() - 1);
}

TEST_P(RingOfSize, AllReduceGivesEverybodyEachContributionOnce) {
  for (const Bytes bytes : sizes()) {
    const Outcome outcome = run_ring(Kind::all_reduce, bytes);
    Bytes total;
    for (Member member = 0; member < size(); ++member) {
      for (std::uint32_t chunk = 0; chunk < size(); ++chunk) {
        EXPECT_EQ(outcome.vectors[member][chunk], everybody(size())) << member << ' ' << chunk;
      }
      total += outcome.sent[member];
    }
    EXPECT_EQ(total, bytes * (2 * (size() - 1)));
  }
}

TEST_P(RingOfSize, ReduceScatterLeavesChunkIAtMemberI) {
  for (const Bytes bytes : sizes()) {
    const Outcome outcome = run_ring(Kind::reduce_scatter, bytes);
    for (Member member = 0; member < size(); ++member) {
      EXPECT_EQ(outcome.vectors[member][member], everybody(size())) << member;
      // All chunks but its own leave a member once.
      EXPECT_EQ(outcome.sent[member], bytes - chunk_bytes(bytes, size(), member));
    }
  }
}

TEST_P(RingOfSize, AllGatherSpreadsChunkIOfMemberI) {
  for (const Bytes bytes : sizes()) {
    const Outcome outcome = run_ring(Kind::all_gather, bytes);
    for (Member member = 0; member < size(); ++member) {
      for (std::uint32_t chunk = 0; chunk < size(); ++chunk) {
        EXPECT_EQ(outcome.vectors[member][chunk], everybody(size())) << member << ' ' << chunk;
      }
      // All chunks but the one that the next member owns leave a member once.
      const std::uint32_t next = (member + 1) % size();
      EXPECT_EQ(outcome.sent[member], bytes - chunk_bytes(bytes, size(), next));
    }
  }
}

// Down a line: every member but the one at its end sends the vector once.
TEST_P(RingOfSize, BroadcastAndReducePassTheVectorOn) {
  EXPECT_EQ(ring_->steps(Kind::broadcast, size()), 2 * (size() - 1));
  EXPECT_EQ(ring_->steps(Kind::reduce, size()), 2 * (size() - 1));
  for (const Bytes bytes : sizes()) {
    const Outcome spread = run_ring(Kind::broadcast, bytes);
    const Outcome summed = run_ring(Kind::reduce, bytes);
    for (Member member = 0; member < size(); ++member) {
      for (std::uint32_t chunk = 0; chunk < size(); ++chunk) {
        EXPECT_EQ(spread.vectors[member][chunk], everybody(size())) << member << ' ' << chunk;
      }
      EXPECT_EQ(spread.sent[member], member + 1 < size() ? bytes : Bytes(0));
      EXPECT_EQ(summed.sent[member], member > 0 ? bytes : Bytes(0));
    }
    for (const Contributions chunk : summed.vectors[0]) {
      EXPECT_EQ(chunk, everybody(size()));
    }
  }
}

TEST_P(RingOfSize, AllReduceIsReduceScatterThenAllGather) {
  const Bytes bytes(1001);
  const auto fields = [](const Step& step) {
    return std::tuple(step.send_to, step.send_chunk, step.send_bytes, step.receive_from,
                      step.receive_chunk, step.receive_bytes, step.reduces);
  };
  for (std::uint32_t s = 0; s < size() - 1; ++s) {
    for (Member member = 0; member < size(); ++member) {
      EXPECT_EQ(fields(ring_->step(Kind::all_reduce, size(), member, bytes, s)),
                fields(ring_->step(Kind::reduce_scatter, size(), member, bytes, s)));
      EXPECT_EQ(fields(ring_->step(Kind::all_reduce, size(), member, bytes, size() - 1 + s)),
                fields(ring_->step(Kind::all_gather, size(), member, bytes, s)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OneToThirtyThree, RingOfSize, testing::Range(1U, 34U),
                         testing::PrintToStringParamName());

// Reduce and broadcast one after the other, and the same result.
TEST_P(RingOfSize, ALineAllReducesWithoutTheClosingLink) {
  const auto line = algorithms().at("line")();
  EXPECT_EQ(line->steps(Kind::all_reduce, size()), 4 * (size() - 1));
  for (const Bytes bytes : sizes()) {
    const Outcome outcome = run(*line, Kind::all_reduce, size(), bytes);
    Bytes total;
    for (Member member = 0; member < size(); ++member) {
      for (std::uint32_t chunk = 0; chunk < size(); ++chunk) {
        EXPECT_EQ(outcome.vectors[member][chunk], everybody(size())) << member << ' ' << chunk;
      }
      total += outcome.sent[member];
    }
    EXPECT_EQ(total, bytes * (2 * (size() - 1)));
  }
  for (std::uint32_t s = 0; s < line->steps(Kind::all_reduce, size()); ++s) {
    for (Member member = 0; member < size(); ++member) {
      const Step step = line->step(Kind::all_reduce, size(), member, Bytes(1001), s);
      EXPECT_TRUE(step.send_to == nobody || step.send_to + 1 == member ||
                  step.send_to == member + 1);
    }
  }
}

TEST(Ring, GoesRoundInMemberOrder) {
  const auto ring = algorithms().at("ring")();
  const Step step = ring->step(Kind::all_reduce, 4, 3, Bytes(10), 0);
  EXPECT_EQ(step.send_to, 0U);
  EXPECT_EQ(step.receive_from, 2U);
  EXPECT_EQ(step.send_chunk, 2U);
  EXPECT_EQ(step.receive_chunk, 1U);
  EXPECT_EQ(step.send_bytes, Bytes(2)) << "ten bytes are cut 3, 3, 2, 2";
  EXPECT_EQ(step.receive_bytes, Bytes(3));
  EXPECT_TRUE(step.reduces);
}

TEST(Ring, LargeGroupsNeedNoStorage) {
  const auto ring = algorithms().at("ring")();
  constexpr std::uint32_t size = 400'000;
  const Step step = ring->step(Kind::all_reduce, size, 0, Bytes(1ULL << 40), 2 * (size - 1) - 1);
  EXPECT_EQ(step.send_to, 1U);
  EXPECT_EQ(step.send_chunk, 2U) << "the last chunk passed on is that of the member after next";
  EXPECT_EQ(step.receive_chunk, 1U);
  EXPECT_FALSE(step.reduces);
}

TEST(Ring, AQuestionOutsideTheScheduleIsADefect) {
  const auto ring = algorithms().at("ring")();
  EXPECT_THROW(ring->steps(Kind::all_reduce, 0), InternalError);
  EXPECT_THROW(ring->step(Kind::all_reduce, 4, 4, Bytes(1), 0), InternalError);
  EXPECT_THROW(ring->step(Kind::all_reduce, 4, 0, Bytes(1), 6), InternalError);
  EXPECT_THROW(ring->step(Kind::all_gather, 4, 0, Bytes(1), 3), InternalError);
  EXPECT_THROW(ring->step(Kind::all_reduce, 1, 0, Bytes(1), 0), InternalError);
}

}  // namespace
}  // namespace tessera::collective
