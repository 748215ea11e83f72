// Graphs of vertices, as what each NPU does.
#include <algorithm>
#include <map>
#include <utility>

#include "tessera/core/error.hpp"
#include "vertex_graph.hpp"

namespace tessera::workload {
namespace {

// A vertex is one node at an NPU, or two of which the second ends it; a coherent one ends with
// both.
class VertexSource final : public GraphSource {
 public:
  VertexSource(VertexGraph graph, std::uint32_t npus, std::uint64_t iterations)
      : graph_(std::move(graph)), npus_(npus), iterations_(iterations), own_(npus) {
    const std::size_t count = graph_.vertices.size();
    everywhere_before_.push_back(0);
    for (std::uint32_t number = 0; number < count; ++number) {
      const Vertex& vertex = graph_.vertices[number];
      everywhere_before_.push_back(everywhere_before_.back() +
                                   (vertex.everywhere ? nodes_of(vertex) : 0));
      if (vertex.everywhere) {
        everywhere_.push_back(number);
      }
      for (const std::uint32_t npu : vertex.places) {
        std::vector<Own>& own = own_[npu];
        const std::uint64_t before =
            own.empty() ? 0 : own.back().before + nodes_of(graph_.vertices[own.back().vertex]);
        own.push_back({number, before});
      }
      groups_of_.push_back(group_of(vertex));
    }
    first_edge_.assign(count + 1, 0);
    for (const VertexEdge& edge : graph_.edges) {
      ++first_edge_[edge.to + std::size_t{1}];
    }
    for (std::size_t number = 0; number < count; ++number) {
      first_edge_[number + 1] += first_edge_[number];
    }
    edges_in_.resize(graph_.edges.size());
    std::vector<std::size_t> next(first_edge_.begin(), first_edge_.end() - 1);
    for (const VertexEdge& edge : graph_.edges) {
      edges_in_[next[edge.to]++] = edge;
    }
    note_all();
  }

  std::uint32_t npus() const override { return npus_; }
  std::string name_of(std::uint32_t npu) const override {
    return "vertices of NPU " + std::to_string(npu);
  }
  const GraphGroups& groups() const override { return groups_; }
  std::optional<GraphLook> known() const override { return look_; }

  // A little more than `most` where a vertex is two nodes.
  std::vector<GraphNode> read(std::uint32_t npu, GraphPosition& position,
                              std::size_t most) const override {
    std::vector<GraphNode> nodes;
    const std::uint64_t count = graph_.vertices.size();
    while (nodes.size() < most && position.offset < count * iterations_) {
      const std::uint64_t iteration = position.offset / count;
      const auto from = static_cast<std::uint32_t>(position.offset % count);
      const std::uint32_t number = next_vertex(npu, from);
      if (number == count) {
        position.offset = (iteration + 1) * count;
        continue;
      }
      add_nodes(npu, number, iteration, nodes);
      position.offset = iteration * count + number + 1;
    }
    position.nodes += nodes.size();
    return nodes;
  }

 private:
  // A vertex that is at some NPUs only, with the nodes of such vertices before it there.
  struct Own {
    std::uint32_t vertex = 0;
    std::uint64_t before = 0;
  };

  static std::uint32_t nodes_of(const Vertex& vertex) {
    const bool two =
        vertex.kind == Vertex::Kind::compute
            ? vertex.remote > Bytes()
            : vertex.kind == Vertex::Kind::collective && vertex.gather == Vertex::Gather::read;
    return two ? 2 : 1;
  }

  std::string group_of(const Vertex& vertex) {
    if (vertex.everywhere || vertex.kind != Vertex::Kind::collective) {
      return "";
    }
    const auto [entry, is_new] = group_names_.try_emplace(vertex.places, "vertex " + vertex.name);
    if (is_new) {
      groups_[entry->second] = vertex.places;
    }
    return entry->second;
  }

  // At an NPU from a number on; the number of vertices if there is none.
  std::uint32_t next_vertex(std::uint32_t npu, std::uint32_t from) const {
    const auto everywhere = std::lower_bound(everywhere_.begin(), everywhere_.end(), from);
    const auto own = own_from(npu, from);
    auto next = static_cast<std::uint32_t>(graph_.vertices.size());
    if (everywhere != everywhere_.end()) {
      next = *everywhere;
    }
    return own == own_[npu].end() ? next : std::min(next, own->vertex);
  }

  std::vector<Own>::const_iterator own_from(std::uint32_t npu, std::uint32_t from) const {
    return std::lower_bound(
        own_[npu].begin(), own_[npu].end(), from,
        [](const Own& own, std::uint32_t number) { return own.vertex < number; });
  }

  std::uint64_t nodes_before(std::uint32_t npu, std::uint32_t number) const {
    const std::vector<Own>& own = own_[npu];
    const auto at = own_from(npu, number);
    std::uint64_t before = 0;
    if (at != own.end()) {
      before = at->before;
    } else if (!own.empty()) {
      before = own.back().before + nodes_of(graph_.vertices[own.back().vertex]);
    }
    return before + everywhere_before_[number];
  }

  // Of the first node of a vertex in an iteration.
  std::uint64_t id_of(std::uint32_t npu, std::uint32_t number, std::uint64_t iteration) const {
    const auto all = static_cast<std::uint32_t>(graph_.vertices.size());
    return iteration * nodes_before(npu, all) + nodes_before(npu, number);
  }

