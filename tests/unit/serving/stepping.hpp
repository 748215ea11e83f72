// Batchers, step by step.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tessera/serving/batcher.hpp"

namespace tessera::serving::testing {

inline Request language(std::uint32_t prompt, std::uint32_t generate, std::uint32_t prefix = 0,
                        std::uint32_t prefix_tokens = 0) {
  Request request;
  request.prompt = prompt;
  request.generate = generate;
  request.prefix = prefix;
  request.prefix_tokens = prefix_tokens;
  return request;
}

inline SimTime at(std::int64_t ps) {
  return SimTime::from_ps(ps);
}

struct Heard final : BatchListener {
  void on_token(std::uint64_t request, std::optional<SimTime> since) override {
    ++tokens[request];
    firsts[request] += since ? 0 : 1;
  }
  void on_served(const Served& served) override { all.push_back(served); }

  std::map<std::uint64_t, std::uint32_t> tokens;
  std::map<std::uint64_t, std::uint32_t> firsts;
  std::vector<Served> all;
};

// Steps one after the other until nothing is left.
inline std::vector<Batch> run(Batcher& batcher, Heard& heard) {
  std::vector<Batch> batches;
  std::uint32_t number = 0;
  while (const auto batch = batcher.next(number, at(number * 10))) {
    batches.push_back(*batch);
    batcher.end(number, at(number * 10 + 10), heard);
    if (++number > 100'000) {
      ADD_FAILURE() << "does not end";
      break;
    }
  }
  return batches;
}

// What went to the tier and came back, and what steps took in, is what sequences say.
inline void expect_conserved(const Batcher& batcher, const std::vector<Batch>& batches) {
  const BatchCounts counts = batcher.counts();
  std::uint64_t tokens = 0;
  std::uint64_t out = 0;
  std::uint64_t in = 0;
  for (const Batch& batch : batches) {
    tokens += batch.tokens();
    out += batch.blocks_out;
    in += batch.blocks_in;
  }
  EXPECT_EQ(tokens + counts.reused, counts.held + counts.dropped);
  EXPECT_EQ(counts.blocks_taken, counts.blocks_of_prefixes);
  EXPECT_EQ(counts.swapped_out, counts.swapped_in);
  EXPECT_EQ(counts.tier_taken, counts.tier_of_prefixes);
  EXPECT_EQ(counts.tier_beyond, 0U);
  EXPECT_GE(out, counts.swapped_out);
  EXPECT_GE(in, counts.swapped_in);
}

}  // namespace tessera::serving::testing
