// Where requests with what beginnings were sent, for the router `prefix`.
//
// A block of a prompt stands for itself and all before it, so that blocks are the nodes of a tree,
// of which each replica has what was sent to it (L. Zheng et al., "SGLang", NeurIPS 2024: a tree at
// the router, which no cache tells of what it gave up).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "tessera/pdes/state.hpp"
#include "tessera/serving/prefix_key.hpp"

namespace tessera::executor {

class PrefixRoutes {
 public:
  explicit PrefixRoutes(unsigned replicas) : groups_((replicas + of_group - 1) / of_group) {}

  // [replicas] Of these, with that adapter (0: none), the first ones that each of so many replicas
  // has.
  std::vector<std::uint32_t> known(std::span<const std::uint32_t> blocks, std::uint32_t adapter,
                                   unsigned replicas) const;
  void sent(std::span<const std::uint32_t> blocks, std::uint32_t adapter, unsigned replica);

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);
  std::size_t resident_bytes() const;

 private:
  static constexpr unsigned of_group = 64;  // replicas
  static constexpr std::size_t of_block = 40;

  // Of the replicas of each group, by block: a bit each.
  using Group = std::unordered_map<serving::PrefixKey, std::uint64_t>;

  std::vector<Group> groups_;
};

}  // namespace tessera::executor
