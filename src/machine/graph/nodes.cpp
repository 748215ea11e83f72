// Nodes and templates of a graph.
#include <algorithm>
#include <charconv>

#include "graph/reader.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/text.hpp"

namespace tessera::machine {
namespace {

constexpr std::uint64_t most_types = 64;

// "h100 x 16" is a name and how many elements in a row have it; "h100" is one.
std::pair<std::string, std::uint64_t> parse_run(const std::string& text) {
  const std::size_t mark = text.rfind(" x ");
  if (mark != std::string::npos) {
    std::uint64_t times = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + mark + 3, end, times);
    if (error == std::errc() && rest == end) {
      return {text.substr(0, text.find_last_not_of(' ', mark) + 1), times};
    }
  }
  return {text, 1};
}

struct NodeKeys {
  config::OptionalKey<std::int64_t> count{
      "nodes.NAME.count", "null",
      "creates a group NAME[0] ... NAME[count-1]; null: a single node ('nodes' may also be a list "
      "of entries with a 'name')",
      config::at_least<std::int64_t>(1)};
  config::ChoiceKey<NodeRole> role{
      "nodes.NAME.kind",
      {{"tile", NodeRole::tile}, {"switch", NodeRole::switching}, {"memory", NodeRole::memory}},
      NodeGroup{}.role,
      "tile (executes programs), switch or memory"};
  config::OtherKey part{"nodes.NAME.template", "text", "null",
                        "each member is an instance of this template instead of a node"};
  config::OtherKey types{"nodes.NAME.type", "text or list", "null",
                         "for tiles: a name from the machine's 'types', or a list that is repeated "
                         "over the group, e.g. [h100 x 16, a100]"};
  config::OtherKey capacity =
      config::counted_in("B", config::OtherKey("nodes.NAME.capacity", "size or unlimited",
                                               "unlimited", "capacity of a memory"));
  config::OtherKey owners{"nodes.NAME.of", "text", "null",
                          "for a memory: the tiles to which it belongs, in equal shares"};
  config::OtherKey templates{"templates.NAME", "mapping", "null",
                             "nodes and links of a template, written like those of the machine"};
};

const NodeKeys& node_keys() {
  static const NodeKeys keys;
  return keys;
}

}  // namespace

std::vector<ParameterInfo> graph_node_parameters() {
  const NodeKeys& keys = node_keys();
  return {keys.count, keys.role, keys.part, keys.types, keys.capacity, keys.owners, keys.templates};
}

std::uint32_t GraphReader::read_part(Section& section, const std::string& name) {
  GraphPart part;
  part.nodes.name = name;
  read_nodes(section, part);
  read_links(section, part);
  parts_.push_back(std::move(part));
  return static_cast<std::uint32_t>(parts_.size() - 1);
}

std::optional<std::uint32_t> GraphReader::read_template(const std::string& name) {
  Template& one = templates_[name];
  if (one.state == State::reading) {
    return std::nullopt;
  }
  if (one.state == State::unread) {
    one.state = State::reading;
    Section section = section_.section("templates").section(name);
    one.part = read_part(section, name);
    one.state = State::read;
  }
  return one.part;
}

void GraphReader::read_nodes(Section& section, GraphPart& part) {
  const config::Value::Kind kind = section.raw("nodes").kind;
  if (kind == config::Value::Kind::mapping) {
    Section nodes = section.section("nodes");
    for (const std::string& name : nodes.keys()) {
      const config::Value::Kind given = nodes.raw(name).kind;
      Section entry = nodes.section(name);
      if (given == config::Value::Kind::mapping || given == config::Value::Kind::null) {
        read_group(entry, name, true, part);
      } else {
        failed_ = true;  // the section has complained
      }
    }
  } else {
    for (Section& entry : section.sections("nodes")) {
      const auto name = read_text(entry, "name");
      read_group(entry, name.value_or(""), false, part);
    }
  }
  if (part.nodes.groups.empty() && !failed_) {
    failed_ = true;
    if (kind != config::Value::Kind::scalar) {
      section.error("nodes", "must list at least one node");
    }  // else the section has complained
  }
}

// Puts the template that the entry names into the group; false after a complaint.
bool GraphReader::read_template_of(Section& entry, NodeGroup& group, std::uint64_t& links) {
  const std::string_view key = node_keys().part.key();
  const auto name = read_text(entry, key);
  if (!name) {
    return false;
  }
  const std::vector<std::string> known = section_.section("templates").keys();
  if (std::find(known.begin(), known.end(), *name) == known.end()) {
    fail(entry, key, unknown_name("template", *name, known));
    return false;
  }
  const auto part = read_template(*name);
  if (!part) {
    fail(entry, key, "template '" + *name + "' would contain itself");
    return false;
  }
  group.part = *part;
  group.size = std::max(1U, parts_[*part].nodes.nodes);
  links = parts_[*part].all_links;
  return true;
}

