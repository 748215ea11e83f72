// How far a graph must have been read, so that what begins when does not depend on how much of it
// is read at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/workload/graph.hpp"

namespace tessera::executor {

// A node can begin when the last of its dependencies is over, and no sooner than any one of them:
// it is enough that it has been read when the one before it that lies nearest in the graph is over.
// A node that depends on one behind it is read before that one in any case.
class ReadAhead {
 public:
  // Goes through the graph of an NPU. Throws ConfigError as the source does.
  ReadAhead(const workload::GraphSource& source, std::uint32_t npu);

  // Nodes from the graph's begin on that must have been read when none is over that is not among
  // its first `over`.
  std::uint64_t nodes(std::uint64_t over) const {
    const std::uint64_t blocks = (over + block - 1) / block;
    return needed_[std::min<std::uint64_t>(blocks, needed_.size() - 1)];
  }
  // When so many nodes have been read and more are to come: none of those begins before some node
  // from this place on is over.
  std::uint64_t holds_back_from(std::uint64_t read) const {
    const auto behind = std::upper_bound(needed_.begin(), needed_.end(), read);
    const auto blocks = static_cast<std::uint64_t>(behind - needed_.begin());
    return behind == needed_.end() || blocks == 0 ? 0 : (blocks - 1) * block;
  }
  std::size_t resident_bytes() const { return needed_.capacity() * sizeof(std::uint64_t); }

 private:
  static constexpr std::uint64_t block = 256;  // neighbours of which the farthest counts

  std::vector<std::uint64_t> needed_;  // [blocks whose nodes may be over]
};

}  // namespace tessera::executor
