// The partitioner `metis`: the machine's links as a graph; of a vast grid, those between bands of
// rows and columns.
#include <algorithm>
#include <memory>
#include <utility>

#include "graph/reverse_links.hpp"
#include "tessera/machine/graph/parts.hpp"
#include "tessera/machine/partition/partition_tools.hpp"

namespace tessera::machine {
namespace {

// An edge's weight is the number of directed links between its ends.
WeightedGraph graph_of(const Topology& topology) {
  const ReverseLinks reverse(topology);
  WeightedGraph graph;
  std::vector<std::uint32_t> ends;
  for (std::uint32_t n = 0; n < topology.nodes(); ++n) {
    const EntityId node(n);
    ends.clear();
    for (unsigned port = 0; port < topology.ports(node); ++port) {
      const Link link = topology.link(node, port);
      if (link.to.valid()) {
        ends.push_back(link.to.value());
      }
    }
    for (const ReverseLinks::Source& source : reverse.into(node)) {
      ends.push_back(source.from.value());
    }
    std::sort(ends.begin(), ends.end());
    for (auto run = ends.begin(); run != ends.end();) {
      const auto after = std::upper_bound(run, ends.end(), *run);
      graph.neighbours.push_back(*run);
      graph.edge_weights.push_back(static_cast<std::uint64_t>(after - run));
      run = after;
    }
    graph.first.push_back(graph.neighbours.size());
  }
  return graph;
}

// Where bands of lines begin: each line that is listed is one of its own, and the others go
// together, a 64th of all at most.
std::vector<std::uint32_t> bands_around(const std::vector<std::uint32_t>& listed,
                                        std::uint32_t lines) {
  constexpr std::uint32_t pieces = 64;
  const std::uint32_t most = std::max(1U, lines / pieces);
  std::vector<std::uint32_t> begins;
  const auto fill_up_to = [&](std::uint32_t first, std::uint32_t end) {
    for (; first < end; first += std::min(most, end - first)) {
      begins.push_back(first);
    }
  };
  std::uint32_t next = 0;
  for (const std::uint32_t line : listed) {
    fill_up_to(next, line);
    begins.push_back(line);
    next = line + 1;
  }
  fill_up_to(next, lines);
  return begins;
}

// A grid as a graph of the crossings of bands of rows and columns.
class Crossings {
 public:
  Crossings(const Grid& grid, const Weights& weights) : grid_(grid) {
    std::vector<std::uint32_t> rows;
    std::vector<std::uint32_t> columns;
    weights.visit([&](std::size_t node, std::uint32_t) {
      const EntityId id(static_cast<std::uint32_t>(node));
      rows.push_back(grid.row_of(id));
      columns.push_back(grid.column_of(id));
    });
    rows_ = bands_around(once_each(std::move(rows)), grid.rows);
    columns_ = bands_around(once_each(std::move(columns)), grid.columns);
  }

  std::size_t number() const { return rows_.size() * columns_.size(); }

  WeightedGraph graph(const Weights& weights) const {
    WeightedGraph graph;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      for (std::size_t column = 0; column < columns_.size(); ++column) {
        graph.vertex_weights.push_back(weights.of_others() * height(row) * width(column));
        add_edges(row, column, graph);
      }
    }
    // Each is alone where its bands cross.
    weights.visit([&](std::size_t node, std::uint32_t weight) {
      const EntityId id(static_cast<std::uint32_t>(node));
      graph.vertex_weights[at(band_of(rows_, grid_.row_of(id)),
                              band_of(columns_, grid_.column_of(id)))] = weight;
    });
    return graph;
  }
  Owners owners(std::vector<std::uint32_t> parts) const {
    return {std::make_shared<const GridParts>(grid_, rows_, columns_, std::move(parts))};
  }

 private:
  using Bands = std::vector<std::uint32_t>;

  static std::size_t band_of(const Bands& bands, std::uint32_t line) {
    return static_cast<std::size_t>(std::upper_bound(bands.begin(), bands.end(), line) -
                                    bands.begin() - 1);
  }
  static std::uint64_t lines_of(const Bands& bands, std::size_t band, std::uint32_t lines) {
    return (band + 1 < bands.size() ? bands[band + 1] : lines) - bands[band];
  }
  std::uint64_t height(std::size_t row) const { return lines_of(rows_, row, grid_.rows); }
  std::uint64_t width(std::size_t column) const {
    return lines_of(columns_, column, grid_.columns);
  }
  std::size_t at(std::size_t row, std::size_t column) const {
    return row * columns_.size() + column;
  }
  // The bands before and after, without those beyond the border.
  std::vector<std::size_t> beside(std::size_t band, const Bands& bands) const {
    const std::size_t last = bands.size() - 1;
    std::vector<std::size_t> found;
    if (band > 0 || grid_.wraps) {
      found.push_back(band > 0 ? band - 1 : last);
    }
    if (band < last || grid_.wraps) {
      found.push_back(band < last ? band + 1 : 0);
    }
    return found;
  }
  void add_edges(std::size_t row, std::size_t column, WeightedGraph& graph) const {
    std::vector<std::pair<std::size_t, std::uint64_t>> edges;
    for (const std::size_t other : beside(row, rows_)) {
      edges.emplace_back(at(other, column), 2 * width(column));
    }
    for (const std::size_t other : beside(column, columns_)) {
      edges.emplace_back(at(row, other), 2 * height(row));
    }
    std::sort(edges.begin(), edges.end());
    const std::size_t begin = graph.neighbours.size();
    for (const auto& [other, weight] : edges) {
      if (other == at(row, column)) {
        continue;
      }
      if (graph.neighbours.size() > begin && graph.neighbours.back() == other) {
        graph.edge_weights.back() += weight;
      } else {
        graph.neighbours.push_back(static_cast<std::uint32_t>(other));
        graph.edge_weights.push_back(weight);
      }
    }
    graph.first.push_back(graph.neighbours.size());
  }

  Grid grid_;
  Bands rows_;
  Bands columns_;
};

// Nodes that weigh as most do go together where no other is in their rows or columns.
Partition cut_vast(const Topology& topology, int ranks, const Weights& weights) {
  constexpr std::size_t most = std::size_t{1} << 21;  // METIS takes a minute, and gigabytes
  const Crossings crossings(*topology.grid(), weights);
  if (crossings.number() > most || crossings.number() < static_cast<std::size_t>(ranks)) {
    throw ConfigError("partitioner 'metis' would have to cut a graph of " +
                      std::to_string(crossings.number()) + " vertices (" + std::to_string(ranks) +
                      " to " + std::to_string(most) +
                      " are possible here); use 'blocks', 'columns' or 'stripes'");
  }
  return partition_from(
      topology, ranks,
      crossings.owners(cut_graph(crossings.graph(weights), static_cast<std::uint32_t>(ranks))),
      weights);
}

Partition cut(const Topology& topology, int ranks, const Weights& weights) {
  check_request(topology, ranks, weights);
  if (ranks == 1) {
    return partition_of_one(topology);
  }
  if (is_vast(topology)) {
    return cut_vast(topology, ranks, weights);
  }
  WeightedGraph graph = graph_of(topology);
  const std::vector<std::uint32_t> listed = weights.listed();
  graph.vertex_weights.assign(listed.begin(), listed.end());
  return partition_from(topology, ranks, cut_graph(graph, static_cast<std::uint32_t>(ranks)),
                        weights);
}

const Registration metis_registration(
    partitioners(), {"metis", "k-way partition with few cut links (METIS); for any machine", {}},
    cut);

}  // namespace
}  // namespace tessera::machine
