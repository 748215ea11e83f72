#include "faults.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/reverse_links.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/random.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/node_finder.hpp"
#include "tessera/machine/parameters.hpp"
#include "tessera/machine/routings.hpp"

namespace tessera::machine {
namespace {

// Another topology, with some links of their own.
class FaultyTopology final : public Topology {
 public:
  explicit FaultyTopology(std::unique_ptr<Topology> sound) : sound_(std::move(sound)) {
    classes_ = sound_->link_classes();
  }

  std::uint32_t nodes() const override { return sound_->nodes(); }
  unsigned ports(EntityId node) const override { return sound_->ports(node); }
  Link link(EntityId node, unsigned port) const override {
    const auto found = faulty_.find(key(node, port));
    return found == faulty_.end() ? sound_->link(node, port) : found->second;
  }
  Position position(EntityId node) const override { return sound_->position(node); }
  std::string node_name(EntityId node) const override { return sound_->node_name(node); }
  bool computes(EntityId node) const override { return sound_->computes(node); }
  std::optional<std::uint32_t> first_tiles() const override { return sound_->first_tiles(); }
  EntityId nearest_tile(EntityId node) const override { return sound_->nearest_tile(node); }
  std::uint64_t links() const override { return sound_->links() - dead_links_; }
  NodeRole role(EntityId node) const override { return sound_->role(node); }
  std::vector<TileTypeName> tile_types() const override { return sound_->tile_types(); }
  std::uint16_t tile_type(EntityId node) const override { return sound_->tile_type(node); }
  const std::vector<MemoryNode>& memory_nodes() const override { return sound_->memory_nodes(); }
  std::uint32_t domain(EntityId node) const override { return sound_->domain(node); }
  std::optional<Grid> grid() const override { return sound_->grid(); }
  std::optional<Cluster> cluster() const override { return sound_->cluster(); }
  const Stack* stack() const override { return sound_->stack(); }
  const NodeTree* tree() const override { return sound_->tree(); }
  // Its distances are those of the sound links.
  const Hierarchy* hierarchy() const override {
    return changes_distances() ? nullptr : sound_->hierarchy();
  }
  const GivenRoutes* given_routes() const override { return sound_->given_routes(); }
  bool has_dead_links() const override { return dead_; }
  std::vector<DeadLink> dead_links() const override {
    std::vector<DeadLink> dead;
    for (const auto& [place, link] : faulty_) {
      if (!link.to.valid()) {
        dead.push_back({EntityId(static_cast<std::uint32_t>(place >> 32)),
                        static_cast<unsigned>(place & 0xffff'ffff)});
      }
    }
    std::sort(dead.begin(), dead.end());
    return dead;
  }
  const Topology& sound() const override { return *sound_; }
  RouteRule route_rule() const override { return sound_->route_rule(); }
  // Where the usual one would cross dead links or go by distances that are no more: on grids one
  // way for each pair as before, elsewhere spread over the equal ways that are left.
  std::string default_routing() const override {
    const std::string usual = sound_routing();
    const bool holds = dead_ ? routings().at(usual).avoids_dead_links
                             : usual != "hierarchy" || !changes_distances();
    return holds ? usual : grid() ? "shortest" : "ecmp";
  }
  std::size_t resident_bytes() const override {
    return sound_->resident_bytes() + Topology::resident_bytes() +
           faulty_.size() * (sizeof(std::uint64_t) + sizeof(Link) + 2 * sizeof(void*));
  }

  void kill(EntityId node, unsigned port) {
    Link& link = faulty_.try_emplace(key(node, port), sound_->link(node, port)).first->second;
    dead_links_ += link.to.valid() ? 1 : 0;
    link = Link{};
    dead_ = true;
  }
  void slow(EntityId node, unsigned port, Fraction share) {
    const Link link = sound_->link(node, port);
    const auto [entry, is_new] =
        slower_.try_emplace({link.link_class, share}, static_cast<std::uint16_t>(classes_.size()));
    if (is_new) {
      LinkClass slower = classes_[link.link_class];
      slower.name += " at " + format_number(100 * share.value()) + " %";
      const auto whole = static_cast<double>(slower.bandwidth.bytes_per_second());
      slower.bandwidth = Bandwidth::bytes_per_second(
          std::max<std::uint64_t>(1, static_cast<std::uint64_t>(whole * share.value())));
      classes_.push_back(std::move(slower));
    }
    faulty_[key(node, port)] = {link.to, entry->second};
  }

 private:
  static std::uint64_t key(EntityId node, unsigned port) {
    return std::uint64_t{node.value()} << 32 | port;
  }

  bool changes_distances() const {
    return dead_ || (!slower_.empty() && route_rule().by == RouteLength::bandwidth);
  }

  std::unique_ptr<Topology> sound_;
  std::unordered_map<std::uint64_t, Link> faulty_;
  std::map<std::pair<std::uint16_t, Fraction>, std::uint16_t> slower_;
  bool dead_ = false;
  std::uint64_t dead_links_ = 0;  // that led somewhere
};

using config::RequiredKey;

const RequiredKey<std::string> from_key{"links[].from", "number or name of a node"};
const RequiredKey<std::string> to_key{"links[].to", "number or name of its neighbour"};
const config::Key<bool> dead_key{"links[].dead", false, "the link carries nothing"};
const config::OptionalKey<Fraction> left_key{"links[].bandwidth", "none",
                                             "remaining share of the link's bandwidth",
                                             config::at_least(Fraction::millionths(1))};
const config::ChoiceKey<bool> both_directions{"links[].directions",
                                              {{"both", true}, {"one", false}},
                                              "both",
                                              "both, or one: only from 'from' to 'to'"};
const RequiredKey<std::string> node_key{"nodes[].node", "number or name of a computing node"};
const RequiredKey<Fraction> speed_key{"nodes[].speed", "remaining share of the node's speed",
                                      config::at_least(Fraction::millionths(1))};

const config::Key<std::uint64_t> seed_key{"random.seed", SlowNodes{}.seed,
                                          "seed of the random selection of nodes"};
const RequiredKey<Fraction> share_key{
    "random.share", "share of computing nodes that are slow; each node is drawn independently"};
const RequiredKey<Fraction> random_speed_key{"random.speed",
                                             "remaining share of the speed of slow nodes",
                                             config::at_least(Fraction::millionths(1))};

// Of nodes that are slow for a reason of their own. On large machines they are drawn when somebody
// asks for one.
void draw_slow_nodes(config::Section& faults, const Topology& topology, NodeSpeeds& speeds) {
  constexpr std::uint32_t most_listed = 1U << 20;
  if (!faults.has("random")) {
    return;
  }
  config::Section section = faults.section("random");
  SlowNodes slow;
  slow.seed = seed_key.read(section);
  slow.share = share_key.read(section);
  slow.speed = random_speed_key.read(section);
  const bool is_drawn = slow.share.millionths() > 0 && slow.share.millionths() < Fraction::one;
  if (!is_drawn && seed_key.info().default_value != std::to_string(slow.seed)) {
    config::note_without_effect(section, "seed", "a share of all nodes, or of none");
  }
  if (slow.share.millionths() == 0 || !section.has(share_key.key())) {
    return;
  }
  if (topology.nodes() > most_listed) {
    speeds.draw(slow);
    return;
  }
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    if (topology.computes(EntityId(node)) && slow.has(EntityId(node))) {
      speeds[EntityId(node)] = slow.speed;
    }
  }
}

std::optional<EntityId> read_node(config::Section& section, const RequiredKey<std::string>& key,
                                  NodeFinder& find, const Topology& topology) {
  const std::string text = key.read(section);
  const std::optional<EntityId> node = find(text);
  if (!node && !text.empty()) {
    section.error(key.key(), "there is no node '" + text + "'; nodes are numbered 0 to " +
                                 std::to_string(topology.nodes() - 1));
  }
  return node;
}

using Ways = std::set<std::pair<EntityId, EntityId>>;  // from a node to a neighbour

// All links from one node to another, which `listed` has from then on.
void read_link(config::Section& fault, NodeFinder& find, Ways& listed, FaultyTopology& topology) {
  const std::optional<EntityId> from = read_node(fault, from_key, find, topology);
  const std::optional<EntityId> to = read_node(fault, to_key, find, topology);
  const bool dead = dead_key.read(fault);
  const std::optional<Fraction> share = left_key.read(fault);
  const bool both = both_directions.read(fault);
  if (dead == share.has_value()) {
    fault.error("", "a link is either 'dead: true' or has a share of its 'bandwidth'");
    return;
  }
  if (!from || !to) {
    return;
  }
  bool any = false;
  std::optional<Ways::value_type> repeated;
  const auto change = [&](EntityId here, EntityId there) {
    if (!repeated && !listed.emplace(here, there).second) {
      repeated = {here, there};
    }
    for (unsigned port = 0; port < topology.ports(here); ++port) {
      if (topology.link(here, port).to == there) {
        any = true;
        if (dead) {
          topology.kill(here, port);
        } else {
          topology.slow(here, port, *share);
        }
      }
    }
  };
  change(*from, *to);
  if (both) {
    change(*to, *from);
  }
  if (!any) {
    fault.error("to",
                "no link joins " + topology.node_name(*from) + " and " + topology.node_name(*to));
  } else if (repeated) {
    fault.error("to", "the link from " + topology.node_name(repeated->first) + " to " +
                          topology.node_name(repeated->second) + " is listed twice");
  }
}

// Over fewer than `left` nodes, of which those that are seen are taken.
bool leads_to(const Topology& topology, EntityId from, EntityId to, std::uint64_t& left) {
  std::unordered_set<std::uint32_t> reached{from.value()};
  std::deque<EntityId> open{from};
  for (; !open.empty() && left > 0; --left) {
    const EntityId node = open.front();
    open.pop_front();
    for (unsigned port = 0; port < topology.ports(node); ++port) {
      const EntityId next = topology.link(node, port).to;
      if (next == to) {
        return true;
      }
      if (next.valid() && reached.insert(next.value()).second) {
        open.push_back(next);
      }
    }
  }
  return false;
}

// Whether some way leads around each dead link. Nothing is cut off then: any way of the sound
// machine can be gone with these in place of the links. False where that takes a look at more nodes
// than there are, too.
bool has_detours(const Topology& topology) {
  std::uint64_t left = topology.nodes();
  const std::vector<DeadLink> dead = topology.dead_links();
  return std::all_of(dead.begin(), dead.end(), [&](const DeadLink& link) {
    return leads_to(topology, link.from, topology.sound().link(link.from, link.port).to, left);
  });
}

// A node that cannot be reached from the first one, or from which that cannot be reached.
std::optional<EntityId> cut_off(const Topology& topology) {
  if (has_detours(topology)) {
    return std::nullopt;
  }
  const ReverseLinks reverse(topology);
  for (const bool forward : {true, false}) {
    std::vector<bool> reached(topology.nodes(), false);
    std::vector<EntityId> left{EntityId(0)};
    reached[0] = true;
    const auto reach = [&](EntityId node) {
      if (node.valid() && !reached[node.value()]) {
        reached[node.value()] = true;
        left.push_back(node);
      }
    };
    while (!left.empty()) {
      const EntityId node = left.back();
      left.pop_back();
      if (forward) {
        for (unsigned port = 0; port < topology.ports(node); ++port) {
          reach(topology.link(node, port).to);
        }
      } else {
        for (const ReverseLinks::Source& source : reverse.into(node)) {
          reach(source.from);
        }
      }
    }
    const auto missing = std::find(reached.begin(), reached.end(), false);
    if (missing != reached.end()) {
      return EntityId(static_cast<std::uint32_t>(missing - reached.begin()));
    }
  }
  return std::nullopt;
}

}  // namespace

bool SlowNodes::has(EntityId node) const {
  constexpr std::uint32_t stream = 0x5374;  // of draws, apart from those of other things
  return RandomStream(seed, node, stream).next_below(Fraction::one) < share.millionths();
}

std::vector<ParameterInfo> fault_parameters() {
  return {from_key, to_key,    dead_key, left_key,  both_directions,
          node_key, speed_key, seed_key, share_key, random_speed_key};
}

std::unique_ptr<Topology> apply_faults(config::Section& machine, std::unique_ptr<Topology> topology,
                                       NodeSpeeds& speeds, bool& is_whole) {
  is_whole = true;
  if (!machine.has("faults")) {
    return topology;
  }
  config::Section section = machine.section("faults");
  auto faulty = std::make_unique<FaultyTopology>(std::move(topology));
  NodeFinder find(*faulty);
  Ways listed;
  for (config::Section fault : section.sections("links")) {
    read_link(fault, find, listed, *faulty);
  }
  draw_slow_nodes(section, *faulty, speeds);  // those that are named come after, and count
  std::set<EntityId> named;
  for (config::Section fault : section.sections("nodes")) {
    const std::optional<EntityId> node = read_node(fault, node_key, find, *faulty);
    const Fraction speed = speed_key.read(fault);
    if (node && !faulty->computes(*node)) {
      fault.error("node", faulty->node_name(*node) + " does not compute");
    } else if (node && !named.insert(*node).second) {
      fault.error("node", faulty->node_name(*node) + " is listed twice");
    } else if (node) {
      speeds[*node] = speed;
    }
  }
  if (faulty->has_dead_links()) {
    if (const std::optional<EntityId> node = cut_off(*faulty)) {
      section.error("links", "without the dead links " + faulty->node_name(*node) +
                                 " is cut off from the rest");
      is_whole = false;
    }
  }
  return faulty;
}

}  // namespace tessera::machine
