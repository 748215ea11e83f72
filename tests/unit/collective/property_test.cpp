// One property for all algorithms: run by all members, messages arriving in any order, each member
// ends with each contribution exactly once, and as many bytes and steps are sent as the closed form
// says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/collective/algorithm.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"

namespace tessera::collective::property_test {
namespace {

// How often each member's contribution is in a copy of a chunk.
using Contributions = std::vector<std::uint32_t>;
// A chunk that a member does not have is not there.
using Vector = std::map<std::uint32_t, Contributions>;

struct Case {
  Kind kind;
  std::uint32_t size;

  Contributions only(Member member) const {
    Contributions contributions(size, 0);
    contributions[member] = 1;
    return contributions;
  }
  Contributions everybody() const { return Contributions(size, 1); }

  // What a member has at first, and must have at last (it may have more).
  Vector at_first(Member member) const {
    Vector vector;
    for (std::uint32_t chunk = 0; chunk < size; ++chunk) {
      switch (kind) {
        case Kind::all_reduce:
        case Kind::reduce_scatter:
        case Kind::reduce:
          vector[chunk] = only(member);
          break;
        case Kind::all_gather:
        case Kind::gather:
          if (chunk == member) {
            vector[chunk] = only(member);
          }
          break;
        case Kind::broadcast:
        case Kind::scatter:
          if (member == 0) {
            vector[chunk] = only(0);
          }
          break;
        case Kind::all_to_all:
          vector[member * size + chunk] = only(member);
          break;
        case Kind::barrier:
          break;
      }
    }
    return vector;
  }
  Vector at_last(Member member) const {
    Vector vector;
    for (std::uint32_t chunk = 0; chunk < size; ++chunk) {
      switch (kind) {
        case Kind::all_reduce:
          vector[chunk] = everybody();
          break;
        case Kind::reduce_scatter:
          if (chunk == member) {
            vector[chunk] = everybody();
          }
          break;
        case Kind::reduce:
          if (member == 0) {
            vector[chunk] = everybody();
          }
          break;
        case Kind::all_gather:
          vector[chunk] = only(chunk);
          break;
        case Kind::gather:
          if (member == 0) {
            vector[chunk] = only(chunk);
          }
          break;
        case Kind::broadcast:
          vector[chunk] = only(0);
          break;
        case Kind::scatter:
          if (chunk == member) {
            vector[chunk] = only(0);
          }
          break;
        case Kind::all_to_all:
          vector[chunk * size + member] = only(chunk);
          break;
        case Kind::barrier:
          break;
      }
    }
    return vector;
  }
};

struct Message {
  Member from = nobody;
  Member to = nobody;
  std::uint32_t step = 0;  // of the receiver
  Bytes bytes;
  Chunks chunks;
  Vector content;
  std::vector<bool> heard;  // of whom the sender knew that they had begun
};

// All members in one lane.
class Lane {
 public:
  Lane(const Algorithm& algorithm, Case the_case, Bytes bytes, std::uint32_t lane,
       std::uint64_t seed)
      : algorithm_(algorithm), case_(the_case), bytes_(bytes), lane_(lane), random_(seed) {
    steps_ = algorithm.steps(case_.kind, case_.size);
    for (Member member = 0; member < case_.size; ++member) {
      Part part;
      part.vector = case_.at_first(member);
      part.over.assign(steps_, false);
      part.heard.assign(case_.size, false);
      part.heard[member] = true;
      parts_.push_back(std::move(part));
    }
  }

  void run() {
    for (Member member = 0; member < case_.size; ++member) {
      go_on(member);
    }
    while (!messages_.empty()) {
      const std::size_t pick = next_random() % messages_.size();
      std::swap(messages_[pick], messages_.back());
      Message message = std::move(messages_.back());
      messages_.pop_back();
      Part& receiver = parts_[message.to];
      const Member to = message.to;
      receiver.arrived.emplace(std::pair(message.from, message.step), std::move(message));
      go_on(to);
    }
    for (Member member = 0; member < case_.size; ++member) {
      const Part& part = parts_[member];
      ASSERT_EQ(part.finished, steps_) << "member " << member << " never ends";
      EXPECT_TRUE(part.arrived.empty()) << "a message that nobody takes";
      for (const auto& [chunk, wanted] : case_.at_last(member)) {
        const auto found = part.vector.find(chunk);
        ASSERT_TRUE(found != part.vector.end()) << "member " << member << ", chunk " << chunk;
        EXPECT_EQ(found->second, wanted) << "member " << member << ", chunk " << chunk;
      }
      if (case_.kind == Kind::barrier) {
        EXPECT_THAT(part.heard, ::testing::Each(true)) << "member " << member;
      }
    }
  }

