// What an allocator of a router grants.

#include "flit/matching.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace tessera::network::flit_matching_test {
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

// The same over a whole matrix, step by step as the paper has it (McKeown, section III.A): in each
// round every side that is free grants or chooses the first request from its pointer on, the other
// accepts the first of those, and the pointers of both move one beyond, of what the first round has
// matched alone.
class WholeMatrix {
 public:
  WholeMatrix(std::uint32_t ports, bool outputs_first)
      : ports_(ports), outputs_first_(outputs_first), turns_(2, Turns(ports)) {}

  std::set<std::pair<std::uint32_t, std::uint32_t>> match(
      const std::set<std::pair<std::uint32_t, std::uint32_t>>& requests, unsigned rounds) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> matched;
    const auto asks = [&](std::uint32_t first, std::uint32_t second) {
      return requests.count(outputs_first_ ? std::pair(second, first) : std::pair(first, second)) >
             0;
    };
    std::vector<bool> first_is_taken(ports_);
    std::vector<bool> second_is_taken(ports_);
    for (unsigned round = 0; round < rounds; ++round) {
      std::vector<std::optional<std::uint32_t>> chosen(ports_);
      for (std::uint32_t first = 0; first < ports_; ++first) {
        for (std::uint32_t i = 0; i < ports_ && !first_is_taken[first] && !chosen[first]; ++i) {
          const std::uint32_t second = (turns_[0][first] + i) % ports_;
          if (asks(first, second) && !second_is_taken[second]) {
            chosen[first] = second;
          }
        }
      }
      for (std::uint32_t second = 0; second < ports_; ++second) {
        for (std::uint32_t i = 0; i < ports_; ++i) {
          const std::uint32_t first = (turns_[1][second] + i) % ports_;
          if (chosen[first] != second) {
            continue;
          }
          first_is_taken[first] = second_is_taken[second] = true;
          matched.insert(outputs_first_ ? std::pair(second, first) : std::pair(first, second));
          if (round == 0) {
            turns_[0][first] = (second + 1) % ports_;
            turns_[1][second] = (first + 1) % ports_;
          }
          break;
        }
      }
    }
    return matched;
  }

 private:
  using Turns = std::vector<std::uint32_t>;

  std::uint32_t ports_;
  bool outputs_first_;
  std::vector<Turns> turns_;  // of the side that chooses first, and of the other
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

TEST(FlitMatching, MatchesWhatTheWholeMatrixDoes) {
  constexpr std::uint32_t ports = 6;
  std::mt19937 random(7);
  for (const bool outputs_first : {true, false}) {
    for (unsigned rounds = 1; rounds <= 4; ++rounds) {
      Allocator allocator(ports, outputs_first);
      WholeMatrix matrix(ports, outputs_first);
      for (int cycle = 0; cycle < 300; ++cycle) {
        std::vector<SwitchRequest> requests;
        std::set<std::pair<std::uint32_t, std::uint32_t>> asked;
        for (std::uint32_t i = 0; i < ports * ports; ++i) {
          if (random() % 5 < static_cast<unsigned>(cycle % 5)) {
            requests.push_back({i / ports, i % ports, i});
            asked.emplace(i / ports, i % ports);
          }
        }
        std::set<std::pair<std::uint32_t, std::uint32_t>> granted;
        for (const SwitchRequest& request : allocator.match(requests, rounds)) {
          granted.emplace(request.input, request.output);
        }
        ASSERT_EQ(granted, matrix.match(asked, rounds))
            << "cycle " << cycle << ", " << rounds << " rounds, outputs first " << outputs_first;
      }
    }
  }
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
}  // namespace tessera::network::flit_matching_test
