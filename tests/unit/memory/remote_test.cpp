#include "tessera/memory/remote.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace tessera::memory::remote_test {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<RemoteMemory> made(const std::string& text) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("m.yaml", text, diagnostics), "", diagnostics);
  auto memory = read_remote_memory(section);
  section.finish();
  diagnostics.throw_if_any();
  return memory;
}

SimTime ns(std::int64_t count) {
  return SimTime::from_ps(count * 1000);
}

TEST(PipelinedTime, EveryStageTakesItsSlowestLink) {
  const std::vector<SimTime> links{ns(1), ns(5), ns(2)};
  // 1; then 5 in every stage in which the second link has a chunk; then 2.
  EXPECT_EQ(pipelined_time(links, 1), ns(8));
  EXPECT_EQ(pipelined_time(links, 2), ns(1 + 5 + 5 + 2));
  EXPECT_EQ(pipelined_time(links, 3), ns(1 + 5 * 3 + 2));
  EXPECT_EQ(pipelined_time(links, 1000), ns(1 + 5 * 1000 + 2));
  EXPECT_EQ(pipelined_time(std::vector<SimTime>{ns(3)}, 7), ns(21));
}

// The example of the paper: 16 nodes of 16 GPUs, four switches, eight memories. With a chunk as
// large as what a link carries in all there is one stage a link: 8 W, 4 W, W.
constexpr const char* example =
    "{kind: hierarchical, nodes: 16, npus: 16, switches: 4, groups: 8, chunk: 8 GB,\n"
    " memory_bandwidth: 100 GB/s, node_bandwidth: 100 GB/s, npu_bandwidth: 100 GB/s}";

TEST(RemoteMemory, TheExampleOfThePaper) {
  const Bytes tensor(1'000'000);
  const auto memory = made(example);
  const std::int64_t w = 10'000;  // ns on a link
  EXPECT_EQ(memory->access_time(tensor, InSwitch::none), ns((8 + 4 + 1) * w));
  // Gathered: 8 W from each memory to each switch, 64 W from a switch to each node, 256 W to a GPU.
  EXPECT_EQ(memory->access_time(tensor, InSwitch::collective), ns((8 + 64 + 256) * w));
}