  Bytes sent(Member member) const { return parts_[member].sent; }
  std::uint32_t messages(Member member) const { return parts_[member].messages; }

 private:
  struct Part {
    Vector vector;
    std::uint32_t begun = 0;
    std::uint32_t finished = 0;  // all steps before are over
    std::vector<bool> over;
    std::vector<bool> heard;
    std::map<std::pair<Member, std::uint32_t>, Message> arrived;
    Bytes sent;
    std::uint32_t messages = 0;
  };

  std::size_t next_random() { return static_cast<std::size_t>(random_ = mix64(random_ + 1)); }

  Step step_of(Member member, std::uint32_t step) const {
    return algorithm_.step(case_.kind, case_.size, member, bytes_, step, lane_);
  }

  void go_on(Member member) {
    Part& part = parts_[member];
    bool moved = true;
    while (moved) {
      moved = false;
      if (part.begun < steps_) {
        const Step step = step_of(member, part.begun);
        ASSERT_LE(step.after, part.begun);
        if (step.after <= part.finished) {
          ++part.begun;
          begin(member, step);
          moved = true;
        }
      }
      for (std::uint32_t number = part.finished; number < part.begun; ++number) {
        moved = (!part.over[number] && take(member, number)) || moved;
      }
      while (part.finished < part.begun && part.over[part.finished]) {
        ++part.finished;
      }
    }
  }

  void begin(Member member, const Step& step) {
    if (step.send_to == nobody) {
      return;
    }
    Part& part = parts_[member];
    ASSERT_LT(step.send_to, case_.size);
    ASSERT_NE(step.send_to, member);
    ASSERT_LT(step.send_step, steps_);
    Message message;
    message.from = member;
    message.to = step.send_to;
    message.step = step.send_step;
    message.bytes = step.send_bytes;
    message.chunks = step.send_chunks;
    message.heard = part.heard;
    if (case_.kind != Kind::barrier) {
      EXPECT_GT(step.send_chunks.count, 0U);
      for (std::uint32_t i = 0; i < step.send_chunks.count; ++i) {
        const std::uint32_t chunk = step.send_chunks.first + i;
        ASSERT_TRUE(part.vector.contains(chunk))
            << "member " << member << " sends chunk " << chunk << ", which it does not have";
        message.content[chunk] = part.vector[chunk];
      }
      if (case_.kind == Kind::all_to_all) {
        EXPECT_EQ(step.send_bytes,
                  chunk_bytes(bytes_, case_.size, step.send_chunks.first % case_.size));
      } else {
        EXPECT_EQ(step.send_bytes, chunk_bytes(bytes_, case_.size, step.send_chunks));
      }
    } else {
      EXPECT_EQ(step.send_bytes, Bytes(0));
    }
    part.sent += step.send_bytes;
    ++part.messages;
    messages_.push_back(std::move(message));
  }

  // Whether the step is over now.
  bool take(Member member, std::uint32_t number) {
    Part& part = parts_[member];
    const Step step = step_of(member, number);
    if (step.receive_from != nobody) {
      const auto found = part.arrived.find({step.receive_from, number});
      if (found == part.arrived.end()) {
        return false;
      }
      const Message& message = found->second;
      EXPECT_EQ(message.bytes, step.receive_bytes);
      EXPECT_EQ(message.chunks, step.receive_chunks);
      for (const auto& [chunk, content] : message.content) {
        if (!step.reduces) {
          part.vector[chunk] = content;
          continue;
        }
        Contributions& own = part.vector.at(chunk);
        for (Member who = 0; who < case_.size; ++who) {
          own[who] += content[who];
        }
      }
      for (Member who = 0; who < case_.size; ++who) {
        part.heard[who] = part.heard[who] || message.heard[who];
      }
      part.arrived.erase(found);
    }
    part.over[number] = true;
    return true;
  }

