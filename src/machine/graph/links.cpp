// Links of a graph.
#include <algorithm>
#include <charconv>
#include <iterator>

#include "graph/reader.hpp"
#include "readers.hpp"
#include "tessera/config/conditional_key.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/text.hpp"

namespace tessera::machine {
namespace {

constexpr std::size_t class_limit = std::size_t{1} << 16;

// Cuts "server[3].gpu[0-2]" at its dots.
std::vector<std::string> elements_of(const std::string& text) {
  std::vector<std::string> elements;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    elements.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return elements;
}

// The numbers of "[3]" or "[2-5]".
std::optional<std::pair<std::uint32_t, std::uint32_t>> parse_index(std::string_view text) {
  std::uint32_t low = 0;
  const char* const end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data() + 1, end, low);
  std::uint32_t high = low;
  if (error == std::errc() && *rest == '-') {
    const auto second = std::from_chars(rest + 1, end, high);
    rest = second.ptr;
    error = second.ec;
  }
  if (error != std::errc() || rest + 1 != end || *rest != ']' || high < low) {
    return std::nullopt;
  }
  return std::pair(low, high);
}

struct LinkKeys {
  config::OtherKey from{
      "links[].from", "text", "",
      "a node, a group, or a path such as server[3].gpu[0-2]; without an index: all members"};
  config::OtherKey to{"links[].to", "text", "", "other end, written like 'from'"};
  config::OtherKey type{"links[].type", "text", "null",
                        "a name from 'link_types', instead of bandwidth, latency and reverse"};
  config::OtherKey reverse{"links[].reverse", "mapping", "as forwards",
                           "bandwidth and latency of the opposite direction"};
  config::DerivedKey<std::uint32_t> count{
      "links[].count", std::to_string(LinkKind{}.count) + ", or as the type says", "parallel links",
      config::between(1U, 65536U)};
  config::ChoiceKey<bool> join_evenly{
      "links[].join",
      {{"all", false}, {"even", true}},
      "all",
      "all: every node of one end to every node of the other; even: in equal shares"};
  config::ChoiceKey<bool> both_directions{"links[].directions",
                                          {{"both", true}, {"one", false}},
                                          "both",
                                          "both, or one: only from 'from' to 'to'"};
  config::OtherKey types{"link_types.NAME", "mapping", "null",
                         "bandwidth, latency, reverse and count of links"};
  config::OtherKey reverse_of_type{"link_types.NAME.reverse", "mapping", "as forwards",
                                   "bandwidth and latency of the opposite direction"};
  config::Key<std::uint32_t> count_of_type{"link_types.NAME.count", LinkKind{}.count,
                                           "parallel links", config::between(1U, 65536U)};
};

const LinkKeys& link_keys() {
  static const LinkKeys keys;
  return keys;
}

}  // namespace

std::vector<ParameterInfo> graph_link_parameters() {
  const LinkKeys& keys = link_keys();
  std::vector<ParameterInfo> all{keys.from, keys.to, keys.type};
  for (ParameterInfo& parameter : link_parameters("links[].")) {
    all.push_back(config::where_used(std::move(parameter)));
  }
  all.insert(all.end(),
             {keys.reverse, keys.count, keys.join_evenly, keys.both_directions, keys.types});
  for (ParameterInfo& parameter : link_parameters(keys.types.name() + ".")) {
    all.push_back(std::move(parameter));
  }
  all.insert(all.end(), {keys.reverse_of_type, keys.count_of_type});
  return all;
}

// Replaces the nodes of `end`, first nodes of instances of `part`, by what `element` names in each.
bool GraphReader::step_into(Section& entry, std::string_view key, const std::string& element,
                            const GraphPart& part, GraphEnd& end, std::uint32_t& next) {
  const std::size_t bracket = element.find('[');
  const std::string name = element.substr(0, bracket);
  const auto found = part.group_by_name.find(name);
  if (found == part.group_by_name.end()) {
    std::vector<std::string> names;
    for (const auto& [known, index] : part.group_by_name) {
      names.push_back(known);
    }
    fail(entry, key, unknown_name("node", name, names));
    return false;
  }
  const NodeGroup& group = part.nodes.groups[found->second];
  std::pair<std::uint32_t, std::uint32_t> index{0, group.count - 1};
  if (bracket != std::string::npos) {
    const auto given = parse_index(std::string_view(element).substr(bracket));
    if (!given) {
      fail(entry, key, "'" + element + "' is not a node; write e.g. '" + name + "[0]'");
      return false;
    }
    if (!group.indexed) {
      fail(entry, key, "'" + name + "' is one node, not a group; write it without an index");
      return false;
    }
    if (given->second >= group.count) {
      fail(entry, key,
           "'" + element + "' does not exist; the last one is '" +
               group.element_name(group.count - 1) + "'");
      return false;
    }
    index = *given;
  }
  std::vector<std::uint32_t> nodes;
  nodes.reserve(end.nodes.size() * (index.second - index.first + 1));
  for (const std::uint32_t first : end.nodes) {
    for (std::uint32_t i = index.first; i <= index.second; ++i) {
      nodes.push_back(first + group.first + i * group.size);
    }
  }
  end.nodes = std::move(nodes);
  end.role = group.role;
  next = group.part;
  return true;
}

