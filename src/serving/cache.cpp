#include "tessera/serving/cache.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/core/error.hpp"

namespace tessera::serving {

bool Cache::take(std::uint64_t blocks, GivenUp* given_up) {
  while (most_ && taken_ + blocks > *most_) {
    if (idle_.empty()) {
      return false;
    }
    const auto oldest = prefixes_.find(idle_.begin()->second);
    taken_ -= oldest->second.all_blocks();
    idle_blocks_ -= oldest->second.all_blocks();
    if (given_up != nullptr) {
      const Prefix& left = oldest->second;
      given_up->push_back({left.key, left.tokens, left.blocks});
    }
    prefixes_.erase(oldest);
    idle_.erase(idle_.begin());
  }
  taken_ += blocks;
  most_taken_ = std::max(most_taken_, taken_);
  return true;
}

std::uint32_t Cache::use_prefix(PrefixKey prefix, std::uint32_t tokens) {
  const auto found = prefixes_.find(prefix);
  if (prefix.is_none() || found == prefixes_.end()) {
    return 0;
  }
  const std::uint32_t kept = found->second.tokens;
  if (kept > tokens) {
    return 0;
  }
  if (found->second.users++ == 0) {
    idle_.erase({found->second.last_use, prefix});
    idle_blocks_ -= found->second.all_blocks();
  }
  found->second.last_use = ++uses_;
  return kept;
}

void Cache::let_go(PrefixKey prefix) {
  Prefix& found = prefixes_.at(prefix);
  ensure(found.users > 0, "a prefix that nobody uses is let go");
  found.last_use = ++uses_;
  if (--found.users == 0) {
    idle_.emplace(found.last_use, prefix);
    idle_blocks_ += found.all_blocks();
  }
}

std::uint64_t Cache::keep_prefix(PrefixKey prefix, std::uint32_t tokens, std::uint64_t blocks) {
  const std::uint32_t whole = tokens / block_ * block_;
  if (prefix.is_none() || whole == 0 || prefixes_.contains(prefix)) {
    return 0;
  }
  prefixes_[prefix] = {prefix, 1, whole, 0, blocks, ++uses_};
  return blocks;
}

std::uint64_t Cache::lacking_copy(PrefixKey prefix) const {
  const Prefix& found = prefixes_.at(prefix);
  const std::uint64_t copies = 1 + found.more_copies;
  return copies < std::min(found.users, units_) ? found.blocks : 0;
}

std::uint64_t Cache::of_prefixes() const {
  return std::accumulate(
      prefixes_.begin(), prefixes_.end(), std::uint64_t{0},
      [](std::uint64_t sum, const auto& entry) { return sum + entry.second.all_blocks(); });
}

void Cache::save(pdes::StateWriter& writer) const {
  writer.put(taken_);
  writer.put(most_taken_);
  writer.put(uses_);
  std::vector<Prefix> all;
  for (const auto& [key, prefix] : prefixes_) {
    all.push_back(prefix);
  }
  std::sort(all.begin(), all.end(), [](const Prefix& a, const Prefix& b) { return a.key < b.key; });
  writer.put_all(all);
}

void Cache::restore(pdes::StateReader& reader) {
  taken_ = reader.get<std::uint64_t>();
  most_taken_ = reader.get<std::uint64_t>();
  uses_ = reader.get<std::uint64_t>();
  prefixes_.clear();
  idle_.clear();
  idle_blocks_ = 0;
  for (const Prefix& prefix : reader.get_all<Prefix>()) {
    prefixes_[prefix.key] = prefix;
    if (prefix.users == 0) {
      idle_.emplace(prefix.last_use, prefix.key);
      idle_blocks_ += prefix.all_blocks();
    }
  }
}

}  // namespace tessera::serving
