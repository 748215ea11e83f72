// A graph: nodes and links listed in the file, with templates of parts that are there many times.
#include <algorithm>
#include <utility>

#include "graph/reader.hpp"
#include "graph/reverse_links.hpp"
#include "tessera/config/key.hpp"
#include "tessera/machine/node_finder.hpp"

namespace tessera::machine {

std::nullopt_t GraphReader::fail(config::Section& entry, std::string_view key,
                                 const std::string& message) {
  entry.error(key, message);
  failed_ = true;
  return std::nullopt;
}

std::optional<std::string> GraphReader::read_text(config::Section& entry, std::string_view key) {
  std::string text = entry.get<std::string>(key);
  if (!text.empty()) {
    return text;
  }
  failed_ = true;
  if (entry.raw(key).kind == config::Value::Kind::scalar) {
    entry.error(key, "must not be empty");
  }  // else the section has complained
  return std::nullopt;
}

namespace {

const config::ChoiceKey<RouteLength> route_length{
    "ways.by",
    {{"latency", RouteLength::latency},
     {"hops", RouteLength::hops},
     {"bandwidth", RouteLength::bandwidth}},
    RouteRule{}.by,
    "metric of shortest paths: latency, hops, or bandwidth (the sum of 1 / bandwidth)"};
const config::ChoiceKey<bool> through_ends{"ways.through",
                                           {{"switches", false}, {"all", true}},
                                           "switches",
                                           "switches: paths pass through tiles and memories only "
                                           "where no other path exists; or all: through any node"};
const config::OtherKey routes_key{
    "routes", "list", "null",
    "lists of nodes, each the route from its first node to its last node"};

// The first node that a search from node 0 does not meet; `next_of(node, visit)` calls visit for
// every neighbour.
template <class NextOf>
EntityId first_not_met(std::uint32_t nodes, const NextOf& next_of) {
  std::vector<bool> met(nodes, false);
  std::vector<EntityId> open{EntityId(0)};
  met[0] = true;
  while (!open.empty()) {
    const EntityId node = open.back();
    open.pop_back();
    next_of(node, [&](EntityId next) {
      if (!met[next.value()]) {
        met[next.value()] = true;
        open.push_back(next);
      }
    });
  }
  const auto missed = std::find(met.begin(), met.end(), false);
  return missed == met.end() ? EntityId::none()
                             : EntityId(static_cast<std::uint32_t>(missed - met.begin()));
}

}  // namespace

void GraphReader::check_reachable(const GraphTopology& topology) {
  const auto complain = [&](EntityId from, EntityId to) {
    fail(
        section_, "links",
        "no way leads from '" + topology.node_name(from) + "' to '" + topology.node_name(to) + "'");
  };
  const EntityId unreached = first_not_met(topology.nodes(), [&](EntityId node, auto&& visit) {
    for (unsigned port = 0; port < topology.ports(node); ++port) {
      visit(topology.link(node, port).to);
    }
  });
  if (unreached.valid()) {
    complain(EntityId(0), unreached);
    return;
  }
  const ReverseLinks reverse(topology);
  const EntityId stranded = first_not_met(topology.nodes(), [&](EntityId node, auto&& visit) {
    for (const ReverseLinks::Source& source : reverse.into(node)) {
      visit(source.from);
    }
  });
  if (stranded.valid()) {
    complain(stranded, EntityId(0));
  }
}

// Links and memories of a part and of the instances in it, whose own come first.
void GraphReader::expand(std::uint32_t part, std::uint32_t first, std::vector<DirectedLink>& links,
                         std::vector<MemoryNode>& memories) const {
  const auto at = [first](EntityId node) { return EntityId(first + node.value()); };
  for (const NodeGroup& group : parts_[part].nodes.groups) {
    for (std::uint32_t i = 0; !group.is_plain() && i < group.count; ++i) {
      expand(group.part, first + group.first + i * group.size, links, memories);
    }
  }
  for (const DirectedLink& link : parts_[part].links) {
    links.push_back({at(link.from), at(link.to), link.link_class});
  }
  for (MemoryNode memory : parts_[part].memories) {
    memory.node = at(memory.node);
    std::transform(memory.owners.begin(), memory.owners.end(), memory.owners.begin(), at);
    memories.push_back(std::move(memory));
  }
}

std::optional<EntityId> GraphReader::read_route_node(const config::Value& text,
                                                     const GraphTopology& topology,
                                                     NodeFinder& find) {
  const std::optional<EntityId> node =
      text.kind == config::Value::Kind::scalar ? find(text.text) : std::nullopt;
  if (!node) {
    section_.error(routes_key.key(), text,
                   "there is no node '" + text.text + "'; nodes are called as '" +
                       topology.node_name(EntityId(0)) + "'");
    failed_ = true;
  }
  return node;
}

void GraphReader::read_routes(GraphTopology& topology) {
  const config::Value routes = section_.raw(routes_key.key());
  if (routes.kind == config::Value::Kind::null) {
    return;
  }
  GivenRoutes given{topology.default_routing(), {}};
  NodeFinder find(topology);
  const auto complain = [&](const config::Value& at, const std::string& message) {
    section_.error(routes_key.key(), at, message);
    failed_ = true;
  };
  if (routes.kind != config::Value::Kind::sequence) {
    complain(routes, "expected a list of lists of nodes");
  }
  for (const config::Value& route : routes.items) {
    if (route.items.size() < 2) {
      complain(route, "a route is a list of two nodes or more");
      continue;
    }
    std::vector<EntityId> nodes;
    for (const config::Value& item : route.items) {
      const auto node = read_route_node(item, topology, find);
      if (!node) {
        break;
      }
      if (std::find(nodes.begin(), nodes.end(), *node) != nodes.end()) {
        complain(item, "the route comes to '" + item.text + "' twice");
        break;
      }
      nodes.push_back(*node);
    }
    for (std::size_t i = 0; nodes.size() == route.items.size() && i + 1 < nodes.size(); ++i) {
      std::vector<unsigned> ways;
      for (unsigned port = 0; port < topology.ports(nodes[i]); ++port) {
        if (topology.link(nodes[i], port).to == nodes[i + 1]) {
          ways.push_back(port);
        }
      }
      if (ways.empty()) {
        complain(route.items[i + 1], "no link leads there from '" + route.items[i].text + "'");
        break;
      }
      const unsigned port = ways[nodes.back().value() % ways.size()];
      const auto [known, added] =
          given.ports.emplace(GivenRoutes::key(nodes[i], nodes.back()), port);
      if (!added && known->second != port) {
        complain(route.items[i], "another route to '" + route.items.back().text +
                                     "' goes on differently from here");
      }
    }
  }
  topology.add_routes(std::move(given));
}

RouteRule GraphReader::read_route_rule() {
  Section ways = section_.section("ways");
  RouteRule rule;
  rule.by = route_length.read(ways);
  rule.through_ends = through_ends.read(ways);
  return rule;
}

std::unique_ptr<Topology> GraphReader::read() {
  const RouteRule rule = read_route_rule();
  read_link_types();
  if (section_.has("templates")) {
    Section templates = section_.section("templates");
    for (const std::string& name : templates.keys()) {
      read_template(name);
    }
  }
  const std::uint32_t machine = read_part(section_, "");
  if (failed_) {
    section_.raw(routes_key.key());
    return nullptr;
  }
  std::vector<DirectedLink> links;
  std::vector<MemoryNode> memories;
  links.reserve(parts_[machine].all_links);
  expand(machine, 0, links, memories);
  std::sort(memories.begin(), memories.end(),
            [](const MemoryNode& a, const MemoryNode& b) { return a.node < b.node; });
  std::vector<NodePart> parts;
  for (GraphPart& part : parts_) {
    parts.push_back(std::move(part.nodes));
  }
  auto topology =
      std::make_unique<GraphTopology>(NodeTree(std::move(parts)), std::move(classes_), links);
  topology->set_route_rule(rule);
  topology->add_types(std::move(types_));
  topology->add_memories(std::move(memories));
  check_reachable(*topology);
  if (failed_) {
    section_.raw(routes_key.key());
    return nullptr;
  }
  if (topology->tree()->has_templates()) {
    topology->add_hierarchy(Hierarchy::of(*topology, *topology->tree()));
  }
  read_routes(*topology);
  return failed_ ? nullptr : std::move(topology);
}

namespace {

std::unique_ptr<Topology> make_graph(config::Section& section) {
  return GraphReader(section).read();
}

std::vector<ParameterInfo> graph_parameters() {
  std::vector<ParameterInfo> all = graph_node_parameters();
  for (ParameterInfo& parameter : graph_link_parameters()) {
    all.push_back(std::move(parameter));
  }
  all.insert(all.end(), {route_length, through_ends, routes_key});
  return all;
}

const Registration graph_registration(
    topologies(),
    {"graph", "nodes and links listed in the file, with templates for repeated parts",
     graph_parameters()},
    make_graph);

}  // namespace
}  // namespace tessera::machine
