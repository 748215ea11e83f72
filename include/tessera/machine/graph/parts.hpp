// Parts of a weighted graph with few edges between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::machine {

// Undirected, in compressed rows: an edge stands at both its ends, with the same weight.
struct WeightedGraph {
  std::vector<std::uint64_t> first{0};  // [vertices + 1]
  std::vector<std::uint32_t> neighbours;
  std::vector<std::uint64_t> edge_weights;
  std::vector<std::uint64_t> vertex_weights;  // empty: all alike

  std::uint32_t vertices() const { return static_cast<std::uint32_t>(first.size() - 1); }
};

// [vertices] the part of each: METIS_PartGraphKway (Karypis and Kumar, SIAM J. Sci. Comput. 20(1),
// 1998, doi:10.1137/S1064827595287997) with a fixed seed, so that the same graph gives the same
// parts. Weights are scaled down together where METIS could not add them, none below one. No part
// is empty: those that METIS leaves so take a vertex of the largest one. Throws ConfigError when
// there are more edges than METIS can number, InternalError with fewer vertices than parts, and
// what require_metis_result does.
std::vector<std::uint32_t> cut_graph(const WeightedGraph& graph, std::uint32_t parts);

// `status`: what METIS says it ended with. METIS handles SIGABRT, which is how it leaves when it
// gets no memory, and SIGTERM while it is at work: std::bad_alloc after the one, ModelError after
// the other.
void require_metis_result(int status, std::size_t vertices);

}  // namespace tessera::machine
