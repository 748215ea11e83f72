// The cache of keys and values of one model: how many blocks of it are taken, by which sequences
// and by prefixes that sequences share. A count alone; where blocks lie does not matter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/pdes/state.hpp"
#include "tessera/serving/prefix_key.hpp"

namespace tessera::serving {

class Cache {
 public:
  // Blocks of so many tokens; none: as many blocks as needed. They are of so many units together.
  Cache(std::uint32_t block, std::optional<std::uint64_t> blocks, std::uint32_t units = 1)
      : block_(block), units_(units), most_(blocks) {}

  std::uint64_t blocks_of(std::uint64_t tokens) const { return (tokens + block_ - 1) / block_; }
  std::uint64_t taken() const { return taken_; }
  std::uint64_t most_taken() const { return most_taken_; }
  // Blocks that prefixes hold, used or not; most that were taken at a time and are not there.
  std::uint64_t of_prefixes() const;
  std::uint64_t beyond() const {
    return most_taken_ - std::min(most_taken_, most_.value_or(most_taken_));
  }

  // A prefix that nobody used and that was given up.
  struct Left {
    PrefixKey prefix;
    std::uint32_t tokens = 0;
    std::uint64_t blocks = 0;
  };
  using GivenUp = std::vector<Left>;
  // Takes blocks; prefixes that nobody uses are given up for them, those first that were used
  // longest ago, and added to `given_up`. False: there is not enough room; prefixes may be given up
  // all the same, and no block was taken.
  bool take(std::uint64_t blocks, GivenUp* given_up = nullptr);
  // Whether so many could be taken.
  bool has_room(std::uint64_t blocks) const {
    return !most_ || taken_ - idle_blocks_ + blocks <= *most_;
  }
  void give_back(std::uint64_t blocks) { taken_ -= blocks; }

  // Tokens of a prefix that are in the cache, in whole blocks, which the caller may use until it
  // lets go; 0: none, or more than the caller's `tokens`, and no need to let go. (One who used a
  // part alone would hold the rest, and might stand in its own way.)
  std::uint32_t use_prefix(PrefixKey prefix, std::uint32_t tokens);
  void let_go(PrefixKey prefix);
  bool has_prefix(PrefixKey prefix) const { return prefixes_.contains(prefix); }
  // That are kept of one that is there.
  std::uint32_t tokens_of(PrefixKey prefix) const { return prefixes_.at(prefix).tokens; }
  // A sequence has computed a prefix: of its blocks, so many belong to the prefix from now on,
  // which the sequence uses. 0: the prefix is there already.
  std::uint64_t keep_prefix(PrefixKey prefix, std::uint32_t tokens) {
    return keep_prefix(prefix, tokens, tokens / block_);
  }
  // The same of a prefix that takes so many blocks for its tokens.
  std::uint64_t keep_prefix(PrefixKey prefix, std::uint32_t tokens, std::uint64_t blocks);
  // Users of a prefix are on a unit each as long as there are others: blocks of one more copy of
  // it that they need, 0: none; and it is there, in blocks that were taken.
  std::uint64_t lacking_copy(PrefixKey prefix) const;
  void add_copy(PrefixKey prefix) { ++prefixes_.at(prefix).more_copies; }

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);

 private:
  struct Prefix {
    PrefixKey key;
    std::uint32_t users = 0;
    std::uint32_t tokens = 0;       // in whole blocks
    std::uint64_t more_copies = 0;  // on other units
    std::uint64_t blocks = 0;       // of a copy
    std::uint64_t last_use = 0;

    std::uint64_t all_blocks() const { return blocks * (1 + more_copies); }
  };

  std::uint32_t block_;
  std::uint32_t units_;
  std::optional<std::uint64_t> most_;
  std::uint64_t taken_ = 0;
  std::uint64_t most_taken_ = 0;
  std::uint64_t uses_ = 0;
  std::unordered_map<PrefixKey, Prefix> prefixes_;
  std::set<std::pair<std::uint64_t, PrefixKey>> idle_;  // last use and key of unused ones
  std::uint64_t idle_blocks_ = 0;                       // of these
};

}  // namespace tessera::serving
