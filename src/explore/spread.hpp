// Independent pieces of work, spread over ranks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"

namespace tessera::explore {

// `work(i)` for each i below `count`, each on one rank, all results on all ranks. A result is one
// line of text. Collective.
template <class Work>
std::vector<std::string> spread(comm::Communicator& communicator, std::size_t count, Work work) {
  std::string lines;
  const auto ranks = static_cast<std::size_t>(communicator.size());
  for (auto i = static_cast<std::size_t>(communicator.rank()); i < count; i += ranks) {
    lines += work(i) + "\n";
  }
  const std::vector<std::string> gathered = communicator.gather(lines);
  std::vector<std::string> results(count);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::string of_rank =
        communicator.broadcast(gathered.empty() ? std::string() : gathered[rank], 0);
    std::size_t at = 0;
    for (std::size_t i = rank; i < count; i += ranks) {
      const std::size_t end = of_rank.find('\n', at);
      results[i] = of_rank.substr(at, end - at);
      at = end + 1;
    }
  }
  return results;
}

}  // namespace tessera::explore