std::vector<std::uint16_t> GraphReader::read_types(Section& entry) {
  const std::string_view key = node_keys().types.key();
  if (!entry.has(key)) {
    return {};
  }
  const config::Value value = entry.raw(key);
  std::vector<config::Value> texts;
  if (value.kind == config::Value::Kind::sequence) {
    entry.get_list<std::string>(key);
    texts = value.items;
  } else if (!entry.get<std::string>(key).empty()) {
    texts.push_back(value);
  }
  std::vector<std::uint16_t> types;
  for (const config::Value& text : texts) {
    const auto [name, times] = parse_run(text.text);
    auto known = std::find_if(types_.begin(), types_.end(),
                              [&, &named = name](const auto& type) { return type.name == named; });
    if (known == types_.end() && types_.size() < most_types) {
      types_.push_back({name, text});
      known = types_.end() - 1;
    }
    if (known == types_.end()) {
      fail(entry, key, "there are more than " + std::to_string(most_types) + " types");
    } else if (times < 1 || times > graph_limit - types.size()) {
      fail(entry, key, "'" + text.text + "' is no number of elements");
    } else {
      types.insert(types.end(), times, static_cast<std::uint16_t>(known - types_.begin()));
    }
  }
  return types;
}

void GraphReader::read_group(Section& entry, const std::string& name, bool named_by_key,
                             GraphPart& part) {
  const std::string name_key = named_by_key ? "" : "name";
  const std::optional<std::int64_t> count = node_keys().count.read(entry);
  NodeGroup group;
  std::uint64_t links = 0;  // of an instance
  const bool is_template = entry.has(node_keys().part.key());
  if (is_template) {
    if (!read_template_of(entry, group, links)) {
      for (const std::string& key : entry.keys()) {
        entry.raw(key);
      }
      return;
    }
  } else {
    group.role = node_keys().role.read(entry);
  }
  if (is_template || group.role == NodeRole::tile) {
    group.types = read_types(entry);
  } else if (entry.has(node_keys().types.key())) {
    entry.raw(node_keys().types.key());
    fail(entry, node_keys().types.key(), "only tiles have a type");
  }
  group.indexed = count.has_value();
  const auto elements = static_cast<std::uint64_t>(std::max<std::int64_t>(1, count.value_or(1)));
  const std::string size_key = group.indexed ? "count" : name_key;
  if (name.empty()) {
    return;
  }
  if (name.find_first_of("[].") != std::string::npos) {
    fail(entry, name_key,
         name.find('.') == std::string::npos
             ? "a name must not contain '[' or ']'; 'count' makes name[0], name[1], ..."
             : "a name must not contain '.'; it leads into instances of templates");
    return;
  }
  if (elements > (graph_limit - part.nodes.nodes) / group.size) {
    fail(entry, size_key, "too many nodes; a graph may have " + std::to_string(graph_limit));
    return;
  }
  if (links > 0 && elements > (graph_limit - part.all_links) / links) {
    fail(entry, size_key, "too many links; a graph may have " + std::to_string(graph_limit));
    return;
  }
  if (!part.group_by_name.emplace(name, part.nodes.groups.size()).second) {
    fail(entry, name_key, "there are two nodes called '" + name + "'");
    return;
  }
  group.name = name;
  group.first = part.nodes.nodes;
  group.count = static_cast<std::uint32_t>(elements);
  part.nodes.nodes += group.count * group.size;
  part.all_links += elements * links;
  if (group.is_plain() && group.role == NodeRole::memory) {
    read_memories(entry, group, part);
  }
  part.nodes.groups.push_back(std::move(group));
}

void GraphReader::read_memories(Section& entry, const NodeGroup& group, GraphPart& part) {
  Bytes capacity;
  const std::string_view capacity_key = node_keys().capacity.key();
  if (entry.has(capacity_key) && entry.raw(capacity_key).text != "unlimited") {
    capacity = entry.get<Bytes>(capacity_key, config::at_least(Bytes(1)));
  }
  GraphEnd owners;
  const std::string_view of = node_keys().owners.key();
  if (entry.has(of)) {
    owners = read_end(entry, of, part).value_or(GraphEnd{});
    if (!owners.nodes.empty() && owners.role != NodeRole::tile) {
      fail(entry, of, "memory belongs to tiles");
      return;
    }
  }
  const std::size_t tiles = owners.nodes.size();
  const std::size_t most = std::max<std::size_t>(tiles, group.count);
  if (tiles > 0 && (most % tiles != 0 || most % group.count != 0)) {
    fail(entry, of,
         std::to_string(group.count) + " memories cannot be shared evenly by " +
             std::to_string(tiles) + " tiles");
    return;
  }
  for (std::uint32_t i = 0; i < group.count; ++i) {
    part.memories.push_back({EntityId(group.first + i), capacity, {}});
  }
  const auto first = part.memories.end() - group.count;
  for (std::size_t i = 0; tiles > 0 && i < most; ++i) {
    first[static_cast<std::ptrdiff_t>(i * group.count / most)].owners.emplace_back(
        owners.nodes[i * tiles / most]);
  }
}

}  // namespace tessera::machine
