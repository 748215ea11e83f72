// A graph: nodes and links listed in the file.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "graph_topology.hpp"
#include "readers.hpp"
#include "reverse_links.hpp"
#include "tessera/core/text.hpp"

namespace tessera::machine {
namespace {

// Nodes and directed links a graph may have: they are stored one by one, and a short text can ask
// for any number of them. A connected graph has at least as many links as nodes.
constexpr std::uint64_t graph_limit = std::uint64_t{1} << 24;
constexpr std::size_t class_limit = std::size_t{1} << 16;

// One end of an entry of `links`: the nodes first … first + count - 1.
struct End {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const End&, const End&) = default;
};

// Reads nodes and links into tables; `failed` once there was a complaint.
class GraphReader {
 public:
  explicit GraphReader(config::Section& section) : section_(section) {}
  std::unique_ptr<Topology> read();

 private:
  void read_nodes();
  void read_link(config::Section& entry);
  std::optional<End> read_end(config::Section& entry, const std::string& key);
  std::nullopt_t fail(config::Section& entry, std::string_view key, const std::string& message);
  std::optional<std::string> read_text(config::Section& entry, const std::string& key);
  std::uint16_t class_of(config::Section& entry);
  void join(End from, End to, std::uint16_t link_class, bool both);
  void check_reachable(const GraphTopology& topology);

  config::Section& section_;
  std::vector<NodeGroup> groups_;
  std::map<std::string, std::size_t, std::less<>> group_by_name_;
  std::vector<LinkClass> classes_;
  std::map<std::pair<SimTime, Bandwidth>, std::uint16_t> class_by_values_;
  std::vector<DirectedLink> links_;
  bool failed_ = false;
};

std::nullopt_t GraphReader::fail(config::Section& entry, std::string_view key,
                                 const std::string& message) {
  entry.error(key, message);
  failed_ = true;
  return std::nullopt;
}

// A text that must be given and not be empty.
std::optional<std::string> GraphReader::read_text(config::Section& entry, const std::string& key) {
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

void GraphReader::read_nodes() {
  std::uint64_t nodes = 0;
  for (config::Section& entry : section_.sections("nodes")) {
    const auto name = read_text(entry, "name");
    const auto count = entry.get_optional<std::int64_t>("count", config::at_least<std::int64_t>(1));
    NodeGroup group;
    group.computes = entry.get_name("kind", {"tile", "switch"}, "tile") == "tile";
    group.indexed = count.has_value();
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(1, count.value_or(1)));
    if (!name) {
      continue;
    }
    if (name->find_first_of("[]") != std::string::npos) {
      fail(entry, "name",
           "a name must not contain '[' or ']'; 'count' makes name[0], name[1], ...");
      continue;
    }
    if (size > graph_limit - nodes) {
      fail(entry, group.indexed ? "count" : "name",
           "too many nodes; a graph may have " + std::to_string(graph_limit));
      continue;
    }
    if (!group_by_name_.emplace(*name, groups_.size()).second) {
      fail(entry, "name", "there are two nodes called '" + *name + "'");
      continue;
    }
    group.name = *name;
    group.first = static_cast<std::uint32_t>(nodes);
    group.count = static_cast<std::uint32_t>(size);
    nodes += size;
    groups_.push_back(std::move(group));
  }
  if (groups_.empty() && !failed_) {
    failed_ = true;
    const config::Value::Kind kind = section_.raw("nodes").kind;
    if (kind == config::Value::Kind::null || kind == config::Value::Kind::sequence) {
      section_.error("nodes", "must list at least one node");
    }  // else the section has complained
  }
}

std::optional<End> GraphReader::read_end(config::Section& entry, const std::string& key) {
  const auto given = read_text(entry, key);
  if (!given) {
    return std::nullopt;
  }
  const std::string& text = *given;
  const std::size_t bracket = text.find('[');
  const std::string name = text.substr(0, bracket);
  const auto found = group_by_name_.find(name);
  if (found == group_by_name_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, index] : group_by_name_) {
      names.push_back(known);
    }
    return fail(entry, key, unknown_name("node", name, names));
  }
  const NodeGroup& group = groups_[found->second];
  if (bracket == std::string::npos) {
    return End{group.first, group.count};
  }
  std::uint32_t index = 0;
  const char* const begin = text.data() + bracket + 1;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(begin, end, index);
  if (error != std::errc() || rest + 1 != end || *rest != ']') {
    return fail(entry, key, "'" + text + "' is not a node; write e.g. '" + name + "[0]'");
  }
  if (!group.indexed) {
    return fail(entry, key, "'" + name + "' is one node, not a group; write it without an index");
  }
  if (index >= group.count) {
    return fail(entry, key,
                "'" + text + "' does not exist; the last one is '" +
                    group.node_name(group.count - 1) + "'");
  }
  return End{group.first + index, 1};
}