  const Algorithm& algorithm_;
  Case case_;
  Bytes bytes_;
  std::uint32_t lane_;
  std::uint64_t random_;
  std::uint32_t steps_ = 0;
  std::vector<Part> parts_;
  std::vector<Message> messages_;
};

struct Totals {
  Bytes sent;
  Bytes most_sent;  // by one member
  std::uint32_t steps = 0;
  std::uint32_t messages = 0;
};

Totals run(const Algorithm& algorithm, Kind kind, std::uint32_t size, Bytes bytes,
           std::uint64_t seed = 1) {
  Totals totals;
  totals.steps = algorithm.steps(kind, size);
  std::vector<Bytes> sent(size);
  const std::uint32_t lanes = algorithm.lanes(kind);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    Lane members(algorithm, {kind, size}, chunk_bytes(bytes, lanes, lane), lane, seed);
    members.run();
    for (Member member = 0; member < size; ++member) {
      sent[member] += members.sent(member);
      totals.messages += members.messages(member);
    }
  }
  for (const Bytes one : sent) {
    totals.sent += one;
    totals.most_sent = std::max(totals.most_sent, one);
  }
  return totals;
}

struct Named {
  std::string label;
  std::string algorithm;
  AlgorithmOptions options;
};

std::vector<Named> all_algorithms() {
  std::vector<Named> all;
  for (const std::string& name : algorithms().names()) {
    std::string label = name;
    std::replace(label.begin(), label.end(), '-', '_');
    all.push_back({label, name, {}});
  }
  all.push_back({"direct_in_a_window_of_1", "direct", {1}});
  all.push_back({"direct_in_a_window_of_3", "direct", {3}});
  return all;
}

class Property : public ::testing::TestWithParam<Named> {
 protected:
  const std::unique_ptr<Algorithm> algorithm =
      algorithms().at(GetParam().algorithm)(GetParam().options);
};

TEST_P(Property, EachContributionComesOnce) {
  for (std::size_t number = 0; number < kinds; ++number) {
    const Kind kind = static_cast<Kind>(number);
    if (!algorithm->offers(kind)) {
      EXPECT_THROW(static_cast<void>(algorithm->steps(kind, 4)), InternalError);
      continue;
    }
    for (std::uint32_t size = 1; size <= 20; ++size) {
      for (const std::uint64_t bytes : {0U, 1U, 1001U, 65'536U}) {
        SCOPED_TRACE(to_string(kind) + ", " + std::to_string(size) + " members, " +
                     std::to_string(bytes) + " bytes");
        run(*algorithm, kind, size, Bytes(bytes), size + bytes);
        if (HasFatalFailure()) {
          return;
        }
      }
    }
    SCOPED_TRACE(to_string(kind) + ", many members");
    run(*algorithm, kind, 64, Bytes(1'000'000));
    run(*algorithm, kind, 57, Bytes(1'000'000));
  }
}

TEST_P(Property, ThoseInStepMatchStepByStep) {
  if (!algorithm->in_step()) {
    return;
  }
  for (std::size_t number = 0; number < kinds; ++number) {
    const Kind kind = static_cast<Kind>(number);
    ASSERT_TRUE(algorithm->offers(kind));
    EXPECT_EQ(algorithm->lanes(kind), 1U);
    for (const std::uint32_t size : {2U, 7U, 16U}) {
      for (std::uint32_t s = 0; s < algorithm->steps(kind, size); ++s) {
        for (Member member = 0; member < size; ++member) {
          const Step step = algorithm->step(kind, size, member, Bytes(1001), s);
          EXPECT_EQ(step.after, s);
          if (step.send_to != nobody) {
            EXPECT_EQ(step.send_step, s);
            const Step theirs = algorithm->step(kind, size, step.send_to, Bytes(1001), s);
            EXPECT_EQ(theirs.receive_from, member);
            EXPECT_EQ(theirs.receive_bytes, step.send_bytes);
          }
          if (step.receive_from != nobody) {
            EXPECT_EQ(algorithm->step(kind, size, step.receive_from, Bytes(1001), s).send_to,
                      member);
          }
        }
      }
    }
  }
}

TEST_P(Property, RefusesWhatIsNotThere) {
  EXPECT_THROW(static_cast<void>(algorithm->steps(Kind::all_reduce, 0)), InternalError);
  EXPECT_THROW(static_cast<void>(algorithm->step(Kind::all_reduce, 4, 4, Bytes(8), 0)),
               InternalError);
  EXPECT_THROW(static_cast<void>(algorithm->step(Kind::all_reduce, 4, 0, Bytes(8), 1000)),
               InternalError);
}

INSTANTIATE_TEST_SUITE_P(All, Property, ::testing::ValuesIn(all_algorithms()),
                         [](const auto& instance) { return instance.param.label; });

// Bytes that are divided by any number below, so that the forms hold exactly.
constexpr std::uint64_t even_bytes = 720'720 * 32;

std::uint32_t log2_up(std::uint32_t size) {
  return static_cast<std::uint32_t>(std::bit_width(size - 1));
}

// Reduce-scatter and all-gather send (n - 1)/n of the vector a member at best, all-reduce twice as
// much (Patarasuk and Yuan; Thakur et al.).
TEST(ClosedForms, OfTheBandwidthOptimal) {
  for (const char* name : {"ring", "ring-bidirectional", "direct", "halving-doubling"}) {
    const auto algorithm = algorithms().at(name)({});
    for (const std::uint32_t size : {2U, 4U, 8U, 16U}) {
      const Bytes share(even_bytes / size * (size - 1));
      for (const Kind kind : {Kind::reduce_scatter, Kind::all_gather, Kind::all_to_all}) {
        const Totals totals = run(*algorithm, kind, size, Bytes(even_bytes));
        EXPECT_EQ(totals.most_sent, share) << name << ' ' << to_string(kind) << ' ' << size;
        EXPECT_EQ(totals.sent, share * size) << name << ' ' << to_string(kind) << ' ' << size;
      }
      const Totals totals = run(*algorithm, Kind::all_reduce, size, Bytes(even_bytes));
      EXPECT_EQ(totals.most_sent, share * 2) << name << ' ' << size;
    }
  }
}

TEST(ClosedForms, OfSteps) {
  const auto steps = [](const char* name, Kind kind, std::uint32_t size) {
    return algorithms().at(name)({})->steps(kind, size);
  };
  for (const std::uint32_t size : {2U, 3U, 8U, 13U, 64U}) {
    const std::uint32_t extra = std::has_single_bit(size) ? 0 : 2;
    const auto levels = static_cast<std::uint32_t>(std::bit_width(size)) - 1;
    EXPECT_EQ(steps("halving-doubling", Kind::all_reduce, size), 2 * levels + extra);
    EXPECT_EQ(steps("halving-doubling", Kind::reduce_scatter, size), levels + extra);
    EXPECT_EQ(steps("halving-doubling", Kind::broadcast, size), log2_up(size));
    EXPECT_EQ(steps("halving-doubling", Kind::barrier, size), log2_up(size));
    EXPECT_EQ(steps("ring-bidirectional", Kind::all_reduce, size), 2 * (size - 1));
    EXPECT_EQ(steps("direct", Kind::all_reduce, size), 2 * (size - 1));
    EXPECT_EQ(steps("ring-relay", Kind::all_to_all, size), size * (size - 1) / 2);
    EXPECT_EQ(steps("double-binary-tree", Kind::all_reduce, size), 6U);
  }
}

// A power of two: all but n (n - 1)/2 hops of one chunk each are gone.
TEST(ClosedForms, OfARelay) {
  const auto algorithm = algorithms().at("ring-relay")({});
  const Totals totals = run(*algorithm, Kind::all_to_all, 9, Bytes(9000));
  EXPECT_EQ(totals.most_sent, Bytes(1000 * 9 * 8 / 2));
}

// The pair sends its vector once more and the sum back.
TEST(ClosedForms, OfHalvingAndDoublingAmongAnyNumber) {
  const auto algorithm = algorithms().at("halving-doubling")({});
  const Totals totals = run(*algorithm, Kind::all_reduce, 6, Bytes(even_bytes));
  EXPECT_EQ(totals.sent.count(), 2 * even_bytes * 3 + 4 * even_bytes);
}

// Each half goes up every edge of its tree and down again; nobody sends more than twice the vector,
// which he does who is inside a tree: half of it to two children, half to his parent, and half as a
// leaf of the other.
TEST(ClosedForms, OfTwoTrees) {
  const auto algorithm = algorithms().at("double-binary-tree")({});
  for (const std::uint32_t size : {2U, 3U, 8U, 9U, 31U, 64U}) {
    const Totals totals = run(*algorithm, Kind::all_reduce, size, Bytes(even_bytes));
    EXPECT_EQ(totals.sent.count(), 2 * even_bytes * (size - 1)) << size;
    EXPECT_EQ(totals.messages, 4 * (size - 1)) << size;
    EXPECT_LE(totals.most_sent.count(), 2 * even_bytes) << size;
    const Totals spread = run(*algorithm, Kind::broadcast, size, Bytes(even_bytes));
    EXPECT_EQ(spread.sent.count(), even_bytes * (size - 1)) << size;
  }
}

// Depth of a tree: messages from a leaf to the root.
TEST(ClosedForms, TreesAreLow) {
  const auto algorithm = algorithms().at("double-binary-tree")({});
  for (const std::uint32_t size : {2U, 3U, 7U, 8U, 100U, 1000U}) {
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      std::uint32_t deepest = 0;
      std::uint32_t roots = 0;
      for (Member member = 0; member < size; ++member) {
        std::uint32_t depth = 0;
        Member at = member;
        while (true) {
          const Member up = algorithm->step(Kind::all_reduce, size, at, Bytes(8), 2, lane).send_to;
          if (up == nobody) {
            break;
          }
          at = up;
          ASSERT_LE(++depth, size);
        }
        roots += at == member ? 1 : 0;
        deepest = std::max(deepest, depth);
      }
      EXPECT_EQ(roots, 1U) << size;
      EXPECT_LE(deepest, log2_up(size) + 1) << size;
    }
  }
}

}  // namespace
}  // namespace tessera::collective::property_test
