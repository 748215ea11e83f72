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

#include "tessera/pdes/state.hpp"

namespace tessera::executor {

class PrefixRoutes {
 public:
  static constexpr unsigned most_replicas = 64;

  // Of these, the first ones that a replica has.
  std::size_t known(std::span<const std::uint32_t> blocks, unsigned replica) const;
  void sent(std::span<const std::uint32_t> blocks, unsigned replica);

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);
  std::size_t resident_bytes() const { return replicas_of_.size() * of_block; }

 private:
  static constexpr std::size_t of_block = 40;

  std::unordered_map<std::uint32_t, std::uint64_t> replicas_of_;  // by block, a bit each
};

}  // namespace tessera::executor
