#include "tessera/machine/graph/hierarchy.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "tessera/core/digest.hpp"

namespace tessera::machine {
namespace {

using Step = NodeTree::Step;

// Arcs between the vertices of a part.
struct Arc {
  std::uint32_t to = 0;
  Distance length;
};
using Arcs = std::vector<std::vector<Arc>>;

std::vector<Distance> distances_from(std::uint32_t source, const Arcs& arcs,
                                     const std::vector<std::uint8_t>& is_end) {
  using Entry = std::pair<Distance, std::uint32_t>;
  std::vector<Distance> distances(arcs.size());
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  distances[source] = Distance::none();
  open.emplace(Distance::none(), source);
  while (!open.empty()) {
    const auto [distance, vertex] = open.top();
    open.pop();
    if (distance != distances[vertex]) {
      continue;  // reached on a shorter way since
    }
    for (const Arc& arc : arcs[vertex]) {
      const Distance beyond = joined(distance, arc.length, is_end[vertex] != 0);
      if (beyond < distances[arc.to]) {
        distances[arc.to] = beyond;
        open.emplace(beyond, arc.to);
      }
    }
  }
  return distances;
}

// A link inside one instance of a part and inside no smaller one; ends count from its first node.
struct InnerLink {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint16_t link_class = 0;
};

}  // namespace

class HierarchyBuilder {
 public:
  HierarchyBuilder(const Topology& topology, const NodeTree& tree)
      : topology_(topology),
        measure_(topology),
        tree_(tree),
        links_(tree.parts().size()),
        gates_(tree.parts().size()) {
    hierarchy_.parts_.resize(tree.parts().size());
  }

  bool build(std::uint64_t most_entries) {
    look_at_links();
    std::uint64_t entries = 0;
    for (std::size_t part = 0; part < links_.size(); ++part) {
      number_vertices(part);
      const std::uint64_t vertices = hierarchy_.parts_[part].vertices;
      entries += vertices * vertices;
      if (entries > most_entries) {
        return false;
      }
      find_distances(part);
      if (!stays_inside(part)) {
        return false;
      }
    }
    return instances_are_alike();
  }
  Hierarchy take() && { return std::move(hierarchy_); }

 private:
  // Notes every link at the smallest instance that holds it, of the first instance of each part
  // with its ends, of all with a sum that tells different links apart; and the gates it passes.
  void look_at_links() {
    for (std::uint32_t n = 0; n < topology_.nodes(); ++n) {
      const EntityId node(n);
      for (unsigned port = 0; port < topology_.ports(node); ++port) {
        const Link link = topology_.link(node, port);
        if (link.to.valid()) {
          note(node, link);
        }
      }
    }
    for (std::vector<std::uint32_t>& gates : gates_) {
      std::sort(gates.begin(), gates.end());
      gates.erase(std::unique(gates.begin(), gates.end()), gates.end());
    }
  }

  void note(EntityId node, const Link& link) {
    Step from = tree_.begin(node);
    Step to = tree_.begin(link.to);
    std::uint32_t part = static_cast<std::uint32_t>(links_.size() - 1);
    std::uint32_t first = 0;
    while (from.first == to.first && from.group == to.group && !from.group->is_plain()) {
      part = from.group->part;
      first = from.first;
      from = tree_.below(from, node);
      to = tree_.below(to, link.to);
    }
    const InnerLink inner{node.value() - first, link.to.value() - first, link.link_class};
    // Nodes ascend, so that the first link is of the first instance.
    if (first_instance_.try_emplace(part, first).first->second == first) {
      links_[part].push_back(inner);
    }
    sums_[part][first] +=
        mix64(mix64(std::uint64_t{inner.from} << 32 | inner.to) + inner.link_class);
    pass_gates(from, node);
    pass_gates(to, link.to);
  }

  void pass_gates(Step step, EntityId node) {
    for (; !step.group->is_plain(); step = tree_.below(step, node)) {
      std::vector<std::uint32_t>& gates = gates_[step.group->part];
      const std::uint32_t gate = node.value() - step.first;
      if (gates.empty() || gates.back() != gate) {
        gates.push_back(gate);
      }
    }
  }

