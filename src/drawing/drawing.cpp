#include "tessera/drawing/drawing.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "tessera/core/text.hpp"

namespace tessera::drawing {

using machine::Link;
using machine::LinkClass;
using machine::Machine;
using machine::MemoryNode;
using machine::NodeGroup;
using machine::NodeRole;
using machine::NodeTree;
using machine::Topology;

namespace {

constexpr std::uint32_t most_of_a_group = 16;
constexpr std::uint32_t side_of_a_corner = 5;

// "accelerator 3 of node 7" and the like are called "accelerator # of node #".
std::string stem_of(const std::string& name) {
  std::string stem;
  for (const char letter : name) {
    if (std::isdigit(static_cast<unsigned char>(letter)) == 0) {
      stem += letter;
    } else if (stem.empty() || stem.back() != '#') {
      stem += '#';
    }
  }
  return stem;
}

// Which node is drawn in place of which.
class Chosen {
 public:
  Chosen(const Topology& topology, bool everything)
      : topology_(topology), everything_(everything || topology.nodes() <= most_drawn) {
    const bool by_stem = !everything_ && topology.tree() == nullptr && !topology.grid();
    for (std::uint32_t n = 0; by_stem && n < topology.nodes(); ++n) {
      const auto [stem, added] =
          first_.try_emplace(stem_of(topology.node_name(EntityId(n))), EntityId(n));
      ++counts_[stem->second];
    }
  }

  bool everything() const { return everything_; }

  // None for what is left out.
  EntityId of(EntityId node) const {
    if (everything_) {
      return node;
    }
    if (const auto grid = topology_.grid()) {
      const bool shown =
          grid->row_of(node) < side_of_a_corner && grid->column_of(node) < side_of_a_corner;
      return shown ? node : EntityId::none();
    }
    if (topology_.tree() == nullptr) {
      return first_.at(stem_of(topology_.node_name(node)));
    }
    std::uint32_t first = 0;
    NodeTree::Step step = topology_.tree()->begin(node);
    for (;; step = topology_.tree()->below(step, node)) {
      first += step.group->first + first_alike(step) * step.group->size;
      if (step.group->is_plain()) {
        return EntityId(first);
      }
    }
  }

  // How many elements of its group an element stands for.
  std::uint32_t alike(const NodeTree::Step& step) const {
    if (everything_ || (step.group->is_plain() && step.group->count <= most_of_a_group)) {
      return 1;
    }
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < step.group->count; ++i) {
      count += type(*step.group, i) == type(*step.group, step.index) ? 1 : 0;
    }
    return count;
  }
  std::uint64_t with_stem(EntityId node) const {
    const auto found = counts_.find(node);
    return found == counts_.end() ? 1 : found->second;
  }

 private:
  static std::uint16_t type(const NodeGroup& group, std::uint32_t index) {
    return group.types.empty() ? NodeTree::no_type : group.types[index % group.types.size()];
  }
  std::uint32_t first_alike(const NodeTree::Step& step) const {
    if (step.group->is_plain() && step.group->count <= most_of_a_group) {
      return step.index;
    }
    std::uint32_t first = 0;
    while (type(*step.group, first) != type(*step.group, step.index)) {
      ++first;
    }
    return first;
  }

  const Topology& topology_;
  bool everything_;
  std::map<std::string, EntityId> first_;  // by stem
  std::map<EntityId, std::uint64_t> counts_;
};

class Drawer {
 public:
  Drawer(const Machine& machine, bool everything)
      : machine_(machine), topology_(*machine.topology), chosen_(topology_, everything) {
    for (const MemoryNode& memory : topology_.memory_nodes()) {
      capacity_[memory.node] = memory.capacity;
    }
  }

  Drawing draw() && {
    for (std::uint32_t n = 0; n < topology_.nodes(); ++n) {
      if (chosen_.of(EntityId(n)) == EntityId(n)) {
        add_node(EntityId(n));
      }
    }
    for (const auto& [node, number] : numbers_) {
      count_links(node, number);
    }
    add_lines();
    const std::string all = std::to_string(topology_.nodes()) + " nodes, " +
                            std::to_string(topology_.computing_nodes()) + " of them tiles";
    drawing_.title =
        machine_.name + ": " + all +
        (drawing_.nodes.size() < topology_.nodes() && topology_.grid() ? "; a corner" : "");
    drawing_.placed = topology_.tree() == nullptr && (chosen_.everything() || topology_.grid());
    return std::move(drawing_);
  }