std::uint16_t GraphReader::class_of(config::Section& entry) {
  LinkClass values = read_link_class(entry, "");
  failed_ = failed_ || !was_read(values);
  const auto [found, added] =
      class_by_values_.try_emplace({values.latency, values.bandwidth},
                                   static_cast<std::uint16_t>(classes_.size() % class_limit));
  if (added && classes_.size() == class_limit) {
    fail(entry, "bandwidth",
         "there are more than " + std::to_string(class_limit) + " kinds of links");
  } else if (added) {
    values.name = to_string(values.bandwidth) + ", " + to_string(values.latency);
    classes_.push_back(std::move(values));
  }
  return found->second;
}

void GraphReader::join(End from, End to, std::uint16_t link_class, bool both) {
  for (std::uint32_t a = from.first; a < from.first + from.count; ++a) {
    // A group joined to itself: every pair once.
    for (std::uint32_t b = from == to ? a + 1 : to.first; b < to.first + to.count; ++b) {
      links_.push_back({EntityId(a), EntityId(b), link_class});
      if (both) {
        links_.push_back({EntityId(b), EntityId(a), link_class});
      }
    }
  }
}

void GraphReader::read_link(config::Section& entry) {
  const auto from = read_end(entry, "from");
  const auto to = read_end(entry, "to");
  const std::uint16_t link_class = class_of(entry);
  const bool both = entry.get_name("directions", {"both", "one"}, "both") == "both";
  if (!from || !to) {
    return;
  }
  const bool same = *from == *to;
  const bool overlap = from->first < to->first + to->count && to->first < from->first + from->count;
  if ((same && from->count == 1) || (!same && overlap)) {
    fail(entry, "to", "a node cannot be linked to itself");
    return;
  }
  const std::uint64_t pairs = same ? std::uint64_t{from->count} * (from->count - 1) / 2
                                   : std::uint64_t{from->count} * to->count;
  if (links_.size() + pairs * (both ? 2 : 1) > graph_limit) {
    fail(entry, "from", "too many links; a graph may have " + std::to_string(graph_limit));
    return;
  }
  join(*from, *to, link_class, both);
}

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

std::unique_ptr<Topology> GraphReader::read() {
  read_nodes();
  for (config::Section& entry : section_.sections("links")) {
    read_link(entry);
  }
  if (failed_) {
    return nullptr;
  }
  auto topology = std::make_unique<GraphTopology>(std::move(groups_), std::move(classes_), links_);
  check_reachable(*topology);
  return failed_ ? nullptr : std::move(topology);
}

std::unique_ptr<Topology> make(config::Section& section) {
  return GraphReader(section).read();
}

std::vector<ParameterInfo> parameters() {
  std::vector<ParameterInfo> all{
      {"nodes[].name", "", "", "name of a node or of a group of nodes"},
      {"nodes[].count", "", "null", "makes a group name[0] ... name[count-1]; null: a single node"},
      {"nodes[].kind", "", "tile", "tile (executes programs) or switch"},
      {"links[].from", "", "", "a node, or a group: each of its nodes"},
      {"links[].to", "", "", "a node, or a group: each of its nodes"}};
  for (ParameterInfo& parameter : link_parameters("links[].")) {
    all.push_back(std::move(parameter));
  }
  all.push_back({"links[].directions", "", "both", "both, or one: only from 'from' to 'to'"});
  return all;
}

const Registration registration(topologies(),
                                {"graph", "nodes and links listed one by one", parameters()}, make);

}  // namespace
}  // namespace tessera::machine
