#include "memory/memory_check.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "memory/forecast.hpp"
#include "tessera/comm/first_rank.hpp"
#include "tessera/core/address_space.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/host.hpp"
#include "tessera/core/memory.hpp"

namespace tessera::sim {
namespace {

std::string mebibytes(std::uint64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

// What addresses leave for memory that is used: predictions are of that, and the limit counts all
// that is mapped, such as the program, stacks of threads, and what the trace's library must find.
std::uint64_t left_of(std::uint64_t space) {
  const std::uint64_t mapped = mapped_bytes();
  const std::uint64_t unused = mapped - std::min(mapped, resident_bytes());
  const std::uint64_t taken = unused + trace::room_for_library;
  return std::max<std::uint64_t>(1, space - std::min(space, taken));
}

// Ranks that share memory.
struct Share {
  MemoryThere there;
  std::uint64_t ranks = 0;
};

// "MOST FREE HOST WHOSE": what a rank says to rank 0.
std::string told(const MemoryThere& there) {
  return std::to_string(there.most) + " " + std::to_string(there.free) + " " + host_name() + " " +
         there.whose;
}

std::map<std::string, Share> shares_of(const std::vector<std::string>& reports, int ranks) {
  std::map<std::string, Share> shares;
  for (int rank = 0; rank < ranks; ++rank) {
    std::istringstream words(reports[static_cast<std::size_t>(rank)]);
    MemoryThere there;
    std::string host;
    words >> there.most >> there.free >> host;
    std::getline(words >> std::ws, there.whose);
    Share& share = shares[host + " " + there.whose];
    share.there = there;
    ++share.ranks;
  }
  return shares;
}

std::string needed(std::uint64_t a_rank, std::uint64_t ranks) {
  return mebibytes(a_rank * ranks) +
         (ranks > 1 ? " on its " + std::to_string(ranks) + " ranks there" : "");
}

}  // namespace

void check_memory(const Experiment& experiment, const CutChoice& cut,
                  comm::Communicator& communicator, const RunRequest& request) {
  MemoryThere own = memory_there();
  const std::uint64_t space = address_space_limit();
  if (const std::uint64_t left = left_of(space); space > 0 && left < own.most) {
    own = {left, left,
           "process " + std::to_string(getpid()) + ", of addresses for " + mebibytes(space) +
               " (ulimit -v),"};
  }
  const std::vector<std::string> reports = communicator.gather(told(own));
  comm::on_first_rank(communicator, [&] {
    const std::uint64_t a_rank = forecast_of_run(experiment, cut.partition).largest_bytes;
    for (const auto& [place, share] : shares_of(reports, cut.ranks)) {
      const std::uint64_t all = a_rank * share.ranks;
      const std::string need = "the run is predicted to need " + needed(a_rank, share.ranks) +
                               ", and " + share.there.whose;
      if (share.there.most > 0 && all > share.there.most && !request.ignore_memory) {
        throw ConfigError(need + " has " + mebibytes(share.there.most) +
                          "; tessera check says what it is made of; --ignore-memory tries it all "
                          "the same");
      }
      if (share.there.most > 0 && all > share.there.free && request.hooks.on_warning) {
        request.hooks.on_warning(need + " has " + mebibytes(share.there.free) + " free of " +
                                 mebibytes(share.there.most));
      }
    }
  });
}

std::string out_of_memory(std::uint64_t predicted_bytes) {
  const MemoryThere there = memory_there();
  const std::uint64_t space = address_space_limit();
  std::string text = "out of memory: this process held " + mebibytes(peak_resident_bytes()) +
                     (predicted_bytes > 0 ? ", and the run was predicted to need " +
                                                mebibytes(predicted_bytes) + " on its largest rank"
                                          : "") +
                     "; " + there.whose + " has " + mebibytes(there.free) + " free of " +
                     mebibytes(there.most);
  if (space > 0) {
    text += ", and the process may have addresses for " + mebibytes(space) + " (ulimit -v)";
  }
  return text;
}

}  // namespace tessera::sim