  // Nodes that end a vertex.
  void add_ends(std::uint32_t npu, std::uint32_t number, std::uint64_t iteration,
                std::vector<std::uint64_t>& ids) const {
    const Vertex& vertex = graph_.vertices[number];
    const std::uint64_t first = id_of(npu, number, iteration);
    const std::uint32_t nodes = nodes_of(vertex);
    if (nodes == 2 && vertex.kind == Vertex::Kind::compute && vertex.coherent) {
      ids.push_back(first);
    }
    ids.push_back(first + nodes - 1);
  }

  std::vector<std::uint64_t> dependencies(std::uint32_t npu, std::uint32_t number,
                                          std::uint64_t iteration) const {
    std::vector<std::uint64_t> ids;
    if (iteration > 0) {
      add_ends(npu, number, iteration - 1, ids);
    }
    for (std::size_t at = first_edge_[number]; at < first_edge_[number + std::size_t{1}]; ++at) {
      const VertexEdge& edge = edges_in_[at];
      // Where the vertex before is elsewhere, a message is between.
      if ((edge.at_first || iteration > 0) && graph_.vertices[edge.from].at(npu) &&
          edge.from != number) {
        add_ends(npu, edge.from, edge.at_first ? iteration : iteration - 1, ids);
      }
    }
    return ids;
  }

  void add_nodes(std::uint32_t npu, std::uint32_t number, std::uint64_t iteration,
                 std::vector<GraphNode>& nodes) const {
    const Vertex& vertex = graph_.vertices[number];
    GraphNode node;
    node.id = id_of(npu, number, iteration);
    node.name = vertex.name;
    node.data_dependencies = dependencies(npu, number, iteration);
    node.bytes = vertex.bytes;
    switch (vertex.kind) {
      case Vertex::Kind::compute:
        add_compute(vertex, std::move(node), nodes);
        return;
      case Vertex::Kind::collective:
        add_collective(vertex, groups_of_[number], std::move(node), nodes);
        return;
      case Vertex::Kind::message: {
        const bool sends = npu == vertex.places[0];
        node.action = sends ? GraphAction::send : GraphAction::receive;
        node.peer = vertex.places[sends ? 1 : 0];
        node.tag = number;
        nodes.push_back(std::move(node));
        return;
      }
    }
  }

  static void add_compute(const Vertex& vertex, GraphNode node, std::vector<GraphNode>& nodes) {
    if (vertex.remote > Bytes()) {
      GraphNode load = node;
      load.action = GraphAction::load;
      load.in_remote = true;
      load.bytes = vertex.remote;
      ++node.id;
      if (vertex.coherent) {
        node.bytes = Bytes(vertex.bytes.count() - vertex.remote.count());
      } else {
        node.data_dependencies = {load.id};
      }
      nodes.push_back(std::move(load));
    }
    node.action = GraphAction::compute;
    node.flops = vertex.flops;
    nodes.push_back(std::move(node));
  }

  void add_collective(const Vertex& vertex, const std::string& group, GraphNode node,
                      std::vector<GraphNode>& nodes) const {
    node.action = GraphAction::collective;
    node.collective =
        vertex.gather == Vertex::Gather::sent ? vertex.collective : GraphCollective::reduce_scatter;
    node.root = vertex.root;
    node.group = group;
    nodes.push_back(node);
    if (vertex.gather == Vertex::Gather::read) {
      const std::uint64_t members = vertex.everywhere ? npus_ : vertex.places.size();
      GraphNode read = std::move(node);
      read.data_dependencies = {read.id};
      ++read.id;
      read.collective = GraphCollective::all_gather;
      read.bytes = Bytes((vertex.bytes.count() + members - 1) / members);
      nodes.push_back(std::move(read));
    }
  }

  // What a look through all graphs would find.
  void note_all() {
    for (std::uint32_t number = 0; number < graph_.vertices.size(); ++number) {
      const Vertex& vertex = graph_.vertices[number];
      const std::uint64_t places = vertex.everywhere ? npus_ : vertex.places.size();
      const std::uint64_t times = places * iterations_;
      look_.names.insert(vertex.name);
      look_.nodes += times * nodes_of(vertex);
      if (vertex.kind == Vertex::Kind::compute) {
        look_.flops += static_cast<double>(vertex.flops.count()) * static_cast<double>(times);
        look_.remote_accesses += vertex.remote > Bytes() ? times : 0;
        look_.without_work +=
            vertex.flops == Flops() && vertex.bytes == Bytes() ? times : std::uint64_t{0};
      } else if (vertex.kind == Vertex::Kind::collective) {
        std::vector<GraphNode> nodes;
        add_collective(vertex, "", GraphNode(), nodes);
        for (const GraphNode& node : nodes) {
          look_.collectives[static_cast<std::size_t>(node.collective)] += times;
        }
      }
    }
  }

  VertexGraph graph_;
  std::uint32_t npus_;
  std::uint64_t iterations_;
  std::vector<std::uint32_t> everywhere_;         // numbers
  std::vector<std::uint64_t> everywhere_before_;  // [vertices + 1] their nodes before
  std::vector<std::vector<Own>> own_;             // [npus]
  std::vector<std::size_t> first_edge_;           // [vertices + 1] in edges_in_
  std::vector<VertexEdge> edges_in_;              // by their target
  std::vector<std::string> groups_of_;            // [vertices]
  std::map<std::vector<std::uint32_t>, std::string> group_names_;
  GraphGroups groups_;
  GraphLook look_;
};

}  // namespace

std::unique_ptr<GraphSource> make_vertex_source(VertexGraph graph, std::uint32_t npus,
                                                std::uint64_t iterations) {
  return std::make_unique<VertexSource>(std::move(graph), npus, iterations);
}

}  // namespace tessera::workload
