#include "vertices/graph.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

namespace tessera::workload {
namespace {

std::uint32_t first_place(const Vertex& vertex) {
  return vertex.everywhere ? 0 : vertex.places.front();
}

// Calls for each place of `vertex` that `other` has not.
template <typename Visit>
void for_places_without(const Vertex& vertex, const Vertex& other, std::uint32_t npus,
                        const Visit& visit) {
  if (other.everywhere) {
    return;
  }
  if (!vertex.everywhere) {
    for (const std::uint32_t place : vertex.places) {
      if (!other.at(place)) {
        visit(place);
      }
    }
    return;
  }
  for (std::uint32_t place = 0; place < npus; ++place) {
    if (!other.at(place)) {
      visit(place);
    }
  }
}

// A vertex tells successors at places that it is not at by messages from its first place.
void add_messages(VertexGraph& graph, std::uint32_t npus) {
  const std::size_t edges = graph.edges.size();
  for (std::size_t number = 0; number < edges; ++number) {
    const VertexEdge edge = graph.edges[number];
    std::vector<std::uint32_t> targets;
    const Vertex& from = graph.vertices[edge.from];
    const std::uint32_t sender =
        from.kind == Vertex::Kind::message ? from.places.back() : first_place(from);
    for_places_without(graph.vertices[edge.to], from, npus,
                       [&](std::uint32_t place) { targets.push_back(place); });
    for (const std::uint32_t target : targets) {
      Vertex message;
      message.name = graph.vertices[edge.from].name + " to " + graph.vertices[edge.to].name;
      message.kind = Vertex::Kind::message;
      message.places = {sender, target};
      const auto added = static_cast<std::uint32_t>(graph.vertices.size());
      graph.vertices.push_back(std::move(message));
      graph.edges.push_back({edge.from, added, true});
      graph.edges.push_back({added, edge.to, edge.at_first, true});
    }
  }
}

}  // namespace

bool Vertex::at(std::uint32_t npu) const {
  if (everywhere) {
    return true;
  }
  return kind == Kind::message ? npu == places[0] || npu == places[1]
                               : std::binary_search(places.begin(), places.end(), npu);
}

std::string put_in_order(VertexGraph& graph, std::uint32_t npus, std::uint32_t& culprit) {
  for (VertexEdge& edge : graph.edges) {
    edge.at_first = edge.at_first && !graph.vertices[edge.to].starts;
  }
  std::vector<std::uint32_t> edges_in(graph.vertices.size());
  for (const VertexEdge& edge : graph.edges) {
    ++edges_in[edge.to];
  }
  for (std::uint32_t number = 0; number < graph.vertices.size(); ++number) {
    if (edges_in[number] == 0 && !graph.vertices[number].starts) {
      culprit = number;
      return "neither starts nor has an edge to it";
    }
  }
  const std::size_t given = graph.vertices.size();
  add_messages(graph, npus);

  const std::size_t count = graph.vertices.size();
  std::vector<std::uint32_t> waits_for(count);
  std::vector<std::vector<std::uint32_t>> next(count);
  for (const VertexEdge& edge : graph.edges) {
    if (edge.at_first) {
      ++waits_for[edge.to];
      next[edge.from].push_back(edge.to);
    }
  }
  // A message that was added is given just before what it is for.
  std::vector<std::uint32_t> given_with(count);
  std::iota(given_with.begin(), given_with.end(), 0U);
  for (const VertexEdge& edge : graph.edges) {
    if (edge.is_told) {
      given_with[edge.from] = edge.to;
    }
  }
  // Of those that may come, the one given first.
  using Given = std::tuple<std::uint32_t, bool, std::uint32_t>;  // itself last
  std::priority_queue<Given, std::vector<Given>, std::greater<>> ready;
  const auto may_come = [&](std::uint32_t number) {
    ready.emplace(given_with[number], number < given, number);
  };
  for (std::uint32_t number = 0; number < count; ++number) {
    if (waits_for[number] == 0) {
      may_come(number);
    }
  }
  std::vector<std::uint32_t> place_of(count);
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const std::uint32_t number = std::get<2>(ready.top());
    ready.pop();
    place_of[number] = static_cast<std::uint32_t>(order.size());
    order.push_back(number);
    for (const std::uint32_t other : next[number]) {
      if (--waits_for[other] == 0) {
        may_come(other);
      }
    }
  }
  if (order.size() < count) {
    const auto waits = std::find_if(waits_for.begin(), waits_for.end(),
                                    [](std::uint32_t edges) { return edges > 0; });
    culprit = static_cast<std::uint32_t>(waits - waits_for.begin());
    return "waits for itself in the first iteration: no vertex of the circle starts, and no edge "
           "of it has first: false";
  }
  std::vector<Vertex> vertices;
  vertices.reserve(count);
  for (const std::uint32_t number : order) {
    vertices.push_back(std::move(graph.vertices[number]));
  }
  graph.vertices = std::move(vertices);
  for (VertexEdge& edge : graph.edges) {
    edge.from = place_of[edge.from];
    edge.to = place_of[edge.to];
  }
  return "";
}

}  // namespace tessera::workload
