// Runs that are cut and go on on other ranks say what one says that is not.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"

namespace tessera::executor::testing {

// All that an outcome says, as text in an order of its own.
inline std::vector<std::string> facts_of(const Outcome& outcome) {
  std::vector<std::string> facts;
  const auto text = [](const auto&... numbers) { return (... + (" " + std::to_string(numbers))); };
  for (const TileResult& tile : outcome.tiles) {
    facts.push_back("tile" + text(tile.tile.value(), tile.role, tile.finished, tile.end.ps(),
                                  tile.first_output.ps(), tile.last_output.ps(), tile.over.ps()));
    for (const SimTime time : tile.time) {
      facts.back() += text(time.ps());
    }
  }
  for (const OperatorRecord& one : outcome.noted.operators) {
    facts.push_back("operator" + text(one.tile.value(), one.name, static_cast<int>(one.phase),
                                      static_cast<int>(one.activity), one.micro_batch,
                                      one.start.ps(), one.end.ps()));
  }
  for (const MessageRecord& one : outcome.noted.messages) {
    facts.push_back("message" + text(one.source.value(), one.target.value(),
                                     static_cast<int>(one.traffic), one.bytes.count(),
                                     one.sent.ps(), one.arrived.ps(), one.taken.ps()));
  }
  for (const Balance& balance : outcome.balances) {
    facts.push_back(balance.what + text(balance.out, balance.in));
  }
  std::sort(facts.begin(), facts.end());
  facts.push_back("all" + text(outcome.end.ps(), outcome.unfinished, outcome.instructions));
  return facts;
}

// Cuts `run(ranks, kept, from)` at three times, on one rank and on two, and goes on from there on
// one to three: what it says stays the same.
template <class Run>
void expect_goes_on(const Run& run, const std::string& what) {
  const Outcome undisturbed = run(1, nullptr, nullptr);
  const std::vector<std::string> expected = facts_of(undisturbed);
  EXPECT_EQ(undisturbed.unfinished, 0U) << what;
  for (const std::int64_t part : {7, 40, 83}) {
    for (const auto& [before, after] : {std::pair(1, 3), std::pair(2, 1)}) {
      Cut cut{SimTime::from_ps(undisturbed.end.ps() / 100 * part), {}, {}};
      EXPECT_EQ(facts_of(run(before, &cut, nullptr)), expected) << what << ": cut";
      ASSERT_FALSE(cut.run.is_empty()) << what;
      EXPECT_EQ(facts_of(run(after, nullptr, &cut)), expected)
          << what << ": " << part << " %, " << before << " to " << after << " ranks";
    }
  }
}

}  // namespace tessera::executor::testing
