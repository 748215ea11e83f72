// In which order members send to all others.
#include "tessera/collective/exchange_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "tessera/collective/stacked/stacked_run.hpp"

namespace tessera::collective::exchange_order_test {
namespace {

using ::testing::ElementsAre;

TEST(ExchangeOrder, GoesByBlocksAndTurnsWithinThem) {
  const ExchangeOrder order{6, 3};
  std::vector<Member> partners;
  for (std::uint32_t turn = 1; turn < 6; ++turn) {
    partners.push_back(order.to(1, turn));
  }
  EXPECT_THAT(partners, ElementsAre(2, 0, 4, 5, 3));
  const ExchangeOrder plain{6, 1};
  EXPECT_EQ(plain.to(4, 3), 1U);
  EXPECT_EQ(plain.from(1, 3), 4U);
}

TEST(ExchangeOrder, EveryMemberHearsFromOneInEveryTurnAndFromAllInTheEnd) {
  const std::vector<ExchangeOrder> orders{{2, 1}, {2, 2},  {6, 1},  {6, 2}, {6, 3},
                                          {6, 6}, {16, 8}, {24, 8}, {9, 3}, {7, 7}};
  for (const ExchangeOrder& order : orders) {
    std::vector<std::set<Member>> met(order.size);
    for (std::uint32_t turn = 1; turn < order.size; ++turn) {
      std::set<Member> receivers;
      for (Member member = 0; member < order.size; ++member) {
        const Member to = order.to(member, turn);
        EXPECT_NE(to, member);
        EXPECT_EQ(order.from(to, turn), member);
        receivers.insert(to);
        met[member].insert(to);
      }
      EXPECT_EQ(receivers.size(), order.size);
    }
    for (const std::set<Member>& each : met) {
      EXPECT_EQ(each.size(), order.size - 1);
    }
  }
}

TEST(BlockOnServers, IsWhatAllServersHaveWholeNumbersOfInTheOrderOfMembers) {
  const auto block = [](const std::vector<std::uint32_t>& servers) {
    return block_on_servers(servers);
  };
  EXPECT_EQ(block({0, 0, 0, 0, 1, 1, 1, 1}), 4U);
  EXPECT_EQ(block({0, 0, 0, 0, 2, 2}), 2U);
  EXPECT_EQ(block({0, 0, 0, 2}), 1U);
  EXPECT_EQ(block({0, 1, 0, 1}), 1U);
  EXPECT_EQ(block({5, 5, 3, 3, 5, 5}), 2U);
  EXPECT_EQ(block({0, 0, 0}), 3U);
}

TEST(Direct, InBlocksItsPartnersAreThoseOfTheOrderInEachPhase) {
  const auto direct = algorithms().at("direct")({3})->in_blocks(4);
  ASSERT_NE(direct, nullptr);
  EXPECT_FALSE(direct->turns_round());
  EXPECT_EQ(algorithms().at("ring")({})->in_blocks(4), nullptr);
  const ExchangeOrder order{8, 4};
  for (const Kind kind : {Kind::all_to_all, Kind::reduce_scatter, Kind::all_gather, Kind::barrier,
                          Kind::all_reduce}) {
    for (std::uint32_t number = 0; number < direct->steps(kind, 8); ++number) {
      const Step step = direct->step(kind, 8, 5, Bytes(80), number);
      EXPECT_EQ(step.send_to, order.to(5, number % 7 + 1));
      EXPECT_EQ(step.receive_from, order.from(5, number % 7 + 1));
      EXPECT_EQ(step.send_step, number);
    }
  }
}

// Two servers of six members: four channels divide the members, but not those of a server.
TEST(Direct, TurnsWithinItsBlocksInEveryChannel) {
  const auto direct = algorithms().at("direct")({})->in_blocks(6);
  StackedDimension twelve;
  twelve.size = 12;
  const auto no_time = [](std::uint32_t, Member, Member, Bytes) { return SimTime::zero(); };
  for (const std::uint32_t channels : {2U, 4U, 6U, 12U}) {
    const StackedCollective collective = plan_channels(
        Kind::all_to_all, Bytes(4800), {twelve, direct.get(), {}}, channels, {}, {}, no_time);
    for (std::uint32_t number = 0; number < channels; ++number) {
      const Channel channel = collective.channel_of(number);
      for (std::uint32_t turn = 0; turn < 5; ++turn) {
        for (Member member = 0; member < 12; ++member) {
          const Step step =
              direct->step(Kind::all_to_all, 12, channel.turned(member), Bytes(1200), turn);
          EXPECT_EQ(channel.turned_back(step.send_to) / 6, member / 6)
              << channels << " channels, " << number << ", turn " << turn;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::collective::exchange_order_test
