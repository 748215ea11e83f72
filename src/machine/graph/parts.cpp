// METIS: k-way partition of any graph.
#include "tessera/machine/graph/parts.hpp"

#include <metis.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <string>

#include "tessera/core/error.hpp"

namespace tessera::machine {
namespace {

// METIS adds weights in idx_t: scaled down where their sum would not fit, none below one.
std::vector<idx_t> scaled(const std::vector<std::uint64_t>& weights) {
  constexpr std::uint64_t sum_limit = std::uint64_t{1} << 30;
  // Before the sum, which must fit 64 bits itself.
  const std::uint64_t largest =
      weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
  const std::uint64_t first_divisor = largest / (std::uint64_t{1} << 32) + 1;
  std::uint64_t sum = 0;
  for (const std::uint64_t weight : weights) {
    sum += weight / first_divisor;
  }
  const std::uint64_t divisor = (sum / sum_limit + 1) * first_divisor;
  std::vector<idx_t> result;
  result.reserve(weights.size());
  for (const std::uint64_t weight : weights) {
    result.push_back(static_cast<idx_t>(std::max<std::uint64_t>(1, weight / divisor)));
  }
  return result;
}

// METIS may leave parts empty when they are small: each takes the last vertex of the part that has
// the most (the lowest of those).
void fill_empty_parts(std::vector<std::uint32_t>& owner, std::size_t parts) {
  std::vector<std::vector<std::uint32_t>> members(parts);
  for (std::uint32_t vertex = 0; vertex < owner.size(); ++vertex) {
    members[owner[vertex]].push_back(vertex);
  }
  for (std::uint32_t part = 0; part < parts; ++part) {
    if (members[part].empty()) {
      const auto largest =
          std::max_element(members.begin(), members.end(),
                           [](const auto& a, const auto& b) { return a.size() < b.size(); });
      const std::uint32_t vertex = largest->back();
      largest->pop_back();
      members[part].push_back(vertex);
      owner[vertex] = part;
    }
  }
}

}  // namespace

void require_metis_result(int status, std::size_t vertices) {
  if (status == METIS_ERROR_MEMORY) {
    throw std::bad_alloc();
  }
  if (status == METIS_ERROR) {
    throw ModelError("METIS was ended by a signal (SIGTERM) while it cut a graph of " +
                     std::to_string(vertices) + " vertices");
  }
  ensure(status == METIS_OK, "METIS_PartGraphKway refused its input");
}

std::vector<std::uint32_t> cut_graph(const WeightedGraph& graph, std::uint32_t parts) {
  ensure(parts >= 1 && graph.vertices() >= parts, "a graph with a vertex for each part");
  if (graph.neighbours.size() > static_cast<std::size_t>(std::numeric_limits<idx_t>::max())) {
    throw ConfigError("METIS: the graph has too many edges; use 'stripes'");
  }
  if (parts == 1) {
    return std::vector<std::uint32_t>(graph.vertices(), 0);
  }
  std::vector<idx_t> first(graph.first.begin(), graph.first.end());
  std::vector<idx_t> neighbours(graph.neighbours.begin(), graph.neighbours.end());
  std::vector<idx_t> edge_weights = scaled(graph.edge_weights);
  std::vector<idx_t> vertex_weights = scaled(graph.vertex_weights);
  auto vertices = static_cast<idx_t>(graph.vertices());
  idx_t constraints = 1;
  auto wanted = static_cast<idx_t>(parts);
  idx_t cut = 0;
  std::vector<idx_t> part(graph.vertices());
  std::vector<idx_t> options(METIS_NOPTIONS);
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_SEED] = 1;
  options[METIS_OPTION_NUMBERING] = 0;
  // METIS draws from the random numbers of the process: ranks that are threads take turns, or each
  // would get another partition.
  static std::mutex turn;
  const std::lock_guard lock(turn);
  const int status = METIS_PartGraphKway(&vertices, &constraints, first.data(), neighbours.data(),
                                         vertex_weights.empty() ? nullptr : vertex_weights.data(),
                                         nullptr, edge_weights.data(), &wanted, nullptr, nullptr,
                                         options.data(), &cut, part.data());
  require_metis_result(status, graph.vertices());
  std::vector<std::uint32_t> owner(part.begin(), part.end());
  fill_empty_parts(owner, parts);
  return owner;
}

}  // namespace tessera::machine
