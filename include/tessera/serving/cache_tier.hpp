// A memory behind the cache of one model (of the host, a pool, or far away): blocks of sequences
// that gave theirs back, and of beginnings of prompts that the cache had no room for. A count
// alone, as the cache is.
//
// Beginnings stay here when they are fetched, so that they need not be written again; when room is
// needed, those go that were stored or fetched longest ago.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "tessera/pdes/state.hpp"
#include "tessera/serving/prefix_key.hpp"

namespace tessera::serving {

struct TierOptions {
  std::uint64_t blocks = 0;  // that there is room for
  bool swaps = true;         // takes blocks of sequences
  bool prefixes = true;      // takes beginnings of prompts
};

class CacheTier {
 public:
  explicit CacheTier(const TierOptions& options) : options_(options) {}

  bool swaps() const { return options_.swaps; }
  std::uint64_t taken() const { return taken_; }
  std::uint64_t of_prefixes() const { return of_prefixes_; }
  // Most that were taken at a time and are not there.
  std::uint64_t beyond() const { return most_taken_ - std::min(most_taken_, options_.blocks); }

  // Takes blocks of a sequence, for which beginnings go. False: there is not enough room, and
  // nothing has changed.
  bool store(std::uint64_t blocks);
  // A sequence has fetched its blocks.
  void give_back(std::uint64_t blocks) { taken_ -= blocks; }

  // Keeps the beginning of a prompt, of so many tokens. How many blocks are written for it: 0 if it
  // is there already, or if there is no room for it.
  std::uint64_t store_prefix(PrefixKey prefix, std::uint64_t blocks, std::uint32_t tokens);
  // Blocks of it that are here; 0: none. And their tokens.
  std::uint64_t blocks_of(PrefixKey prefix) const;
  std::uint32_t tokens_of(PrefixKey prefix) const {
    return static_cast<std::uint32_t>(prefixes_.at(prefix).tokens);
  }
  // It is fetched.
  void use_prefix(PrefixKey prefix);

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);

 private:
  struct Prefix {
    PrefixKey key;
    std::uint64_t tokens = 0;
    std::uint64_t blocks = 0;
    std::uint64_t last_use = 0;
  };

  bool make_room(std::uint64_t blocks);
  void put(const Prefix& prefix);

  TierOptions options_;
  std::uint64_t taken_ = 0;
  std::uint64_t most_taken_ = 0;
  std::uint64_t of_prefixes_ = 0;
  std::uint64_t uses_ = 0;
  std::unordered_map<PrefixKey, Prefix> prefixes_;
  std::map<std::uint64_t, PrefixKey> by_use_;  // their keys, by last use
};

}  // namespace tessera::serving