std::optional<GraphEnd> GraphReader::read_end(Section& entry, std::string_view key,
                                              const GraphPart& part) {
  const auto given = read_text(entry, key);
  if (!given) {
    return std::nullopt;
  }
  GraphEnd end{{0}, NodeRole::tile};
  const GraphPart* inside = &part;
  std::string before;
  for (const std::string& element : elements_of(*given)) {
    if (inside == nullptr) {
      return fail(entry, key, "'" + before + "' is no instance of a template; nothing is in it");
    }
    std::uint32_t next = NodeGroup::no_part;
    if (!step_into(entry, key, element, *inside, end, next)) {
      return std::nullopt;
    }
    inside = next == NodeGroup::no_part ? nullptr : &parts_[next];
    before = element;
  }
  if (inside != nullptr) {
    return fail(entry, key,
                "'" + *given + "' is an instance of a template; name a node in it, e.g. '" +
                    *given + "." +
                    (inside->nodes.groups.empty() ? "NAME" : inside->nodes.groups[0].name) + "'");
  }
  return end;
}

LinkKind GraphReader::read_link_kind(Section& entry) {
  LinkKind kind;
  kind.forward = read_link_class(entry, "");
  kind.backward = kind.forward;
  failed_ = failed_ || !was_read(kind.forward);
  const std::string_view reverse_key = link_keys().reverse.key();
  if (entry.has(reverse_key)) {
    Section reverse = entry.section(reverse_key);
    kind.backward = read_link_class(reverse, "");
    failed_ = failed_ || !was_read(kind.backward);
  }
  return kind;
}

void GraphReader::read_link_types() {
  if (!section_.has("link_types")) {
    return;
  }
  Section types = section_.section("link_types");
  for (const std::string& name : types.keys()) {
    Section entry = types.section(name);
    LinkKind kind = read_link_kind(entry);
    kind.count = link_keys().count_of_type.read(entry);
    link_types_.emplace(name, std::move(kind));
  }
}

std::uint16_t GraphReader::class_of(Section& entry, LinkClass values) {
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

void GraphReader::read_links(Section& section, GraphPart& part) {
  for (Section& entry : section.sections("links")) {
    read_link(entry, part);
  }
}

std::optional<LinkKind> GraphReader::read_named_kind(Section& entry) {
  const std::string type = entry.get<std::string>(link_keys().type.key());
  const auto found = link_types_.find(type);
  if (found == link_types_.end() && !type.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, one] : link_types_) {
      names.push_back(name);
    }
    fail(entry, "type", unknown_name("link type", type, names));
  }
  for (const char* key : {"bandwidth", "latency", "reverse"}) {
    if (entry.has(key)) {
      entry.raw(key);
      fail(entry, key, "is what the link's type says");
    }
  }
  return found == link_types_.end() ? std::nullopt : std::optional(found->second);
}

void GraphReader::read_link(Section& entry, GraphPart& part) {
  const LinkKeys& keys = link_keys();
  const auto from = read_end(entry, keys.from.key(), part);
  const auto to = read_end(entry, keys.to.key(), part);
  const std::optional<LinkKind> named =
      entry.has(keys.type.key()) ? read_named_kind(entry) : read_link_kind(entry);
  LinkKind kind = named.value_or(LinkKind());
  kind.count = keys.count.read(entry, kind.count);
  const bool both = keys.both_directions.read(entry);
  const bool even = keys.join_evenly.read(entry);
  if (!both && entry.has(keys.reverse.key())) {
    fail(entry, keys.reverse.key(), "is not for 'directions: one'");
  }
  if (!from || !to || !named) {
    return;
  }
  const bool same = from->nodes == to->nodes;
  std::vector<std::uint32_t> shared;
  std::set_intersection(from->nodes.begin(), from->nodes.end(), to->nodes.begin(), to->nodes.end(),
                        std::back_inserter(shared));
  if ((same && (from->nodes.size() == 1 || even)) || (!same && !shared.empty())) {
    fail(entry, "to", "a node cannot be linked to itself");
    return;
  }
  const std::uint64_t a = from->nodes.size();
  const std::uint64_t b = to->nodes.size();
  const std::uint64_t more = std::max(a, b);
  if (even && more % std::min(a, b) != 0) {
    fail(entry, "join",
         "'even' needs one end to have a multiple of the nodes of the other; they have " +
             std::to_string(a) + " and " + std::to_string(b));
    return;
  }
  const std::uint64_t pairs = even ? more : same ? a * (a - 1) / 2 : a * b;
  const std::uint64_t links = pairs * kind.count * (both ? 2 : 1);
  if (links > graph_limit - part.all_links) {
    fail(entry, "from", "too many links; a graph may have " + std::to_string(graph_limit));
    return;
  }
  part.all_links += links;
  const std::uint16_t forward = class_of(entry, std::move(kind.forward));
  const std::uint16_t backward = both ? class_of(entry, std::move(kind.backward)) : forward;
  const auto join = [&](std::uint32_t here, std::uint32_t there) {
    for (std::uint32_t i = 0; i < kind.count; ++i) {
      part.links.push_back({EntityId(here), EntityId(there), forward});
      if (both) {
        part.links.push_back({EntityId(there), EntityId(here), backward});
      }
    }
  };
  if (even) {
    for (std::uint64_t i = 0; i < more; ++i) {
      join(from->nodes[i * a / more], to->nodes[i * b / more]);
    }
    return;
  }
  for (std::uint64_t i = 0; i < a; ++i) {
    // An end joined to itself: every pair once.
    for (std::uint64_t j = same ? i + 1 : 0; j < b; ++j) {
      join(from->nodes[i], to->nodes[j]);
    }
  }
}

}  // namespace tessera::machine
