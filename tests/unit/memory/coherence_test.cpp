#include "tessera/memory/coherent/coherence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera::memory::coherence_test {
namespace {

using ::testing::HasSubstr;

Coherence made(const std::string& text) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("m.yaml", text, diagnostics), "", diagnostics);
  Coherence coherence = read_coherence(section);
  section.finish();
  diagnostics.throw_if_any();
  return coherence;
}

std::string complaint(const std::string& text) {
  try {
    made(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

SimTime ns(std::int64_t count) {
  return SimTime::from_ps(count * 1000);
}

void expect(const AccessMessages& messages, std::uint64_t opening, std::uint64_t down,
            std::uint64_t up, std::uint64_t completion) {
  EXPECT_EQ(messages.opening.count(), opening);
  EXPECT_EQ(messages.down.count(), down);
  EXPECT_EQ(messages.up.count(), up);
  EXPECT_EQ(messages.completion.count(), completion);
}

TEST(Coherence, WholeLinesOfWhatLocalMemoryLacks) {
  EXPECT_EQ(made("{}").lines_of(Bytes(1)), 1U);
  EXPECT_EQ(made("{}").lines_of(Bytes(128)), 2U);
  EXPECT_EQ(made("{}").lines_of(Bytes(129)), 3U);
  const Coherence hits = made("{hit_rate: 0.25}");
  EXPECT_EQ(hits.lines_of(Bytes(6400)), 75U);
  EXPECT_EQ(hits.local_part(Bytes(6400)), Bytes(1600));
  EXPECT_EQ(made("{hit_rate: 1}").lines_of(Bytes(6400)), 0U);
  // 16 B of each line: four times as many.
  EXPECT_EQ(made("{used_of_line: 0.25}").lines_of(Bytes(6400)), 400U);
  // 0.75 6400 / (128 0.5)
  EXPECT_EQ(made("{hit_rate: 0.25, used_of_line: 0.5, line: 128 B}").lines_of(Bytes(6400)), 75U);
}

TEST(Coherence, LoadsReadAndWriteStoresWrite) {
  const Coherence mixed = made("{reads: 0.7}");
  EXPECT_EQ(mixed.split(10, false).reads, 7U);
  EXPECT_EQ(mixed.split(10, false).writes, 3U);
  EXPECT_EQ(mixed.split(1, false).reads, 1U);
  EXPECT_EQ(mixed.split(10, true).reads, 0U);
  EXPECT_EQ(mixed.split(10, true).writes, 10U);
}

TEST(Coherence, WithoutFlitsARequestAndTheData) {
  expect(made("{}").messages({100, 0}), 64, 6400, 0, 0);
  expect(made("{}").messages({0, 100}), 0, 0, 6400, 64);
  // 60 lines down, 40 up; 64 B of what goes up open, 64 B of what goes down end it.
  expect(made("{}").messages({60, 40}), 64, 60 * 64 - 64, 40 * 64 - 64, 64);
  // Owners are asked before the data has come.
  expect(made("{dirty: 1}").messages({0, 100}), 64, 64, 6400 - 64, 64);
}

// Slots of 100 reads: 100 up, 100 + 400 down; four in 68 B.
TEST(Coherence, SmallFlits) {
  const Coherence coherence = made("{flit: 68 B}");
  expect(coherence.messages({100, 0}), 68, 125 * 68 - 68, 25 * 68 - 68, 68);
  expect(coherence.messages({0, 100}), 68, 25 * 68 - 68, 125 * 68 - 68, 68);
  // One line: five slots are two flits.
  expect(coherence.messages({1, 0}), 68, 136, 0, 0);
  expect(coherence.messages({0, 1}), 0, 0, 136, 68);
  // 60 reads and 40 writes: 100 + 160 slots up, 100 + 240 down.
  expect(coherence.messages({60, 40}), 68, 85 * 68 - 68, 65 * 68 - 68, 68);
}

// Fifteen slots in 256 B: 500 are 33.3 flits, 100 are 6.7.
TEST(Coherence, LargeFlits) {
  expect(made("{flit: 256 B}").messages({100, 0}), 256, 33 * 256, 6 * 256, 256);
  // Two headers in a slot: 50 + 400 are 30 flits, 50 are 3.3.
  expect(made("{flit: 256 B, headers: 2}").messages({100, 0}), 256, 29 * 256, 3 * 256, 256);
  // Lines of 128 B have eight data slots: 900 are 60 flits.
  expect(made("{flit: 256 B, line: 128 B}").messages({100, 0}), 256, 59 * 256, 6 * 256, 256);
}

// 64 lines in 400 ns are 10.24 GB/s; the first 64 of 640 are under way at once.
TEST(Coherence, LittlesLaw) {
  const Coherence coherence = made("{outstanding: 64}");
  EXPECT_EQ(coherence.least_time(640, ns(400)), ns(9 * 400));
  EXPECT_EQ(coherence.least_time(64, ns(400)), SimTime::zero());
  EXPECT_EQ(coherence.least_time(65, ns(400)), SimTime::from_ps(400'000 / 64));
  EXPECT_EQ(coherence.limit(Bytes(640 * 64), 640, ns(400))->bytes_per_second(),
            640ULL * 64 * 1'000'000'000 / 3600);
  EXPECT_FALSE(coherence.limit(Bytes(64 * 64), 64, ns(400)).has_value());
  EXPECT_FALSE(made("{}").limit(Bytes(1 << 30), 1 << 24, ns(400)).has_value());
}

// 1000 lines: 100 are dirty, of 200 written ones 180 have 2 sharers each, 50 are lost (5 of them
// dirty): 100 + 360 + 50 snoops, 105 answers with data. Two owners: 255 and 52.5 each.
TEST(Coherence, MessagesToOwners) {
  const std::string keys = "sharers: 2, dirty: 0.1, filter_miss: 0.05";
  const Coherence plain = made("{" + keys + "}");
  EXPECT_TRUE(plain.has_directory());
  EXPECT_EQ(plain.owners(), 2U);
  const auto messages = plain.owner_messages({800, 200});
  ASSERT_TRUE(messages.has_value());
  EXPECT_EQ(messages->snoop, Bytes(64));
  EXPECT_EQ(messages->answer, Bytes(53 * 64));
  // 255 slots are 63.75 flits; 255 + 53 * 4 = 467 are 116.75.
  const auto flits = made("{flit: 68 B, " + keys + "}").owner_messages({800, 200});
  EXPECT_EQ(flits->snoop, Bytes(64 * 68));
  EXPECT_EQ(flits->answer, Bytes(117 * 68));
}

TEST(Coherence, LessThanAMessageIsNone) {
  EXPECT_FALSE(made("{dirty: 0.1}").owner_messages({9, 0}).has_value());
  EXPECT_TRUE(made("{dirty: 0.1}").owner_messages({10, 0}).has_value());
  EXPECT_FALSE(made("{sharers: 3}").owner_messages({1000, 0}).has_value());
  EXPECT_FALSE(made("{}").owner_messages({1000, 1000}).has_value());
  EXPECT_FALSE(made("{}").has_directory());
}

TEST(Coherence, DelayOfALine) {
  const SimTime trip = ns(500);
  EXPECT_EQ(made("{dirty: 0.2}").owner_delay({10, 0}, trip), ns(100));
  EXPECT_EQ(made("{sharers: 4}").owner_delay({10, 0}, trip), SimTime::zero());
  EXPECT_EQ(made("{sharers: 4}").owner_delay({0, 10}, trip), trip);  // all at once
  EXPECT_EQ(made("{sharers: 0.5}").owner_delay({0, 10}, trip), ns(250));
  EXPECT_EQ(made("{filter_miss: 0.1}").owner_delay({10, 0}, trip), ns(50));
  // 0.2 + 0.3 0.8 1 + 0.1
  EXPECT_EQ(made("{dirty: 0.2, sharers: 2, filter_miss: 0.1}").owner_delay({7, 3}, trip), ns(270));
}

TEST(Coherence, Complaints) {
  EXPECT_THAT(complaint("{line: 8 B}"), HasSubstr("line"));
  EXPECT_THAT(complaint("{flit: 68 B, line: 100 B}"), HasSubstr("slots of 16 B"));
  EXPECT_EQ(complaint("{line: 100 B}"), "");
  EXPECT_THAT(complaint("{outstanding: 0}"), HasSubstr("outstanding"));
  EXPECT_THAT(complaint("{used_of_line: 0}"), HasSubstr("used_of_line"));
  EXPECT_THAT(complaint("{flit: 64 B}"), HasSubstr("68 B"));
  EXPECT_THAT(complaint("{sharers: -1}"), HasSubstr("sharers"));
  EXPECT_THAT(complaint("{shares: 1}"), HasSubstr("sharers"));
}

}  // namespace
}  // namespace tessera::memory::coherence_test