TEST(RemoteMemory, SmallChunksHideAllButTheSlowestLink) {
  const Bytes tensor(1'000'000);
  std::string text = example;
  text.replace(text.find("8 GB"), 4, "1 kB");
  const auto memory = made(text);
  const SimTime time = memory->access_time(tensor, InSwitch::none);
  EXPECT_GT(time, ns(80'000));
  EXPECT_LT(time, ns(80'100));
}

TEST(RemoteMemory, TwiceTheGroupsTakeHalfTheTimeWhereTheyAreTheLimit) {
  const auto eight = made(example);
  std::string text = example;
  text.replace(text.find("groups: 8"), 9, "groups: 16");
  text.replace(text.find("8 GB"), 4, "1 kB");
  std::string before = example;
  before.replace(before.find("8 GB"), 4, "1 kB");
  const double ratio = made(before)->access_time(Bytes(1'000'000'000), InSwitch::none).seconds() /
                       made(text)->access_time(Bytes(1'000'000'000), InSwitch::none).seconds();
  EXPECT_NEAR(ratio, 2, 1e-3);
}

TEST(RemoteMemory, LinksOfTheirOwnAndOfServers) {
  const auto own = made("{kind: per-npu, bandwidth: 100 GB/s, latency: 1 us}");
  EXPECT_EQ(own->access_time(Bytes(1'000'000), InSwitch::none), ns(11'000));
  const auto shared = made("{kind: per-node, npus: 8, bandwidth: 100 GB/s, latency: 1 us}");
  EXPECT_EQ(shared->access_time(Bytes(1'000'000), InSwitch::none), ns(81'000));
  EXPECT_FALSE(shared->gathers());
}

// What the busiest link of a small ring or mesh carries, counted link by link.
TEST(RemoteMemory, LoadsOfRingAndMeshAreThoseCounted) {
  for (const std::uint32_t n : {1U, 2U, 3U, 4U, 7U, 8U}) {
    std::vector<std::uint64_t> up(n, 0);
    for (std::uint32_t from = 0; from < n; ++from) {
      for (std::uint32_t distance = 1; distance <= n / 2; ++distance) {
        const bool goes_down = 2 * distance != n && false;
        for (std::uint32_t hop = 0; hop < distance && !goes_down; ++hop) {
          ++up[(from + hop) % n];
        }
      }
    }
    const auto memory =
        made("{kind: ring, npus: " + std::to_string(n) + ", bandwidth: 1 GB/s, chunk: 1 TB}");
    const std::uint64_t tensor = 1'000'000ULL * n;
    const SimTime time = memory->access_time(Bytes(tensor), InSwitch::none);
    const auto hops = static_cast<std::int64_t>(n / 2);
    EXPECT_EQ(time, ns(static_cast<std::int64_t>(up[0]) * 1'000'000 * hops)) << n;
  }
  for (const auto& [rows, columns] : {std::pair{2U, 3U}, std::pair{4U, 4U}, std::pair{1U, 5U}}) {
    // Along rows, then along columns; a link carries what passes it.
    std::uint64_t most = 0;
    for (std::uint32_t cut = 0; cut + 1 < columns; ++cut) {
      most = std::max<std::uint64_t>(most, std::uint64_t{cut + 1} * (columns - cut - 1) * rows);
    }
    for (std::uint32_t cut = 0; cut + 1 < rows; ++cut) {
      most = std::max<std::uint64_t>(most, std::uint64_t{cut + 1} * (rows - cut - 1) * columns);
    }
    const auto memory = made("{kind: mesh, rows: " + std::to_string(rows) + ", columns: " +
                             std::to_string(columns) + ", bandwidth: 1 GB/s, chunk: 1 TB}");
    const std::uint64_t pairs = std::uint64_t{rows} * columns;
    const SimTime time = memory->access_time(Bytes(1'000'000 * pairs), InSwitch::none);
    EXPECT_EQ(time, ns(static_cast<std::int64_t>(most * 1'000'000 * (rows + columns - 2))));
  }
}

// Longer ways than any list of links could have.
TEST(RemoteMemory, MeshesMayBeLarge) {
  const auto memory = made(
      "{kind: mesh, rows: 1000000000, columns: 3, chunk: 1 kB, bandwidth: 1 GB/s, latency: 0 ns}");
  EXPECT_GT(memory->access_time(Bytes(1000), InSwitch::none), ns(1'000'000'000));
}

TEST(RemoteMemory, RefusesAccessesThatTogetherAreBeyondCounting) {
  const auto memory = made("{kind: per-node, npus: 1000000, bandwidth: 1 EB/s, latency: 0 ns}");
  EXPECT_NO_THROW(memory->access_time(Bytes(std::uint64_t{1} << 40U), InSwitch::none));
  EXPECT_THROW(memory->access_time(Bytes(std::uint64_t{1} << 60U), InSwitch::none), ModelError);
}

TEST(RemoteMemory, SwitchesShareTheLinksAbove) {
  const auto memory = made(
      "{kind: switches, chunk: 1 TB, levels: [{members: 4, bandwidth: 10 GB/s},"
      " {members: 2, bandwidth: 20 GB/s}]}");
  // 4 MB through the upper link, 1 MB through the lower.
  EXPECT_EQ(memory->access_time(Bytes(1'000'000), InSwitch::none), ns(200'000 + 100'000));
  // 8 MB through both.
  EXPECT_EQ(memory->access_time(Bytes(1'000'000), InSwitch::collective), ns(400'000 + 800'000));
}

TEST(RemoteMemory, KnowsTheNpusThatLoadTogether) {
  const std::string link = ", bandwidth: 1 GB/s}";
  EXPECT_EQ(made(example)->npus(), 256U);
  EXPECT_EQ(made("{kind: per-npu" + link)->npus(), std::nullopt);
  EXPECT_EQ(made("{kind: per-node, npus: 8" + link)->npus(), 8U);
  EXPECT_TRUE(made("{kind: per-node, npus: 8" + link)->is_repeated());
  EXPECT_EQ(made("{kind: ring, npus: 7" + link)->npus(), 7U);
  EXPECT_EQ(made("{kind: mesh, rows: 3, columns: 5" + link)->npus(), 15U);
  EXPECT_EQ(made("{kind: switches, levels: [{members: 4, bandwidth: 1 GB/s}, {members: 3, "
                 "bandwidth: 1 GB/s}]}")
                ->npus(),
            12U);
}

TEST(RemoteMemory, ComplainsAboutItsKeys) {
  EXPECT_EQ(made("{}"), nullptr);
  const auto complaint = [](const std::string& text) {
    try {
      made(text);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(complaint("{kind: rings}"), HasSubstr("ring"));
  EXPECT_THAT(complaint("{kind: ring, bandwidth: 1 GB/s}"), HasSubstr("npus"));
  EXPECT_THAT(complaint("{kind: switches}"), HasSubstr("levels"));
  EXPECT_THAT(complaint("{kind: per-npu, bandwidth: 0 B/s}"), HasSubstr("bandwidth"));
}

}  // namespace
}  // namespace tessera::memory::remote_test
