// What an allocator of a router grants.

#include "flit/matching.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tessera::network {
namespace {

class Allocator {
 public:
  Allocator(std::uint32_t ports, bool outputs_first)
      : matching_(ports), inputs_(ports), outputs_(ports), outputs_first_(outputs_first) {}

  std::vector<SwitchRequest> match(const std::vector<SwitchRequest>& requests,
                                   unsigned iterations = 1) {
    const auto ports = static_cast<std::uint32_t>(inputs_.size());
    const auto granted = matching_.match(
        requests, outputs_first_, iterations, ports, ports,
        [&](std::uint32_t input) -> std::uint16_t& { return inputs_[input]; },
        [&](std::uint32_t output) -> std::uint16_t& { return outputs_[output]; });
    return {granted.begin(), granted.end()};
  }

 private:
  FlitMatching matching_;
  std::vector<std::uint16_t> inputs_;
  std::vector<std::uint16_t> outputs_;
  bool outputs_first_;
};

std::vector<SwitchRequest> everybody_everything(std::uint32_t ports) {
  std::vector<SwitchRequest> requests;
  for (std::uint32_t input = 0; input < ports; ++input) {
    for (std::uint32_t output = 0; output < ports; ++output) {
      requests.push_back({input, output, input});
    }
  }
  return requests;
}

// McKeown, section II: turns come apart, and all ports are used.
TEST(FlitMatching, TurnsComeApartUnderFullLoad) {
  for (const bool outputs_first : {true, false}) {
    Allocator allocator(5, outputs_first);
    const auto requests = everybody_everything(5);
    EXPECT_EQ(allocator.match(requests).size(), 1U);  // all agree at first
    for (int cycle = 0; cycle < 10; ++cycle) {
      allocator.match(requests);
    }
    EXPECT_EQ(allocator.match(requests).size(), 5U);
  }
}

TEST(FlitMatching, IterationsFillWhatIsLeft) {
  Allocator allocator(5, true);
  EXPECT_EQ(allocator.match(everybody_everything(5), 5).size(), 5U);
}

TEST(FlitMatching, AMatchIsOne) {
  Allocator allocator(6, true);
  for (std::uint32_t round = 0; round < 50; ++round) {
    std::vector<SwitchRequest> requests;
    for (std::uint32_t i = 0; i < 36; ++i) {
      if ((i * 7 + round * 5) % 3 != 0) {
        requests.push_back({i / 6, i % 6, i});
      }
    }
    std::set<std::uint32_t> inputs;
    std::set<std::uint32_t> outputs;
    for (const SwitchRequest& granted : allocator.match(requests, 1 + round % 3)) {
      EXPECT_TRUE(inputs.insert(granted.input).second);
      EXPECT_TRUE(outputs.insert(granted.output).second);
      EXPECT_EQ(granted.who, granted.input * 6 + granted.output);
    }
    EXPECT_FALSE(inputs.empty());
  }
}

TEST(FlitMatching, TwoThatWantTheSameTakeTurns) {
  Allocator allocator(3, true);
  const std::vector<SwitchRequest> requests{{0, 2, 0}, {1, 2, 1}};
  std::uint32_t before = allocator.match(requests).front().input;
  for (int cycle = 0; cycle < 6; ++cycle) {
    const std::uint32_t now = allocator.match(requests).front().input;
    EXPECT_NE(now, before);
    before = now;
  }
}

}  // namespace
}  // namespace tessera::network
