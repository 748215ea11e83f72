// Programs that users write: followed, refused, and run.
#include "tessera/collective/program/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "run_clock.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/random.hpp"

namespace tessera::collective::program_test {
namespace {

using ::testing::HasSubstr;

Program program_of(const std::string& text, const std::string& path = "p.yaml",
                   const TracedOperations& traced = {}) {
  return read_program(
      path, [&](const std::string&) { return text; },
      [&](const std::string& prefix, std::uint32_t members) {
        EXPECT_EQ(prefix, "ring");
        EXPECT_EQ(members, traced.size());
        return traced;
      });
}

std::string refusal(const std::string& text, const std::string& path = "p.yaml",
                    const TracedOperations& traced = {}) {
  try {
    program_of(text, path, traced);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

test::RunWorld world_of(const Program& program, std::uint64_t bytes, Member root,
                        std::function<std::int64_t()> delay = {}) {
  return {program.members,
          [&program, bytes, root](std::uint32_t member) {
            return std::make_unique<ProgramRun>(program, Bytes(bytes), member, root, StepCosts{});
          },
          [](std::uint32_t, std::uint32_t, std::uint32_t coordinate) { return coordinate; },
          [](std::uint32_t, Bytes of_message) {
            return SimTime::from_ps(1'000 + static_cast<std::int64_t>(of_message.count()));
          },
          std::move(delay)};
}

// All-gather among so many in a ring, as transfers.
std::string ring_all_gather(std::uint32_t members) {
  std::string text =
      "collective: all-gather\nmembers: " + std::to_string(members) + "\ntransfers:\n";
  for (std::uint32_t step = 0; step + 1 < members; ++step) {
    for (std::uint32_t from = 0; from < members; ++from) {
      text += "  - {from: " + std::to_string(from) +
              ", to: " + std::to_string((from + 1) % members) + ", chunks: [" +
              std::to_string((from + members - step) % members) + "]}\n";
    }
  }
  return text;
}

const char* const traced_ring = "collective: all-reduce\nmembers: 4\ntraces: ring\nsize: 400 B\n";

// All-reduce of 400 B among four in a ring: each adds up what comes in the first three steps.
TracedOperations ring_all_reduce() {
  using Action = TracedOperation::Action;
  TracedOperations all(4);
  for (Member member = 0; member < 4; ++member) {
    std::vector<TracedOperation>& operations = all[member];
    std::vector<std::uint32_t> after;
    const auto add = [&](Action action, Member peer, std::uint32_t tag) {
      operations.push_back(
          {action, peer, tag, 100, after,
           "ring." + std::to_string(member) + ".et: node " + std::to_string(operations.size())});
      return static_cast<std::uint32_t>(operations.size() - 1);
    };
    for (std::uint32_t step = 0; step < 6; ++step) {
      add(Action::send, (member + 1) % 4, step);
      after = {add(Action::receive, (member + 3) % 4, step)};
      if (step < 3) {
        after = {add(Action::add, nobody, 0)};
      }
    }
  }
  return all;
}

// As the compiler of MSCCL writes an all-reduce of two in place: each sends one half to be added up
// and gets the other back.
constexpr const char* two_gpus = R"(<algo name="two" proto="Simple" nchannels="1" nchunksperloop="2"
  ngpus="2" coll="allreduce" inplace="1">
  <gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="rrcs" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="2" type="r" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="2" o_chunks="0" s_chunks="0">
    <tb id="0" send="0" recv="0" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="rrcs" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="2" type="r" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
)";

// The same through scratch memory, with a thread block for each direction.
constexpr const char* two_gpus_aside = R"(<algo name="aside" ngpus="2" coll="allreduce" inplace="0">
  <gpu id="0" i_chunks="2" o_chunks="2" s_chunks="2">
    <tb id="0" send="1" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2"/>
    </tb>
    <tb id="1" send="-1" recv="1" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2"/>
      <step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2" depid="0" deps="0"/>
      <step s="2" type="re" srcbuf="s" srcoff="0" dstbuf="o" dstoff="0" cnt="2"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="2" o_chunks="2" s_chunks="2">
    <tb id="0" send="0" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2"/>
    </tb>
    <tb id="1" send="-1" recv="0" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2"/>
      <step s="1" type="rrc" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="2"/>
    </tb>
  </gpu>
</algo>
)";

TEST(Program, RingOfTransfersTakesTheTimeOfARing) {
  constexpr std::uint32_t members = 5;
  const Program program = program_of(ring_all_gather(members));
  EXPECT_EQ(program.kind, Kind::all_gather);
  constexpr std::uint64_t bytes = 5'000;
  test::RunClock clock(world_of(program, bytes, 0));
  clock.run();
  EXPECT_TRUE(clock.all_over());
  EXPECT_EQ(clock.kept(), 0U);
  for (std::uint32_t member = 0; member < members; ++member) {
    EXPECT_EQ(clock.ends()[member], (members - 1) * (1'000 + 1'000));
    EXPECT_EQ(clock.sent(member, (member + 1) % members), bytes / members * (members - 1));
  }
}

TEST(Program, TransfersOfDifferentChunksGoAtOnce) {
  const Program program = program_of(
      "collective: all-to-all\nmembers: 3\ntransfers:\n"
      "  - {from: 0, to: 1, chunks: [1]}\n  - {from: 0, to: 2, chunks: [2]}\n"
      "  - {from: 1, to: 0, chunks: [0]}\n  - {from: 1, to: 2, chunks: [2]}\n"
      "  - {from: 2, to: 0, chunks: [0]}\n  - {from: 2, to: 1, chunks: [1]}\n");
  test::RunClock clock(world_of(program, 3'000, 0));
  clock.run();
  EXPECT_TRUE(clock.all_over());
  EXPECT_EQ(clock.ends(), (std::vector<std::int64_t>(3, 2'000)));
}

TEST(Program, ReadsMscclInPlaceAndAside) {
  const Program in_place = program_of(two_gpus, "two.xml");
  EXPECT_EQ(in_place.kind, Kind::all_reduce);
  EXPECT_EQ(in_place.chunks, 2U);
  test::RunClock clock(world_of(in_place, 2'000, 0));
  clock.run();
  EXPECT_TRUE(clock.all_over());
  EXPECT_EQ(clock.ends(), (std::vector<std::int64_t>(2, 4'000)));
  EXPECT_EQ(clock.sent(0, 1), 2'000U);

  const Program aside = program_of(two_gpus_aside, "aside.xml");
  test::RunClock other(world_of(aside, 2'000, 0));
  other.run();
  EXPECT_TRUE(other.all_over());
  EXPECT_EQ(other.ends(), (std::vector<std::int64_t>(2, 3'000)));
}

TEST(Program, TracedRingTakesTheTimeOfARing) {
  const Program program = program_of(traced_ring, "p.yaml", ring_all_reduce());
  test::RunClock clock(world_of(program, 4'000, 0));
  clock.run();
  EXPECT_TRUE(clock.all_over());
  EXPECT_EQ(clock.ends(), (std::vector<std::int64_t>(4, 6 * (1'000 + 1'000))));
  EXPECT_EQ(clock.sent(2, 3), 6'000U);
  // In proportion, rounded up.
  test::RunClock odd(world_of(program, 401, 0));
  odd.run();
  EXPECT_EQ(odd.sent(2, 3), 6U * 101);
}

TEST(Program, RefusesTracesThatAreNoCollective) {
  const auto refused = [](const std::function<void(TracedOperations&)>& change) {
    TracedOperations operations = ring_all_reduce();
    change(operations);
    return refusal(traced_ring, "p.yaml", operations);
  };
  EXPECT_THAT(refused([](TracedOperations& all) { all[2].pop_back(); }),
              HasSubstr("ring.1.et: node 13 sends what member 2 does not receive"));
  EXPECT_THAT(refused([](TracedOperations& all) { all[1][3].tag = 9; }),
              HasSubstr("ring.2.et: node 4 receives what member 1 does not send"));
  EXPECT_THAT(refused([](TracedOperations& all) { all[1][0].bytes = 90; }),
              HasSubstr("ring.2.et: node 1 receives 100 B, but ring.1.et: node 0 sends 90"));
  EXPECT_THAT(refused([](TracedOperations& all) { all[3][0].peer = 3; }),
              HasSubstr("ring.3.et: node 0 is a message with member 3, who is none of the others"));
  EXPECT_THAT(refused([](TracedOperations& all) {
                for (auto& operations : all) {
                  operations[0].after = {1};
                }
              }),
              HasSubstr("ring.0.et: node 0 waits for ever"));
  // Two pairs that never meet.
  EXPECT_THAT(refused([](TracedOperations& all) {
                for (Member member = 0; member < 4; ++member) {
                  for (TracedOperation& operation : all[member]) {
                    operation.peer = operation.peer == nobody ? nobody : member ^ 1U;
                  }
                }
              }),
              HasSubstr("member 0 never hears of what member 2 has"));
  EXPECT_THAT(refused([](TracedOperations& all) {
                for (auto& operations : all) {
                  for (TracedOperation& operation : operations) {
                    operation.bytes = 60;
                  }
                }
              }),
              HasSubstr("member 0 receives 360 B; of a vector of 400 B it needs 400"));
  EXPECT_THAT(refusal("collective: all-reduce\nmembers: 4\ntraces: ring\n"), HasSubstr("size"));
}

TEST(Program, AnotherRootTurnsTheMembers) {
  const Program program = program_of(
      "collective: broadcast\nmembers: 3\ntransfers:\n"
      "  - {from: 0, to: 1, chunks: [0, 1, 2]}\n  - {from: 1, to: 2, chunks: [0, 1, 2]}\n");
  test::RunClock clock(world_of(program, 300, 2));
  clock.run();
  EXPECT_TRUE(clock.all_over());
  EXPECT_EQ(clock.sent(2, 0), 300U);
  EXPECT_EQ(clock.sent(0, 1), 300U);
  EXPECT_EQ(clock.sent(1, 2), 0U);
}

TEST(Program, EndsUnderAnyDelaysAndGoesOnFromItsState) {
  for (const std::uint32_t members : {2U, 3U, 7U}) {
    const Program program = program_of(ring_all_gather(members));
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      RandomStream random(seed, EntityId(0), 0);
      test::RunClock clock(world_of(program, 1'001, 0, [&random] {
        return static_cast<std::int64_t>(random.next_uniform() * 50'000);
      }));
      clock.run(mix64(seed) % 40);
      clock.save_and_restore();
      clock.go_on(1'000'000);
      EXPECT_TRUE(clock.all_over()) << members << " members, seed " << seed;
      EXPECT_EQ(clock.kept(), 0U);
    }
  }
}

TEST(Program, IsRefusedWhereItGoesWrong) {
  const std::string head = "collective: all-reduce\nmembers: 2\nchunks: 2\ntransfers:\n";
  EXPECT_THAT(refusal(head + "  - {from: 0, to: 1, chunks: [0, 1], add: true}\n"),
              HasSubstr("at last member 0 has chunk 0 without the contribution of 1"));
  EXPECT_THAT(refusal(head + "  - {from: 0, to: 1, chunks: [0, 1], add: true}\n"
                             "  - {from: 0, to: 1, chunks: [1], add: true}\n"),
              HasSubstr("p.yaml:6:"));
  EXPECT_THAT(refusal(head + "  - {from: 0, to: 1, chunks: [0, 1], add: true}\n"
                             "  - {from: 0, to: 1, chunks: [1], add: true}\n"),
              HasSubstr("for the second time"));
  EXPECT_THAT(refusal("collective: all-gather\nmembers: 2\ntransfers:\n"
                      "  - {from: 0, to: 1, chunks: [1]}\n"),
              HasSubstr("member 0 has nothing there to send"));
  EXPECT_THAT(refusal(head + "  - {from: 0, to: 0, chunks: [0]}\n"),
              HasSubstr("a member cannot send to itself"));
  EXPECT_THAT(refusal(head + "  - {from: 0, to: 1, chunks: [2]}\n"),
              HasSubstr("chunks are numbered from 0 to 1"));
  EXPECT_THAT(refusal(head + "  - {from: 0, to: 1, chunks: [1, 1]}\n"),
              HasSubstr("names chunk 1 twice"));
  EXPECT_THAT(refusal(head + "  - {from: 0, to: 5, chunks: [1]}\n"),
              ::testing::Not(HasSubstr("cannot send to itself")));
  EXPECT_THAT(refusal("collective: all-reduce\nmembers: 3\nchunks: 4\n"),
              HasSubstr("must be a multiple of members, 3"));
  EXPECT_THAT(refusal("collective: sort\nmembers: 3\n"),
              HasSubstr("'sort' is no collective that can be written"));
  EXPECT_THAT(refusal("x", "p.txt"), HasSubstr("a collective is a .yaml file, or an .xml file"));
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST(Program, MscclIsRefusedWhereItGoesWrong) {
  EXPECT_THAT(refusal(with(two_gpus, "type=\"rrcs\"", "type=\"rcs\""), "two.xml"),
              HasSubstr("has chunk 0 without the contribution of 0"));
  EXPECT_THAT(refusal(with(two_gpus, "type=\"rrcs\"", "type=\"send\""), "two.xml"),
              HasSubstr("two.xml:6:"));
  EXPECT_THAT(refusal(with(two_gpus, "type=\"rrcs\"", "type=\"nop\""), "two.xml"),
              HasSubstr("waits for ever"));
  EXPECT_THAT(refusal(with(two_gpus, "</algo>", ""), "two.xml"), HasSubstr("is no XML"));
  // What is wrong with the whole is at the beginning of it.
  EXPECT_THAT(refusal(with(two_gpus, "coll=\"allreduce\"", "coll=\"custom\""), "two.xml"),
              ::testing::ContainsRegex("two.xml:[0-9]+:[0-9]+: error: coll 'custom' is no"));
  EXPECT_THAT(refusal(with(two_gpus, "type=\"rrcs\"", "type=\"rcs\""), "two.xml"),
              ::testing::ContainsRegex("two.xml:[0-9]+:[0-9]+: error: at last"));
  EXPECT_THAT(refusal(with(two_gpus, "cnt=\"1\"", "cnt=\"x\""), "two.xml"),
              HasSubstr("cnt is 'x', not a number from 1 to 65536"));
  EXPECT_THAT(refusal("<!DOCTYPE a [<!ENTITY b \"c\">]><algo/>", "two.xml"),
              HasSubstr("a document type is not read"));
  EXPECT_THAT(refusal("<plan/>", "two.xml"), HasSubstr("element plan is none of MSCCL's"));
  EXPECT_THAT(refusal("", "two.xml"), HasSubstr("is no XML"));
}

}  // namespace
}  // namespace tessera::collective::program_test
