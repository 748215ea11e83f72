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

#include "lane_run.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"

namespace tessera::collective::property_test {
namespace {

using testing::Case;
using testing::Lane;
using testing::run;
using testing::Totals;

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

}  // namespace
}  // namespace tessera::collective::property_test
