#include "tessera/serving/request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tessera/serving/batcher.hpp"
#include "tessera/serving/request_class.hpp"

namespace tessera::serving::request_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<RequestSource> source(const std::string& text, const RequestNeeds& needs) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("requests.yaml", text, diagnostics), "", diagnostics);
  auto made = read_requests(section, needs);
  section.finish();
  diagnostics.throw_if_any();
  return made;
}

constexpr RequestNeeds language{true, false, 7};

TEST(Requests, ComeAtEvenTimes) {
  const auto fixed =
      source("{arrivals: fixed, count: 3, interval: 5 us, begin: 1 us, prompt: 10, generate: 4}",
             language);
  ASSERT_EQ(fixed->count(), 3U);
  EXPECT_EQ(fixed->request(2).arrival, SimTime::from_ps(11'000'000));
  EXPECT_EQ(fixed->request(2).prompt, 10U);
}

TEST(Requests, ComeAtRandomWithTheRateGiven) {
  const auto poisson = source(
      "{arrivals: poisson, count: 20000, rate: 1000, prompt: [5, 14], generate: 4}", language);
  const double last = poisson->request(19'999).arrival.seconds();
  EXPECT_NEAR(last, 20, 0.5);  // three and a half standard deviations
  double squares = 0;
  double prompts = 0;
  for (std::uint64_t i = 1; i < 20'000; ++i) {
    const double gap = (poisson->request(i).arrival - poisson->request(i - 1).arrival).seconds();
    squares += gap * gap;
    const std::uint32_t prompt = poisson->request(i).prompt;
    ASSERT_GE(prompt, 5U);
    ASSERT_LE(prompt, 14U);
    prompts += prompt;
  }
  EXPECT_NEAR(squares / 20'000, 2e-6, 2e-7);  // of an exponential distribution
  EXPECT_NEAR(prompts / 20'000, 9.5, 0.1);
  EXPECT_EQ(poisson->largest().prompt, 14U);
}

TEST(Requests, AreTheSameForASeed) {
  const std::string text =
      "{arrivals: poisson, count: 50, rate: 10, prompt: [1, 900], generate: 1}";
  const auto one = source(text, language);
  const auto same = source(text, language);
  const auto other = source(text, {true, false, 8});
  EXPECT_EQ(one->request(40).arrival, same->request(40).arrival);
  EXPECT_EQ(one->request(40).prompt, same->request(40).prompt);
  EXPECT_NE(one->request(40).arrival, other->request(40).arrival);
}

TEST(Requests, OfAListAreSortedAndShareNamedPrefixes) {
  const auto list = source(
      "{arrivals: list, list: [{at: 2 us, prompt: 9, generate: 1, prefix: a, prefix_tokens: 4}, "
      "{at: 1 us, prompt: 8, generate: 1}, {at: 3 us, prompt: 9, generate: 1, prefix: a, "
      "prefix_tokens: 4}]}",
      language);
  EXPECT_EQ(list->request(0).prompt, 8U);
  EXPECT_EQ(list->request(0).prefix, 0U);
  EXPECT_EQ(list->request(1).prefix, list->request(2).prefix);
  EXPECT_NE(list->request(1).prefix, 0U);
  EXPECT_TRUE(list->shares_beginnings());
}

// Numbers as programs write them have digits that they do not mean.
TEST(Requests, HaveTimesRoundedToPicoseconds) {
  const auto list = source(
      "{arrivals: list, list: [{at: 0.30000000000000004 s, prompt: 9, generate: 1}, "
      "{at: 1.1102230246251565e-16 s, prompt: 9, generate: 1}]}",
      language);
  EXPECT_EQ(list->request(0).arrival, SimTime::zero());
  EXPECT_EQ(list->request(1).arrival, SimTime::from_ps(300'000'000'000));
  const auto fixed = source(
      "{arrivals: fixed, count: 3, interval: 0.333333333333333333 s, begin: 0.1000000000000000056 "
      "s, prompt: 10, generate: 4}",
      language);
  EXPECT_EQ(fixed->request(2).arrival, SimTime::from_ps(766'666'666'666));
  EXPECT_THROW(source("{arrivals: list, list: [{at: -0.30000000000000004 s, prompt: 9, "
                      "generate: 1}]}",
                      language),
               ConfigError);
}

TEST(Requests, OfAListMayBeLongerThanTheModelTakes) {
  const auto list = [](const std::string& too_long) {
    RequestNeeds needs = language;
    needs.longest = 100;
    return source(
        "{arrivals: list, list: [{at: 0 s, prompt: 90, generate: 10},\n {at: 1 s, prompt: "
        "9000, generate: 10}]" +
            too_long + "}",
        needs);
  };
  EXPECT_EQ(list(", too_long: skip")->count(), 1U);
  EXPECT_EQ(list(", too_long: clip")->request(1).prompt, 99U);
  EXPECT_THAT(list(", too_long: clip")->notes(),
              ElementsAre("1 requests of more than the 100 tokens that the model takes (sequence) "
                          "are cut to that many"));
  try {
    list("");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.diagnostics().front().line, 2);
    EXPECT_THAT(error.diagnostics().front().message,
                HasSubstr("a request of 9010 tokens with those it generates; the model takes 100"));
  }
}

TEST(Requests, SayWhetherTheyShareBeginnings) {
  const std::string drawn = "{arrivals: poisson, count: 2, rate: 10, prompt: 9, generate: 1";
  EXPECT_FALSE(source(drawn + "}", language)->shares_beginnings());
  EXPECT_TRUE(source(drawn + ", prefix: {tokens: 4}}", language)->shares_beginnings());
  EXPECT_FALSE(source("{arrivals: closed, count: 2, prompt: 9, generate: 1}", language)
                   ->shares_beginnings());
  const auto marked =
      with_marks(source(drawn + ", prefix: {tokens: 4}}", language), {{"one", 0, 1}}, {}, 7);
  EXPECT_TRUE(marked->shares_beginnings());
}

// Mean and variation of the gaps between 20 000 requests.
std::pair<double, double> gaps_of(const RequestSource& requests) {
  constexpr int count = 20'000;
  double sum = 0;
  double squares = 0;
  for (std::uint64_t i = 1; i < count; ++i) {
    const double gap = (requests.request(i).arrival - requests.request(i - 1).arrival).seconds();
    sum += gap;
    squares += gap * gap;
  }
  const double mean = sum / (count - 1);
  return {mean, std::sqrt(squares / (count - 1) - mean * mean) / mean};
}

TEST(Requests, ComeInBurstsWithTheVariationGiven) {
  for (const double variation : {0.3, 1.0, 2.5}) {
    const auto bursty = source("{arrivals: gamma, count: 20000, rate: 100, variation: " +
                                   std::to_string(variation) + ", prompt: 5, generate: 4}",
                               language);
    const auto [mean, found] = gaps_of(*bursty);
    EXPECT_NEAR(mean, 0.01, 0.01 * 4 * variation / std::sqrt(20'000)) << variation;
    EXPECT_NEAR(found / variation, 1, 0.06) << variation;
  }
}

TEST(Requests, ComeMoreOftenAtOneTimeOfDay) {
  const auto diurnal = source(
      "{arrivals: diurnal, count: 40000, rate: 100, period: 100 s, swing: 0.8, prompt: 5, "
      "generate: 4}",
      language);
  std::vector<double> quarters(4);
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    const double time = diurnal->request(i).arrival.seconds();
    quarters[static_cast<std::size_t>(time / 25) % 4] += 1.0 / 40'000;
  }
  // Around the beginning of a period 1/4 - 0.8 / (2 pi) of a half's requests, on each side.
  const double less = 0.25 - 0.8 / (2 * std::numbers::pi);
  EXPECT_NEAR(quarters[0], less, 0.01);
  EXPECT_NEAR(quarters[3], less, 0.01);
  EXPECT_NEAR(quarters[1], 0.5 - less, 0.01);
  EXPECT_NEAR(quarters[2], 0.5 - less, 0.01);
  EXPECT_NEAR(diurnal->request(39'999).arrival.seconds(), 400, 8);
}

TEST(Requests, OfAClosedLoopMayThink) {
  const auto random = source(
      "{arrivals: closed, clients: 3, count: 9, think: 2 s, prompt: 5, generate: 4}", language);
  double sum = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    sum += random->think(i).seconds() / 10'000;
  }
  EXPECT_NEAR(sum, 2, 0.08);
  const auto even = source(
      "{arrivals: closed, clients: 3, count: 9, think: 2 s, think_times: fixed, prompt: 5, "
      "generate: 4}",
      language);
  EXPECT_EQ(even->think(7), SimTime::from_ps(2'000'000'000'000));
}

TEST(Requests, OfAClosedLoopHaveNoEndInTheBackground) {
  const auto closed = source("{arrivals: closed, clients: 3, samples: 8}", {false, true, 1});
  EXPECT_FALSE(closed->count());
  EXPECT_EQ(closed->clients(), 3U);
  EXPECT_EQ(closed->request(1'000'000'007).samples, 8U);
}

// No more batches than can come: of requests that wait at a time, or one that is larger.
TEST(Requests, MakeBatchesOfSoManySamples) {
  constexpr RequestNeeds of_samples{false, false, 1};
  const auto possible = [&](const std::string& text, std::uint32_t most) {
    BatchOptions options;
    options.samples = most;
    return possible_samples(*source(text, of_samples), options, 256);
  };
  EXPECT_THAT(possible("{arrivals: fixed, count: 9, samples: 32}", 1), ElementsAre(32));
  EXPECT_THAT(possible("{arrivals: fixed, count: 9}", 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(possible("{arrivals: fixed, count: 2}", 64), ElementsAre(1, 2));
  EXPECT_THAT(possible("{arrivals: closed, count: 9, clients: 2, samples: 3}", 64),
              ElementsAre(3, 6));
  EXPECT_THAT(possible("{arrivals: closed, count: 9, clients: 9, samples: [3, 4]}", 9),
              ElementsAre(3, 4, 6, 7, 8, 9));
  EXPECT_THAT(possible("{arrivals: list, list: [{at: 1 us, samples: 2}, {at: 2 us, samples: 7}, "
                       "{at: 3 us, samples: 2}]}",
                       5),
              ElementsAre(2, 4, 7));
  EXPECT_GT(possible("{arrivals: fixed, count: 1000}", 300).size(), 256U);
  EXPECT_GT(possible("{arrivals: closed, count: 9, samples: [1, 500]}", 1).size(), 256U);
}

TEST(Requests, RefuseWhatTheyCannotMean) {
  const auto refused = [](const std::string& text, const RequestNeeds& needs = language) {
    EXPECT_THROW(source(text, needs), ConfigError) << text;
  };
  refused("{arrivals: sometimes}");
  refused("{arrivals: fixed, count: 0, prompt: 1, generate: 1}");
  refused("{arrivals: fixed, count: 1, prompt: [4, 2], generate: 1}");
  refused("{arrivals: fixed, count: 1, prompt: [1, 2, 3], generate: 1}");
  refused("{arrivals: fixed, count: 1, generate: 1}");
  refused("{arrivals: poisson, count: 5, rate: 0, prompt: 1, generate: 1}");
  refused("{arrivals: poisson, count: 10000000, rate: 0.001, prompt: 1, generate: 1}");
  refused("{arrivals: list, list: []}");
  refused(
      "{arrivals: list, list: [{at: 1 us, prompt: 3, generate: 1, prefix: a, prefix_tokens: 4}]}");
  refused("{arrivals: closed, prompt: 1, generate: 1}");
  refused("{arrivals: fixed, count: 1}", {false, true, 1});
  refused("{arrivals: fixed, count: 1, samples: 1, prompt: 4}", {false, false, 1});
}

}  // namespace
}  // namespace tessera::serving::request_test
