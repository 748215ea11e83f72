#include "run/deadlock.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tessera/core/text.hpp"

namespace tessera::sim {
namespace {

constexpr std::size_t waiting_lines = 8;  // of a report

// The first of all ranks' lines, each on a line of its own, and how many.
std::pair<std::string, std::size_t> gather_lines(const RankModels& models,
                                                 const std::vector<std::string>& own) {
  std::string text;
  std::size_t lines = 0;
  for (const std::string& part : models.communicator.gather(join(own, "\n"))) {
    for (std::size_t at = 0; at < part.size() && lines < waiting_lines; ++lines) {
      const std::size_t end = std::min(part.find('\n', at), part.size());
      text += "\n  " + part.substr(at, end - at);
      at = end + 1;
    }
  }
  return {text, lines};
}

}  // namespace

std::string deadlock_report(const RankModels& models) {
  std::array<std::uint64_t, 1> unfinished{models.executor->unfinished()};
  models.communicator.reduce_sum(unfinished);
  if (unfinished[0] == 0) {
    return "";
  }
  const auto [text, lines] = gather_lines(models, models.executor->waiting(waiting_lines));
  const std::string cores = gather_lines(models, models.compute->waiting(waiting_lines)).first;
  const std::string head = "deadlock: nothing is left to happen and " +
                           std::to_string(unfinished[0]) + " parts of the work are not done" +
                           (unfinished[0] > lines ? "; the first of them:" : ":");
  return models.communicator.broadcast(head + text + cores, 0);
}

}  // namespace tessera::sim
