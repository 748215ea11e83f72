// Small parts of the executor of served models: what routers remember, what is handed over layer by
// layer, words between the host and units, and what is said of requests.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "serving/counts.hpp"
#include "serving/layer_carries.hpp"
#include "serving/prefix_routes.hpp"
#include "serving/service_counts.hpp"

namespace tessera::executor::serving_parts_test {
namespace {

SimTime at(std::int64_t ps) {
  return SimTime::from_ps(ps);
}

// As it was saved.
template <class Part>
Part again(const Part& part, Part other = Part()) {
  pdes::StateWriter writer;
  part.save(writer);
  pdes::StateReader reader(writer.bytes());
  other.restore(reader);
  EXPECT_TRUE(reader.at_end());
  return other;
}

TEST(PrefixRoutes, KnowBeginningsByReplica) {
  for (const unsigned last : {63U, 64U, 700U}) {
    const unsigned replicas = last + 1;
    PrefixRoutes routes(replicas);
    const std::vector<std::uint32_t> one{1, 2, 3};
    const std::vector<std::uint32_t> other{1, 2, 7};
    EXPECT_EQ(routes.known(one, 0, replicas), std::vector<std::uint32_t>(replicas));
    routes.sent(one, 0, 0);
    routes.sent(other, 0, last);
    for (const PrefixRoutes& now : {routes, again(routes, PrefixRoutes(replicas))}) {
      EXPECT_EQ(now.known(one, 0, replicas)[0], 3U);
      EXPECT_EQ(now.known(one, 0, replicas)[last], 2U) << "up to the first block that it has not";
      EXPECT_EQ(now.known(other, 0, replicas)[0], 2U);
      EXPECT_EQ(now.known(other, 0, replicas)[1], 0U) << "nothing was sent there";
      EXPECT_EQ(now.known(std::vector<std::uint32_t>{9, 1, 2}, 0, replicas)[0], 0U)
          << "no beginning";
      EXPECT_EQ(now.known({}, 0, replicas)[0], 0U);
      EXPECT_EQ(now.known(one, 0, 1), std::vector<std::uint32_t>{3}) << "of the first ones alone";
    }
  }
}

TEST(PrefixRoutes, KnowBeginningsByAdapter) {
  PrefixRoutes routes(2);
  const std::vector<std::uint32_t> blocks{1, 2, 3};
  routes.sent(blocks, 0, 0);
  routes.sent(blocks, 5, 1);
  for (const PrefixRoutes& now : {routes, again(routes, PrefixRoutes(2))}) {
    EXPECT_EQ(now.known(blocks, 0, 2), (std::vector<std::uint32_t>{3, 0}));
    EXPECT_EQ(now.known(blocks, 5, 2), (std::vector<std::uint32_t>{0, 3}));
    EXPECT_EQ(now.known(blocks, 1, 2), (std::vector<std::uint32_t>{0, 0}));
  }
}

// A step of slot 4 with which two requests leave.
Told step_with(std::uint32_t leaving) {
  Told step;
  step.slot = 4;
  step.words[1] = ShareOf{{leaving, 1}, 0, 0}.word();
  return step;
}

TEST(LayerCarries, LetAStepBeginOnceAllThatLeavesIsKnown) {
  LayerCarries carries;
  EXPECT_TRUE(carries.may_begin(step_with(0)));
  EXPECT_FALSE(carries.may_begin(step_with(2)));
  EXPECT_FALSE(carries.leave({4, 1, 5, 100}).has_value());
  EXPECT_FALSE(carries.leave({9, 2, 5, 100}).has_value()) << "of another step";
  LayerCarries restored = again(carries);
  const auto begins = restored.leave({4, 3, 6, 200});
  ASSERT_TRUE(begins.has_value());
  EXPECT_EQ(begins->slot, 4);
  EXPECT_EQ(restored.leaving().size(), 3U);
  EXPECT_FALSE(restored.leave({4, 8, 6, 200}).has_value()) << "it has begun";
  restored.end_step(4);
  ASSERT_EQ(restored.leaving().size(), 1U);
  EXPECT_EQ(restored.leaving()[0].step, 9);
}

TEST(LayerCarries, LetAStepBeginAtOnceWhereAllWasToldBefore) {
  LayerCarries carries;
  carries.leave({4, 1, 5, 100});
  carries.leave({4, 2, 5, 100});
  EXPECT_TRUE(carries.may_begin(step_with(2)));
}

TEST(LayerCarries, CountLayersThatHaveComeBySlot) {
  LayerCarries carries;
  EXPECT_FALSE(carries.has_come(1, 3));
  EXPECT_FALSE(carries.has_come(2, 2));
  EXPECT_FALSE(carries.has_come(1, 3));
  LayerCarries restored = again(carries);
  EXPECT_TRUE(restored.has_come(2, 2));
  EXPECT_TRUE(restored.has_come(1, 3));
  EXPECT_FALSE(restored.has_come(1, 3)) << "the next that has the slot begins anew";
  EXPECT_TRUE(restored.has_come(7, 1));
}

// The largest values of all fields, next to the smallest of others.
TEST(ServingWords, KeepEveryField) {
  for (const std::uint32_t low : {0U, 1U}) {
    const std::uint32_t high = 1 - low;
    const ExchangeOf exchange{static_cast<std::uint16_t>(low * 0xFFFF),
                              static_cast<std::uint16_t>(high * 0xFFFF), low * 0xFFFFFFFFU};
    EXPECT_EQ(ExchangeOf::from(exchange.word()), exchange);
    const ShareOf share = ShareOf::from(ShareOf{
        {low * 0xFFFF, high * 0xFFFF}, static_cast<std::uint8_t>(low * 0xFF), high * 0xFFFFFF}
                                            .word());
    EXPECT_EQ(share.cores.first, low * 0xFFFF);
    EXPECT_EQ(share.cores.count, high * 0xFFFF);
    EXPECT_EQ(share.priority, low * 0xFF);
    EXPECT_EQ(share.step, high * 0xFFFFFF);
    const std::uint64_t most_bytes = (std::uint64_t{1} << CarryOf::byte_bits) - 1;
    const CarryOf carry = CarryOf::from(
        CarryOf{low * ((1U << CarryOf::npu_bits) - 1), high * most_bytes, low != 0, high != 0}
            .word());
    EXPECT_EQ(carry.npu, low * ((1U << CarryOf::npu_bits) - 1));
    EXPECT_EQ(carry.bytes, high * most_bytes);
    EXPECT_EQ(carry.by_layers, low != 0);
    EXPECT_EQ(carry.has_come, high != 0);
    const LayersOf layers = LayersOf::from(LayersOf{low * ((1U << LayersOf::token_bits) - 1),
                                                    static_cast<std::uint16_t>(high * 0xFFFF)}
                                               .bytes());
    EXPECT_EQ(layers.tokens, low * ((1U << LayersOf::token_bits) - 1));
    EXPECT_EQ(layers.step, high * 0xFFFF);
    for (const MoveOf::Stage stage :
         {MoveOf::Stage::told, MoveOf::Stage::asked, MoveOf::Stage::over}) {
      const MoveOf move = MoveOf::from(
          MoveOf{low * ((std::uint64_t{1} << MoveOf::byte_bits) - 1), high * 63, low != 0, stage}
              .word());
      EXPECT_EQ(move.bytes, low * ((std::uint64_t{1} << MoveOf::byte_bits) - 1));
      EXPECT_EQ(move.tenant, high * 63);
      EXPECT_EQ(move.out, low != 0);
      EXPECT_EQ(move.stage, stage);
    }
  }
}

// Cores 3 to 6 share an operator; which has the first tiles goes around from operator to operator.
TEST(ServingWords, CoresTakeTurnsAtTheFirstTiles) {
  const ShareOf share{{3, 4}, 0, 0};
  EXPECT_EQ(share.first_group(0, 3), 0U);
  EXPECT_EQ(share.first_group(0, 6), 3U);
  EXPECT_EQ(share.first_group(1, 3), 3U);
  EXPECT_EQ(share.first_group(1, 4), 0U);
  EXPECT_EQ(share.first_group(4, 3), 0U);
}

TEST(ServedTimes, OfATokenAreTheMeanOfAllButTheFirst) {
  EXPECT_FALSE((ServedTimes{at(10), at(10), 1}).a_token().has_value());
  EXPECT_EQ((ServedTimes{at(10), at(110), 2}).a_token(), at(100));
  EXPECT_EQ((ServedTimes{at(10), at(110), 4}).a_token(), at(33));
}

// Each target is kept by what is as long as it, and missed by what is longer.
TEST(ServedTimes, MeetTargetsOnlyAllTogether) {
  const ServedTimes times{at(10), at(110), 5};
  EXPECT_TRUE(times.meet({}));
  EXPECT_TRUE(times.meet({at(10), at(25), at(110)}));
  EXPECT_FALSE(times.meet({at(9), at(25), at(110)}));
  EXPECT_FALSE(times.meet({at(10), at(24), at(110)}));
  EXPECT_FALSE(times.meet({at(10), at(25), at(109)}));
  EXPECT_TRUE((ServedTimes{at(10), at(10), 1}).meet({at(10), at(0), at(10)}));
}

TEST(ServiceCounts, CountWhatIsLateAndWhatIsMet) {
  Service service;
  const Targets targets{at(50), at(20), at(200)};
  ServiceSettings tenant;
  tenant.of_language = true;
  give_token(service, at(100), std::nullopt, targets);  // the first one
  give_token(service, at(120), at(100), targets);
  give_token(service, at(141), at(120), targets);  // 21 ps
  serve(service, {at(50), at(91), 3}, 2, tenant, targets, true);
  serve(service, {at(51), at(91), 3}, 1, tenant, targets, true);
  serve(service, {at(51), at(91), 3}, 1, tenant, targets, false);  // its first token was counted
  EXPECT_EQ(service.tokens, 3U);
  EXPECT_EQ(service.late_tokens, 1U);
  EXPECT_EQ(service.between_tokens.count(), 2U);
  EXPECT_EQ(service.served, 3U);
  EXPECT_EQ(service.samples, 4U);
  EXPECT_EQ(service.first_token.count(), 2U);
  EXPECT_EQ(service.late_requests, 1U);
  EXPECT_EQ(service.met, 1U);
}

// Latency of a language model was no reason to be late.
TEST(ServiceCounts, ARequestIsLateOnceByItsFirstTokenOrItsEnd) {
  ServiceSettings tenant;
  tenant.of_language = true;
  const Targets targets{at(50), SimTime::never(), at(200)};
  const auto late_of = [&](const ServedTimes& times, bool with_first) {
    Service service;
    serve(service, times, 0, tenant, targets, with_first);
    return service.late_requests;
  };
  EXPECT_EQ(late_of({at(50), at(200), 3}, true), 0U);
  EXPECT_EQ(late_of({at(51), at(200), 3}, true), 1U);
  EXPECT_EQ(late_of({at(50), at(201), 3}, true), 1U);
  EXPECT_EQ(late_of({at(51), at(201), 3}, true), 1U);
  // Another one has counted the first token.
  EXPECT_EQ(late_of({at(50), at(201), 3}, false), 1U);
  EXPECT_EQ(late_of({at(51), at(201), 3}, false), 0U);
}

// Of models without tokens the whole time counts.
TEST(ServiceCounts, OfSamplesAreLateByTheirWholeTime) {
  Service service;
  const ServiceSettings tenant;
  const Targets targets{at(1), at(1), at(200)};
  serve(service, {at(0), at(200), 0}, 8, tenant, targets, true);
  serve(service, {at(0), at(201), 0}, 8, tenant, targets, true);
  EXPECT_EQ(service.late_requests, 1U);
  EXPECT_EQ(service.met, 1U);
  EXPECT_EQ(service.first_token.count(), 0U);
  EXPECT_EQ(service.latency.most(), 201U);
}

TEST(ServiceCounts, AreTheSameAfterACheckpoint) {
  Service service;
  const Targets targets{at(5), at(5), at(5)};
  ServiceSettings tenant;
  tenant.of_language = true;
  service.again = 3;
  give_token(service, at(9), at(2), targets);
  serve(service, {at(6), at(20), 4}, 2, tenant, targets, true);
  serve(service, {at(2), at(4), 1}, 5, tenant, targets, true);
  pdes::StateWriter writer;
  save(service, writer);
  Service other;
  pdes::StateReader reader(writer.bytes());
  restore(other, reader);
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(other.served, 2U);
  EXPECT_EQ(other.samples, 7U);
  EXPECT_EQ(other.tokens, 1U);
  EXPECT_EQ(other.again, 3U);
  EXPECT_EQ(other.late_requests, 1U);
  EXPECT_EQ(other.late_tokens, 1U);
  EXPECT_EQ(other.met, 1U);
  EXPECT_EQ(other.first_token.mean(), 4U);
  EXPECT_EQ(other.between_tokens.most(), 7U);
  EXPECT_EQ(other.latency.mean(), 12U);
}

// Whatever can be held against each other is, by kind of tenant.
TEST(ServingBalances, HoldWhatCameAgainstWhatWasDone) {
  ServiceSettings tenant;
  tenant.name = "a";
  ServingCounts asked;
  serving::Request request;
  request.prompt = 100;
  request.generate = 8;
  request.samples = 2;
  asked.arrive(request);
  asked.take_over(request);
  EXPECT_EQ(asked.requests, 2U);
  EXPECT_EQ(asked.samples, 4U);
  EXPECT_EQ(asked.held, 2U * 107);
  EXPECT_EQ(asked.generated, 15U) << "others gave the first token";
  EXPECT_EQ(balances_of(tenant, asked, {}, {}, {}).size(), 3U);
  tenant.of_language = true;
  serving::BatchCounts batches;
  batches.held = 214;
  batches.reused = 14;
  asked.computed_tokens = 200;
  const std::vector<Balance> balances = balances_of(tenant, asked, {}, batches, {4, 4});
  ASSERT_EQ(balances.size(), 6U);
  EXPECT_EQ(balances[2].what, "of tenant a, tokens of requests that came and of those served");
  EXPECT_EQ(balances[2].out, balances[2].in);
  EXPECT_EQ(balances[3].out, balances[3].in);
  EXPECT_EQ(balances[0].out, 2U);
  EXPECT_EQ(balances[0].in, 0U);
  tenant.tier.emplace();
  tenant.classes.emplace_back();
  const std::vector<Balance> more = balances_of(tenant, asked, {}, batches, {4, 4});
  ASSERT_EQ(more.size(), 10U);
  EXPECT_EQ(more.back().out, 4U);
  EXPECT_EQ(more.back().in, 4U);
}

}  // namespace
}  // namespace tessera::executor::serving_parts_test
