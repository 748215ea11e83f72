// An algorithm run by all members, messages arriving in any order: what each member ends with, and
// what was sent.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/collective/algorithm.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"

namespace tessera::collective::testing {

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

inline Totals run(const Algorithm& algorithm, Kind kind, std::uint32_t size, Bytes bytes,
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

}  // namespace tessera::collective::testing
