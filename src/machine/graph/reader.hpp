// Reads a graph of nodes, templates and links. What each key means is in topology.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/topology.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"

namespace tessera::machine {

// Nodes and directed links a graph may have: they are stored one by one, and a short text can ask
// for any number of them. A connected graph has at least as many links as nodes.
inline constexpr std::uint64_t graph_limit = std::uint64_t{1} << 24;

// One kind of links, both directions.
struct LinkKind {
  LinkClass forward;
  LinkClass backward;
  std::uint32_t count = 1;  // side by side
};

// A template, or the machine, as read; nodes count from its first one.
struct GraphPart {
  NodePart nodes;
  std::map<std::string, std::size_t, std::less<>> group_by_name;
  std::vector<DirectedLink> links;   // its own
  std::uint64_t all_links = 0;       // with those of the instances in it
  std::vector<MemoryNode> memories;  // its own
};

// Nodes that an end of a link names, ascending, and what they are.
struct GraphEnd {
  std::vector<std::uint32_t> nodes;
  NodeRole role = NodeRole::tile;
};

// Keys of a graph: of its nodes and their templates, and of its links and their types.
std::vector<ParameterInfo> graph_node_parameters();
std::vector<ParameterInfo> graph_link_parameters();

class GraphReader {
 public:
  explicit GraphReader(config::Section& section) : section_(section) {}
  // Null after a complaint.
  std::unique_ptr<Topology> read();

 private:
  using Section = config::Section;
  enum class State : std::uint8_t { unread, reading, read };
  struct Template {
    State state = State::unread;
    std::uint32_t part = 0;
  };

  std::nullopt_t fail(Section& entry, std::string_view key, const std::string& message);
  // A text that must be given and not be empty.
  std::optional<std::string> read_text(Section& entry, std::string_view key);

  // nodes.cpp
  std::uint32_t read_part(Section& section, const std::string& name);
  void read_nodes(Section& section, GraphPart& part);
  void read_group(Section& entry, const std::string& name, bool named_by_key, GraphPart& part);
  bool read_template_of(Section& entry, NodeGroup& group, std::uint64_t& links);
  std::optional<std::uint32_t> read_template(const std::string& name);
  std::vector<std::uint16_t> read_types(Section& entry);
  void read_memories(Section& entry, const NodeGroup& group, GraphPart& part);

  // links.cpp
  void read_link_types();
  LinkKind read_link_kind(Section& entry);
  void read_links(Section& section, GraphPart& part);
  // Nothing when there is no such type.
  std::optional<LinkKind> read_named_kind(Section& entry);
  void read_link(Section& entry, GraphPart& part);
  std::optional<GraphEnd> read_end(Section& entry, std::string_view key, const GraphPart& part);
  bool step_into(Section& entry, std::string_view key, const std::string& element,
                 const GraphPart& part, GraphEnd& end, std::uint32_t& next);
  std::uint16_t class_of(Section& entry, LinkClass values);

  // graph.cpp
  RouteRule read_route_rule();
  void expand(std::uint32_t part, std::uint32_t first, std::vector<DirectedLink>& links,
              std::vector<MemoryNode>& memories) const;
  void check_reachable(const GraphTopology& topology);
  void read_routes(GraphTopology& topology);
  std::optional<EntityId> read_route_node(const config::Value& text, const GraphTopology& topology,
                                          class NodeFinder& find);

  Section& section_;
  std::map<std::string, Template, std::less<>> templates_;
  std::vector<GraphPart> parts_;  // the last one is the machine
  std::map<std::string, LinkKind, std::less<>> link_types_;
  std::vector<LinkClass> classes_;
  std::map<std::pair<SimTime, Bandwidth>, std::uint16_t> class_by_values_;
  std::vector<TileTypeName> types_;
  bool failed_ = false;
};

}  // namespace tessera::machine
