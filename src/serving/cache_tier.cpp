#include "tessera/serving/cache_tier.hpp"

#include <vector>

namespace tessera::serving {

bool CacheTier::make_room(std::uint64_t blocks) {
  const std::uint64_t of_sequences = taken_ - of_prefixes_;
  if (of_sequences + blocks > options_.blocks) {
    return false;
  }
  while (taken_ + blocks > options_.blocks) {
    const auto oldest = prefixes_.find(by_use_.begin()->second);
    taken_ -= oldest->second.blocks;
    of_prefixes_ -= oldest->second.blocks;
    prefixes_.erase(oldest);
    by_use_.erase(by_use_.begin());
  }
  return true;
}

bool CacheTier::store(std::uint64_t blocks) {
  if (!make_room(blocks)) {
    return false;
  }
  taken_ += blocks;
  most_taken_ = std::max(most_taken_, taken_);
  return true;
}

void CacheTier::put(const Prefix& prefix) {
  prefixes_[prefix.key] = prefix;
  by_use_[prefix.last_use] = prefix.key;
  of_prefixes_ += prefix.blocks;
}

std::uint64_t CacheTier::store_prefix(PrefixKey prefix, std::uint64_t blocks,
                                      std::uint32_t tokens) {
  if (!options_.prefixes) {
    return 0;
  }
  if (prefixes_.contains(prefix)) {
    use_prefix(prefix);
    return 0;
  }
  if (!store(blocks)) {
    return 0;
  }
  put({prefix, tokens, blocks, ++uses_});
  return blocks;
}

std::uint64_t CacheTier::blocks_of(PrefixKey prefix) const {
  const auto found = prefixes_.find(prefix);
  return found == prefixes_.end() ? 0 : found->second.blocks;
}

void CacheTier::use_prefix(PrefixKey prefix) {
  Prefix& found = prefixes_.at(prefix);
  by_use_.erase(found.last_use);
  found.last_use = ++uses_;
  by_use_[found.last_use] = prefix;
}

void CacheTier::save(pdes::StateWriter& writer) const {
  writer.put(taken_);
  writer.put(most_taken_);
  writer.put(uses_);
  std::vector<Prefix> all;
  all.reserve(by_use_.size());
  for (const auto& [use, key] : by_use_) {
    all.push_back(prefixes_.at(key));
  }
  writer.put_all(all);
}

void CacheTier::restore(pdes::StateReader& reader) {
  taken_ = reader.get<std::uint64_t>();
  most_taken_ = reader.get<std::uint64_t>();
  uses_ = reader.get<std::uint64_t>();
  prefixes_.clear();
  by_use_.clear();
  of_prefixes_ = 0;
  for (const Prefix& prefix : reader.get_all<Prefix>()) {
    put(prefix);
  }
}

}  // namespace tessera::serving