  // An instance without links of its own has no sum.
  bool instances_are_alike() {
    std::vector<std::uint64_t> instances(links_.size(), 0);
    instances.back() = 1;
    for (std::size_t part = links_.size(); part-- > 0;) {
      for (const NodeGroup& group : tree_.parts()[part].groups) {
        if (!group.is_plain()) {
          instances[group.part] += instances[part] * group.count;
        }
      }
      const auto& sums = sums_[static_cast<std::uint32_t>(part)];
      const bool alike = std::all_of(sums.begin(), sums.end(), [&](const auto& sum) {
        return sum.second == sums.begin()->second;
      });
      if (!alike || (!sums.empty() && sums.size() != instances[part])) {
        return false;
      }
    }
    return true;
  }

  void number_vertices(std::size_t number) {
    Hierarchy::Part& part = hierarchy_.parts_[number];
    for (const NodeGroup& group : tree_.parts()[number].groups) {
      part.first_vertex.push_back(part.vertices);
      part.width.push_back(group.is_plain() ? 1
                                            : static_cast<std::uint32_t>(
                                                  hierarchy_.parts_[group.part].gates.size()));
      part.vertices += group.count * part.width.back();
      note_ends(group, part);
    }
    part.gates = gates_[number];
    for (const std::uint32_t gate : part.gates) {
      part.gate_vertex.push_back(vertex_at(number, gate));
    }
  }

  // Of the vertices of a group.
  void note_ends(const NodeGroup& group, Hierarchy::Part& part) const {
    std::vector<std::uint8_t> is_end;  // of one element
    if (group.is_plain()) {
      is_end.push_back(measure_.is_end(group.role) ? 1 : 0);
    } else {
      const Hierarchy::Part& inner = hierarchy_.parts_[group.part];
      for (const std::uint32_t vertex : inner.gate_vertex) {
        is_end.push_back(inner.is_end[vertex]);
      }
    }
    for (std::uint32_t i = 0; i < group.count; ++i) {
      part.is_end.insert(part.is_end.end(), is_end.begin(), is_end.end());
    }
  }

  // Of a node of the part that is in no smaller instance or a gate of one.
  std::uint32_t vertex_at(std::size_t number, std::uint32_t node) const {
    const std::vector<NodeGroup>& groups = tree_.parts()[number].groups;
    const auto after = std::upper_bound(
        groups.begin(), groups.end(), node,
        [](std::uint32_t value, const NodeGroup& group) { return value < group.first; });
    const auto place = static_cast<std::size_t>(after - groups.begin() - 1);
    const NodeGroup& group = groups[place];
    const Hierarchy::Part& part = hierarchy_.parts_[number];
    const std::uint32_t index = (node - group.first) / group.size;
    const std::uint32_t vertex = part.first_vertex[place] + index * part.width[place];
    if (group.is_plain()) {
      return vertex;
    }
    const std::vector<std::uint32_t>& gates = hierarchy_.parts_[group.part].gates;
    const std::uint32_t inside = (node - group.first) % group.size;
    return vertex + static_cast<std::uint32_t>(
                        std::lower_bound(gates.begin(), gates.end(), inside) - gates.begin());
  }

  // Calls visit(vertex of the first gate, part of the instance) for each instance in a part.
  template <class Visit>
  void for_each_instance(std::size_t number, const Visit& visit) const {
    const std::vector<NodeGroup>& groups = tree_.parts()[number].groups;
    const Hierarchy::Part& part = hierarchy_.parts_[number];
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (std::uint32_t i = 0; !groups[g].is_plain() && i < groups[g].count; ++i) {
        visit(part.first_vertex[g] + i * part.width[g], hierarchy_.parts_[groups[g].part]);
      }
    }
  }

  void find_distances(std::size_t number) {
    Hierarchy::Part& part = hierarchy_.parts_[number];
    Arcs arcs(part.vertices);
    for (const InnerLink& link : links_[number]) {
      arcs[vertex_at(number, link.from)].push_back(
          {vertex_at(number, link.to), measure_.of_class(link.link_class)});
    }
    for_each_instance(number, [&](std::uint32_t first, const Hierarchy::Part& inner) {
      for (std::uint32_t a = 0; a < inner.gates.size(); ++a) {
        for (std::uint32_t b = 0; b < inner.gates.size(); ++b) {
          const Distance& length = inner.at(inner.gate_vertex[a], inner.gate_vertex[b]);
          if (a != b && length.is_finite()) {
            arcs[first + a].push_back({first + b, length});
          }
        }
      }
    });
    part.matrix.reserve(std::size_t{part.vertices} * part.vertices);
    for (std::uint32_t vertex = 0; vertex < part.vertices; ++vertex) {
      const std::vector<Distance> row = distances_from(vertex, arcs, part.is_end);
      part.matrix.insert(part.matrix.end(), row.begin(), row.end());
    }
  }

