// Graphs of vertices, as what each NPU does.
#include <algorithm>
#include <map>
#include <utility>

#include "tessera/core/error.hpp"
#include "vertices/graph.hpp"

namespace tessera::workload {
namespace {

// A vertex is one node at an NPU or several, of which the last ends it; a coherent one ends with
// all.
class VertexSource final : public GraphSource {
 public:
  VertexSource(VertexGraph graph, std::uint32_t npus, std::uint32_t iterations,
               std::optional<TensorPlacement> tensors)
      : graph_(std::move(graph)),
        npus_(npus),
        iterations_(iterations),
        tensors_(std::move(tensors)),
        everywhere_before_(std::max<std::size_t>(1, graph_.remote.size()), {0}),
        own_(npus) {
    const std::size_t count = graph_.vertices.size();
    for (std::uint32_t number = 0; number < count; ++number) {
      const Vertex& vertex = graph_.vertices[number];
      for (std::uint32_t row = 0; row < everywhere_before_.size(); ++row) {
        std::vector<std::uint64_t>& before = everywhere_before_[row];
        before.push_back(before.back() + (vertex.everywhere ? nodes_of(row, number) : 0));
      }
      if (vertex.everywhere) {
        everywhere_.push_back(number);
      }
      for (const std::uint32_t npu : vertex.places) {
        std::vector<Own>& own = own_[npu];
        const std::uint64_t before =
            own.empty() ? 0 : own.back().before + nodes_of(row_of(npu), own.back().vertex);
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
  std::uint32_t iterations() const override { return iterations_; }
  std::optional<GraphSurvey> known() const override { return survey_; }
  const TensorPlacement* tensors() const override { return tensors_ ? &*tensors_ : nullptr; }

  // A little more than `most` where a vertex is several nodes.
  std::vector<GraphNode> read(std::uint32_t npu, GraphPosition& position,
                              std::size_t most) const override {
    std::vector<GraphNode> nodes;
    const std::uint64_t count = graph_.vertices.size();
    nodes.reserve(std::min<std::uint64_t>(most, count * iterations_ - position.offset));
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

  std::uint32_t row_of(std::uint32_t npu) const {
    return graph_.remote_row.empty() ? 0 : graph_.remote_row[npu];
  }
  const RemoteBytes& remote_of(std::uint32_t row, std::uint32_t number) const {
    return graph_.remote.empty() ? graph_.vertices[number].remote : graph_.remote[row][number];
  }

  // At NPUs of a row of VertexGraph::remote.
  std::uint32_t nodes_of(std::uint32_t row, std::uint32_t number) const {
    const Vertex& vertex = graph_.vertices[number];
    if (vertex.kind == Vertex::Kind::compute) {
      return 1 + accesses_of(row, number);
    }
    return vertex.kind == Vertex::Kind::collective && vertex.gather == Vertex::Gather::read ? 2 : 1;
  }

  // Of one that computes: loads and stores.
  std::uint32_t accesses_of(std::uint32_t row, std::uint32_t number) const {
    const RemoteBytes& remote = remote_of(row, number);
    return (remote.read > Bytes() ? 1U : 0U) + (remote.written > Bytes() ? 1U : 0U);
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
    if (own.empty()) {
      return everywhere_before_[row_of(npu)][number];
    }
    const auto at = own_from(npu, number);
    std::uint64_t before = 0;
    if (at != own.end()) {
      before = at->before;
    } else {
      before = own.back().before + nodes_of(row_of(npu), own.back().vertex);
    }
    return before + everywhere_before_[row_of(npu)][number];
  }

  // Of the first node of a vertex in an iteration.
  std::uint64_t id_of(std::uint32_t npu, std::uint32_t number, std::uint64_t iteration) const {
    const auto all = static_cast<std::uint32_t>(graph_.vertices.size());
    const std::uint64_t before = iteration == 0 ? 0 : iteration * nodes_before(npu, all);
    return before + nodes_before(npu, number);
  }

  // Nodes that end a vertex.
  void add_ends(std::uint32_t npu, std::uint32_t number, std::uint64_t iteration,
                std::vector<std::uint64_t>& ids) const {
    const Vertex& vertex = graph_.vertices[number];
    const std::uint64_t first = id_of(npu, number, iteration);
    const std::uint32_t nodes = nodes_of(row_of(npu), number);
    const bool by_all = vertex.kind == Vertex::Kind::compute && vertex.coherent;
    for (std::uint32_t node = by_all ? 0 : nodes - 1; node < nodes; ++node) {
      ids.push_back(first + node);
    }
  }

  std::vector<std::uint64_t> dependencies(std::uint32_t npu, std::uint32_t number,
                                          std::uint64_t iteration) const {
    std::vector<std::uint64_t> ids;
    ids.reserve(first_edge_[number + std::size_t{1}] - first_edge_[number] + 1);
    if (iteration > 0) {
      add_ends(npu, number, iteration - 1, ids);
    }
    for (std::size_t at = first_edge_[number]; at < first_edge_[number + std::size_t{1}]; ++at) {
      const VertexEdge& edge = edges_in_[at];
      // Where the vertex before is elsewhere, a message is between.
      const Vertex& from = graph_.vertices[edge.from];
      const bool counts = edge.is_told ? npu == from.places.back() : from.at(npu);
      if ((edge.at_first || iteration > 0) && counts && edge.from != number) {
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
    node.iteration = static_cast<std::uint32_t>(iteration);
    node.data_dependencies = dependencies(npu, number, iteration);
    node.bytes = vertex.bytes;
    switch (vertex.kind) {
      case Vertex::Kind::compute:
        add_compute(vertex, remote_of(row_of(npu), number), std::move(node), nodes);
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

  // Reads, computes, writes: at once, or one after the other.
  static void add_compute(const Vertex& vertex, const RemoteBytes& remote, GraphNode node,
                          std::vector<GraphNode>& nodes) {
    if (remote.read == Bytes() && remote.written == Bytes()) {
      node.action = GraphAction::compute;
      node.flops = vertex.flops;
      nodes.push_back(std::move(node));
      return;
    }
    std::uint64_t id = node.id;
    const auto add = [&](GraphAction action, Bytes bytes) -> GraphNode& {
      GraphNode& next = nodes.emplace_back();
      next.id = id++;
      next.name = node.name;
      next.iteration = node.iteration;
      next.action = action;
      next.bytes = bytes;
      if (next.id == node.id || vertex.coherent) {
        next.data_dependencies = node.data_dependencies;
      } else {
        next.data_dependencies = {next.id - 1};
      }
      return next;
    };
    if (remote.read > Bytes()) {
      add(GraphAction::load, remote.read).in_remote = true;
    }
    const Bytes bytes =
        vertex.coherent ? vertex.bytes - remote.read - remote.written : vertex.bytes;
    add(GraphAction::compute, bytes).flops = vertex.flops;
    if (remote.written > Bytes()) {
      add(GraphAction::store, remote.written).in_remote = true;
    }
  }

  void add_collective(const Vertex& vertex, const std::string& group, GraphNode node,
                      std::vector<GraphNode>& nodes) const {
    node.action = GraphAction::collective;
    node.collective = vertex.gather == Vertex::Gather::sent ? vertex.collective
                                                            : collective::Kind::reduce_scatter;
    node.root = vertex.root;
    node.group = group;
    if (vertex.gather != Vertex::Gather::read) {
      nodes.push_back(std::move(node));
      return;
    }
    nodes.push_back(node);
    const std::uint64_t members = vertex.everywhere ? npus_ : vertex.places.size();
    node.data_dependencies = {node.id};
    ++node.id;
    node.collective = collective::Kind::all_gather;
    node.bytes = Bytes((vertex.bytes.count() + members - 1) / members);
    nodes.push_back(std::move(node));
  }

  void note_computed(std::uint32_t number) {
    const Vertex& vertex = graph_.vertices[number];
    const auto note = [&](std::uint32_t npu) {
      Bytes bytes = vertex.bytes;
      if (vertex.coherent) {  // accesses are apart
        const RemoteBytes& remote = remote_of(row_of(npu), number);
        bytes = bytes - remote.read - remote.written;
      }
      survey_.computed_bytes.at(npu) += Wide{bytes.count()} * iterations_;
    };
    for (std::uint32_t npu = 0; vertex.everywhere && npu < npus_; ++npu) {
      note(npu);
    }
    if (!vertex.everywhere) {
      std::for_each(vertex.places.begin(), vertex.places.end(), note);
    }
  }

  // What a look through all graphs would find.
  void note_all() {
    std::vector<std::uint64_t> members(everywhere_before_.size());  // of rows
    for (std::uint32_t npu = 0; npu < npus_; ++npu) {
      ++members[row_of(npu)];
    }
    survey_.at_work.resize(npus_, !everywhere_.empty());
    survey_.computed_bytes = SparseTableOf<Wide>(npus_, 0);
    for (std::uint32_t number = 0; number < graph_.vertices.size(); ++number) {
      const Vertex& vertex = graph_.vertices[number];
      for (const std::uint32_t npu : vertex.places) {
        survey_.at_work[npu] = true;
      }
      const std::uint64_t places = vertex.everywhere ? npus_ : vertex.places.size();
      const std::uint64_t times = places * iterations_;
      survey_.names.insert(vertex.name);
      std::vector<std::uint64_t> at = members;
      if (!vertex.everywhere) {
        at.assign(at.size(), 0);
        for (const std::uint32_t npu : vertex.places) {
          ++at[row_of(npu)];
        }
      }
      for (std::uint32_t row = 0; row < at.size(); ++row) {
        const std::uint64_t row_times = at[row] * iterations_;
        survey_.nodes += row_times * nodes_of(row, number);
        if (vertex.kind == Vertex::Kind::compute) {
          survey_.remote_accesses += row_times * accesses_of(row, number);
          survey_.remote_loads += remote_of(row, number).read > Bytes() ? row_times : 0;
        }
      }
      if (vertex.kind == Vertex::Kind::compute) {
        survey_.flops += static_cast<double>(vertex.flops.count()) * static_cast<double>(times);
        note_computed(number);
        const bool has_work = vertex.flops > Flops() || vertex.bytes > Bytes();
        survey_.has_vector_work = survey_.has_vector_work || has_work;
        (has_work ? survey_.device_work : survey_.without_work) += times;
        survey_.untyped_work += has_work ? times : 0;
      } else if (vertex.kind == Vertex::Kind::collective) {
        std::vector<GraphNode> nodes;
        GraphNode first;
        first.bytes = vertex.bytes;
        add_collective(vertex, "", std::move(first), nodes);
        for (const GraphNode& node : nodes) {
          survey_.add_collective(node, times);
        }
      } else {
        survey_.sends += iterations_;
      }
    }
  }

  VertexGraph graph_;
  std::uint32_t npus_;
  std::uint32_t iterations_;
  std::optional<TensorPlacement> tensors_;
  std::vector<std::uint32_t> everywhere_;                      // numbers
  std::vector<std::vector<std::uint64_t>> everywhere_before_;  // [rows][vertices + 1] their nodes
  std::vector<std::vector<Own>> own_;                          // [npus]
  std::vector<std::size_t> first_edge_;                        // [vertices + 1] in edges_in_
  std::vector<VertexEdge> edges_in_;                           // by their target
  std::vector<std::string> groups_of_;                         // [vertices]
  std::map<std::vector<std::uint32_t>, std::string> group_names_;
  GraphGroups groups_;
  GraphSurvey survey_;
};

}  // namespace

std::unique_ptr<GraphSource> make_vertex_source(VertexGraph graph, std::uint32_t npus,
                                                std::uint32_t iterations,
                                                std::optional<TensorPlacement> tensors) {
  return std::make_unique<VertexSource>(std::move(graph), npus, iterations, std::move(tensors));
}

}  // namespace tessera::workload