 private:
  std::string note_of(EntityId node) const {
    if (topology_.role(node) == NodeRole::memory) {
      const Bytes capacity = capacity_.at(node);
      return capacity == Bytes(0) ? "unlimited" : to_short_string(capacity);
    }
    return topology_.computes(node) ? machine_.tile_of(node).name : "";
  }

  static std::string times(const std::string& name, std::uint64_t count) {
    return count == 1 ? name : name + " x " + std::to_string(count);
  }

  void add_node(EntityId node) {
    Drawing::Node drawn;
    drawn.role = topology_.role(node);
    drawn.note = note_of(node);
    drawn.position = topology_.position(node);
    const NodeTree* tree = topology_.tree();
    if (tree == nullptr) {
      const std::uint64_t count = chosen_.with_stem(node);
      const std::string name = topology_.node_name(node);
      drawn.name = count == 1 ? name : times(stem_of(name), count);
    } else {
      NodeTree::Step step = tree->begin(node);
      for (; !step.group->is_plain(); step = tree->below(step, node)) {
        drawn.box = box_of(step, drawn.box);
      }
      drawn.name = name_of(step);
    }
    numbers_.emplace(node, static_cast<std::uint32_t>(drawing_.nodes.size()));
    drawing_.nodes.push_back(std::move(drawn));
  }

  std::string name_of(const NodeTree::Step& step) const {
    const std::uint32_t count = chosen_.alike(step);
    return count == 1 ? step.group->element_name(step.index) : times(step.group->name, count);
  }

  std::uint32_t box_of(const NodeTree::Step& step, std::uint32_t outer) {
    const auto [box, added] =
        boxes_.try_emplace({step.first, outer}, static_cast<std::uint32_t>(drawing_.boxes.size()));
    if (added) {
      drawing_.boxes.push_back({name_of(step), outer});
    }
    return box->second;
  }

  void count_links(EntityId node, std::uint32_t number) {
    std::map<std::pair<EntityId, std::uint16_t>, std::uint32_t> side_by_side;
    for (unsigned port = 0; port < topology_.ports(node); ++port) {
      const Link link = topology_.link(node, port);
      if (link.to.valid()) {
        ++side_by_side[{link.to, link.link_class}];
      }
    }
    for (const auto& [link, count] : side_by_side) {
      const EntityId to = chosen_.of(link.first);
      if (to.valid()) {
        std::uint32_t& most = links_[{number, numbers_.at(to)}][link.second];
        most = std::max(most, count);
      }
    }
  }

  std::string label_of(std::uint16_t link_class) const {
    const LinkClass& values = topology_.link_classes()[link_class];
    return to_string(values.bandwidth) + ", " + to_string(values.latency);
  }

  void add_line(std::uint32_t from, std::uint32_t to, std::uint32_t count, std::uint16_t forward,
                std::optional<std::string> backward) {
    drawing_.lines.push_back({from, to, count, label_of(forward), std::move(backward)});
  }

  void add_lines() {
    using Counts = std::map<std::uint16_t, std::uint32_t>;
    static const Counts none;
    for (const auto& [ends, forward] : links_) {
      const auto [a, b] = ends;
      const auto other = links_.find({b, a});
      const Counts& backward = other == links_.end() ? none : other->second;
      if (a > b && other != links_.end()) {
        continue;  // drawn from the other end
      }
      const bool one_kind_each = forward.size() == 1 && backward.size() == 1;
      if (one_kind_each && forward.begin()->first != backward.begin()->first) {
        add_line(a, b, std::max(forward.begin()->second, backward.begin()->second),
                 forward.begin()->first, label_of(backward.begin()->first));
        continue;
      }
      for (const auto& [link_class, count] : forward) {
        const auto back = backward.find(link_class);
        if (back == backward.end()) {
          add_line(a, b, count, link_class, "");
        } else {
          add_line(a, b, std::max(count, back->second), link_class, std::nullopt);
        }
      }
      for (const auto& [link_class, count] : backward) {
        if (!forward.contains(link_class)) {
          add_line(b, a, count, link_class, "");
        }
      }
    }
  }

  const Machine& machine_;
  const Topology& topology_;
  Chosen chosen_;
  std::map<EntityId, Bytes> capacity_;
  std::map<EntityId, std::uint32_t> numbers_;  // of those that are drawn
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> boxes_;  // by first node, outer
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint16_t, std::uint32_t>> links_;
  Drawing drawing_;
};

}  // namespace

std::string Drawing::Line::label() const {
  const std::string back = backward && !backward->empty() ? "; back " + *backward : "";
  return (count == 1 ? "" : std::to_string(count) + " x ") + forward + back;
}

Drawing draw(const Machine& machine, bool everything) {
  return Drawer(machine, everything).draw();
}

}  // namespace tessera::drawing
