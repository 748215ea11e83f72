// Requests whose times are drawn: made as they are asked for, with the draws that they always had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/config/document.hpp"
#include "tessera/serving/request.hpp"
#include "tessera/serving/request_class.hpp"

namespace tessera::serving::drawn_arrivals_test {
namespace {

std::unique_ptr<RequestSource> source(const std::string& text, bool of_language = true) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("requests.yaml", text, diagnostics), "", diagnostics);
  auto made = read_requests(section, {of_language, false, 7});
  section.finish();
  diagnostics.throw_if_any();
  return made;
}

// FNV-1a over all that requests are.
std::uint64_t hash_of(const RequestSource& requests) {
  std::uint64_t hash = 1469598103934665603U;
  const auto times = requests.times_from(0);
  for (std::uint64_t number = 0; number < *requests.count(); ++number) {
    const Request one = requests.untimed(number);
    for (const std::uint64_t value :
         {static_cast<std::uint64_t>(times->next().ps()), std::uint64_t{one.prompt},
          std::uint64_t{one.generate}, std::uint64_t{one.samples}, std::uint64_t{one.prefix},
          std::uint64_t{one.prefix_tokens}, std::uint64_t{one.of_class},
          std::uint64_t{one.adapter}}) {
      hash = (hash ^ value) * 1099511628211U;
    }
  }
  return hash;
}

struct Known {
  const char* text;
  std::uint64_t hash;
  std::int64_t middle;  // [ps]
  std::int64_t last;
  std::uint32_t prompt;  // of the largest
  std::uint32_t generate;
};

// By the program as it was when it held them all in a table.
const Known known[] = {
    {"{arrivals: poisson, count: 20000, rate: 1000, prompt: [5, 900], generate: [1, 64]}",
     0x80c86d3d918350ca, 10'195'358'371'604, 20'015'769'060'561, 900, 63},
    {"{arrivals: gamma, count: 20000, rate: 100, variation: 2.5, prompt: [5, 900], generate: "
     "[1, 64], prefix: {tokens: 16, count: 3}}",
     0x1702883f885ab2e4, 97'253'160'393'544, 197'247'172'588'949, 916, 63},
    {"{arrivals: gamma, count: 3000, rate: 100, variation: 0.3, prompt: 5, generate: 4}",
     0x191d083ce0ed2343, 15'171'009'412'357, 30'239'947'344'297, 5, 4},
    {"{arrivals: diurnal, count: 20000, rate: 100, period: 100 s, swing: 0.8, prompt: [5, 900], "
     "generate: 4}",
     0xe566144342fa572c, 102'790'651'379'411, 199'694'754'838'316, 900, 4},
    {"{arrivals: fixed, count: 1000, interval: 0.333333333333 s, begin: 0.1 s, prompt: [5, 900], "
     "generate: 4}",
     0x4d13490bfa88fd2c, 166'766'666'666'500, 333'099'999'999'667, 900, 4},
};

TEST(DrawnArrivals, AreThoseThatTheyWere) {
  for (const Known& one : known) {
    const auto requests = source(one.text);
    const std::uint64_t count = *requests->count();
    EXPECT_EQ(hash_of(*requests), one.hash) << one.text;
    EXPECT_EQ(requests->request(count / 2).arrival.ps(), one.middle) << one.text;
    EXPECT_EQ(requests->request(count - 1).arrival.ps(), one.last) << one.text;
    EXPECT_EQ(requests->last_arrival().ps(), one.last) << one.text;
    EXPECT_EQ(requests->largest().prompt, one.prompt) << one.text;
    EXPECT_EQ(requests->largest().generate, one.generate) << one.text;
  }
  const auto samples = source("{arrivals: poisson, count: 1000, rate: 10, samples: [1, 6]}", false);
  EXPECT_EQ(hash_of(*samples), 0x699160f444e932dbU);
  EXPECT_EQ(samples->samples().size(), 6U);
}

// As a run that goes on from a checkpoint asks for them.
TEST(DrawnArrivals, GoOnFromAnyRequest) {
  for (const Known& one : known) {
    const auto requests = source(one.text);
    const auto all = requests->times_from(0);
    for (std::uint64_t number = 0; number < *requests->count(); ++number) {
      const SimTime time = all->next();
      if (number % 97 == 0 || number < 3) {
        ASSERT_EQ(requests->request(number).arrival, time) << one.text << number;
        ASSERT_EQ(requests->times_from(number)->next(), time) << one.text << number;
      }
    }
  }
}

TEST(DrawnArrivals, TakeNoMoreMemoryForMoreOfThem) {
  const auto bytes = [](const std::string& arrivals, std::uint64_t count) {
    return source("{arrivals: " + arrivals + ", count: " + std::to_string(count) +
                  ", prompt: [5, 900], generate: [1, 64], prefix: {tokens: 16, count: 3}}")
        ->resident_bytes();
  };
  for (const std::string arrivals :
       {"poisson, rate: 1000", "gamma, rate: 1000", "diurnal, rate: 1000", "fixed"}) {
    EXPECT_EQ(bytes(arrivals, 1'000), bytes(arrivals, 300'000)) << arrivals;
    EXPECT_LT(bytes(arrivals, 300'000), 50'000U) << arrivals;
  }
}

// Classes and adapters are drawn beside them.
TEST(DrawnArrivals, KeepTheirTimesWithMarks) {
  const auto plain = source(known[0].text);
  const auto marked = with_marks(source(known[0].text), {{"one", 0, 1}, {"two", 1, 3}}, {4, 1}, 7);
  const auto times = marked->times_from(19'998);
  EXPECT_EQ(times->next(), plain->request(19'998).arrival);
  EXPECT_EQ(times->next(), marked->last_arrival());
  for (std::uint64_t number = 0; number < 300; ++number) {
    const Request one = marked->untimed(number);
    ASSERT_EQ(one.of_class, marked->class_of(number));
    ASSERT_EQ(one.adapter, marked->request(number).adapter);
    ASSERT_GT(one.adapter, 0U);
  }
}

}  // namespace
}  // namespace tessera::serving::drawn_arrivals_test