  // No way between gates of an instance is shorter outside of it.
  bool stays_inside(std::size_t number) const {
    const Hierarchy::Part& part = hierarchy_.parts_[number];
    bool inside = true;
    for_each_instance(number, [&](std::uint32_t first, const Hierarchy::Part& inner) {
      for (std::uint32_t a = 0; a < inner.gates.size(); ++a) {
        for (std::uint32_t b = 0; b < inner.gates.size(); ++b) {
          inside = inside && part.at(first + a, first + b) ==
                                 inner.at(inner.gate_vertex[a], inner.gate_vertex[b]);
        }
      }
    });
    return inside;
  }

  const Topology& topology_;
  Distances measure_;
  const NodeTree& tree_;
  Hierarchy hierarchy_;
  std::vector<std::vector<InnerLink>> links_;  // [parts] of the first instance
  std::vector<std::vector<std::uint32_t>> gates_;
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>> sums_;  // by part, then instance
  std::map<std::uint32_t, std::uint32_t> first_instance_;
};

std::shared_ptr<const Hierarchy> Hierarchy::of(const Topology& topology, const NodeTree& tree) {
  HierarchyBuilder builder(topology, tree);
  if (!builder.build(most_entries)) {
    return nullptr;
  }
  return std::make_shared<const Hierarchy>(std::move(builder).take());
}

std::uint32_t Hierarchy::vertex_of(const Step& step) const {
  const Part& part = parts_[step.part_number];
  const auto place = static_cast<std::size_t>(step.group - step.part->groups.data());
  return part.first_vertex[place] + step.index * part.width[place];
}

void Hierarchy::find_gates(const NodeTree& tree, const Step& element, EntityId node, bool inward,
                           Scratch& scratch, std::vector<Distance>& distances) const {
  std::vector<Step>& steps = scratch.steps_;  // from the element down to the node
  steps.assign(1, element);
  while (!steps.back().group->is_plain()) {
    steps.push_back(tree.below(steps.back(), node));
  }
  distances.assign(1, Distance::none());
  for (std::size_t level = steps.size() - 1; level > 0; --level) {
    const Part& part = parts_[steps[level].part_number];
    const std::uint32_t vertex = vertex_of(steps[level]);
    std::vector<Distance>& next = scratch.next_;
    next.assign(part.gates.size(), Distance{});
    for (std::size_t gate = 0; gate < next.size(); ++gate) {
      const std::uint32_t other = part.gate_vertex[gate];
      for (std::uint32_t way = 0; way < distances.size(); ++way) {
        const bool over_end = part.is_end[vertex + way] != 0;
        const Distance distance =
            inward ? joined(part.at(other, vertex + way), distances[way], over_end)
                   : joined(distances[way], part.at(vertex + way, other), over_end);
        next[gate] = std::min(next[gate], distance);
      }
    }
    std::swap(distances, next);
  }
}

Distance Hierarchy::between(const NodeTree& tree, EntityId from, EntityId to,
                            Scratch& scratch) const {
  if (from == to) {
    return Distance::none();
  }
  Step a = tree.begin(from);
  Step b = tree.begin(to);
  while (a.group == b.group && a.index == b.index) {
    a = tree.below(a, from);
    b = tree.below(b, to);
  }
  find_gates(tree, a, from, false, scratch, scratch.from_);
  find_gates(tree, b, to, true, scratch, scratch.to_);
  const Part& part = parts_[a.part_number];
  const std::uint32_t first = vertex_of(a);
  const std::uint32_t second = vertex_of(b);
  Distance shortest;
  for (std::uint32_t i = 0; i < scratch.from_.size(); ++i) {
    for (std::uint32_t j = 0; j < scratch.to_.size(); ++j) {
      const Distance up =
          joined(scratch.from_[i], part.at(first + i, second + j), part.is_end[first + i] != 0);
      shortest = std::min(shortest, joined(up, scratch.to_[j], part.is_end[second + j] != 0));
    }
  }
  return shortest;
}

std::size_t Hierarchy::resident_bytes() const {
  std::size_t bytes = sizeof(*this) + parts_.capacity() * sizeof(Part);
  for (const Part& part : parts_) {
    bytes += part.matrix.capacity() * sizeof(Distance) + part.is_end.capacity() +
             (part.gates.capacity() + part.gate_vertex.capacity() + part.first_vertex.capacity() +
              part.width.capacity()) *
                 sizeof(std::uint32_t);
  }
  return bytes;
}

}  // namespace tessera::machine
