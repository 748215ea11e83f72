// A cluster: servers of accelerators, joined by a fat tree of two levels or by one switch.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "readers.hpp"
#include "routing_by.hpp"
#include "tessera/config/conditional_key.hpp"
#include "tessera/machine/routings.hpp"
#include "tessera/machine/topology/cluster.hpp"

namespace tessera::machine {
namespace {

using Kind = ClusterPlace::Kind;

enum ClusterClass : std::uint16_t { switch_class, nic_class, port_class, fabric_class };

class ClusterTopology final : public Topology {
 public:
  ClusterTopology(const Cluster& cluster, std::vector<LinkClass> classes) : cluster_(cluster) {
    classes_ = std::move(classes);
  }

  std::uint32_t nodes() const override { return cluster_.nodes(); }
  unsigned ports(EntityId node) const override;
  Link link(EntityId node, unsigned port) const override;
  Position position(EntityId node) const override;
  std::string node_name(EntityId node) const override;
  bool computes(EntityId node) const override { return node.value() < cluster_.first_hub(); }
  std::optional<std::uint32_t> first_tiles() const override { return cluster_.first_hub(); }
  EntityId nearest_tile(EntityId node) const override;
  SimTime smallest_latency() const override;
  std::uint64_t links() const override;
  std::optional<Cluster> cluster() const override { return cluster_; }
  std::uint32_t domain(EntityId node) const override { return cluster_.place(node).server; }
  std::string default_routing() const override { return "cluster"; }
  std::size_t resident_bytes() const override {
    return Topology::resident_bytes() - sizeof(Topology) + sizeof(*this);
  }

 private:
  Link leaf_link(std::uint32_t leaf, unsigned port) const;

  Cluster cluster_;
};

unsigned ClusterTopology::ports(EntityId node) const {
  const ClusterPlace place = cluster_.place(node);
  switch (place.kind) {
    case Kind::accelerator:
      return 2;
    case Kind::hub:
      return cluster_.accelerators;
    case Kind::nic:
      return cluster_.share() + 1;
    case Kind::leaf:
      return cluster_.leaf_nics(place.index) + cluster_.spines;
    default:
      return cluster_.leaves();
  }
}

Link ClusterTopology::leaf_link(std::uint32_t leaf, unsigned port) const {
  const std::uint32_t below = cluster_.leaf_nics(leaf);
  if (port >= below) {
    return {cluster_.spine(port - below), fabric_class};
  }
  const std::uint32_t first = leaf / cluster_.group_leaves() * cluster_.leaf_servers;
  return cluster_.rails ? Link{cluster_.nic(first + port, leaf % cluster_.nics), port_class}
                        : Link{cluster_.nic(first, port), port_class};
}

Link ClusterTopology::link(EntityId node, unsigned port) const {
  const ClusterPlace place = cluster_.place(node);
  const std::uint32_t share = cluster_.share();
  switch (place.kind) {
    case Kind::accelerator:
      return port == to_hub ? Link{cluster_.hub(place.server), switch_class}
                            : Link{cluster_.nic(place.server, place.index / share), nic_class};
    case Kind::hub:
      return {cluster_.accelerator(place.server, port), switch_class};
    case Kind::nic:
      return port == share
                 ? Link{cluster_.leaf(cluster_.leaf_of(place.server, place.index)), port_class}
                 : Link{cluster_.accelerator(place.server, place.index * share + port), nic_class};
    case Kind::leaf:
      return leaf_link(place.index, port);
    default:
      return {cluster_.leaf(port), fabric_class};
  }
}

EntityId ClusterTopology::nearest_tile(EntityId node) const {
  const ClusterPlace place = cluster_.place(node);
  const auto first_of_nic = [&](std::uint32_t nic) { return nic * cluster_.share(); };
  switch (place.kind) {
    case Kind::accelerator:
      return node;
    case Kind::hub:
      return cluster_.accelerator(place.server, 0);
    case Kind::nic:
      return cluster_.accelerator(place.server, first_of_nic(place.index));
    case Kind::leaf:
      return cluster_.accelerator(
          place.index / cluster_.group_leaves() * cluster_.leaf_servers,
          first_of_nic(cluster_.rails ? place.index % cluster_.group_leaves() : 0));
    default:
      return cluster_.accelerator(0, 0);
  }
}

SimTime ClusterTopology::smallest_latency() const {
  std::vector<bool> used(classes_.size(), true);
  used.back() = classes_.size() <= fabric_class || cluster_.spines > 0;
  return smallest_latency_of(used);
}

std::uint64_t ClusterTopology::links() const {
  const std::uint64_t accelerators = cluster_.first_hub();  // to hub and NIC
  const std::uint64_t nics = std::uint64_t{cluster_.servers} * cluster_.nics;
  const std::uint64_t fabric = std::uint64_t{cluster_.leaves()} * cluster_.spines;
  return 2 * (2 * accelerators + nics + fabric);  // both ways
}

// A row a server: accelerators, hub, NICs; to the right the leaves beside their first server, and
// the spines.
Position ClusterTopology::position(EntityId node) const {
  const ClusterPlace place = cluster_.place(node);
  const std::uint32_t hub = cluster_.accelerators;
  const std::uint32_t leaves = hub + 1 + cluster_.nics;
  std::uint32_t column = place.index;
  std::uint32_t row = place.server;
  switch (place.kind) {
    case Kind::accelerator:
      break;
    case Kind::hub:
      column = hub;
      break;
    case Kind::nic:
      column += hub + 1;
      break;
    case Kind::leaf:
      column = leaves + place.index % cluster_.group_leaves();
      row = place.index / cluster_.group_leaves() * cluster_.leaf_servers;
      break;
    default:
      column = leaves + cluster_.group_leaves();
      row = place.index;
  }
  return {static_cast<double>(column), static_cast<double>(row)};
}

std::string ClusterTopology::node_name(EntityId node) const {
  const ClusterPlace place = cluster_.place(node);
  const std::string index = std::to_string(place.index);
  const std::string of_server = " of node " + std::to_string(place.server);
  switch (place.kind) {
    case Kind::accelerator:
      return "accelerator " + index + of_server;
    case Kind::hub:
      return "switch" + of_server;
    case Kind::nic:
      return "NIC " + index + of_server;
    case Kind::leaf:
      return "leaf " + index;
    default:
      return "spine " + index;
  }
}

const auto nodes_key = count_key("nodes", "servers");
const auto accelerators_key =
    count_key("accelerators", "accelerators per server, which are the computing nodes");
const auto nics_key = count_key("nics", "NICs per server, shared evenly by its accelerators");

const config::OptionalKey<Bandwidth> through_host{
    "nic.through_host", "none",
    "bandwidth of a NIC for accelerators of other NICs, through the host's memory: ring "
    "collectives of plans leave a server by the NIC by which they entered it, and at this "
    "bandwidth where the first member of the ring is the only member on that NIC; none: they leave "
    "by the last member's NIC; without effect on collectives that are simulated message by message "
    "(aggregation: none) or are not rings",
    config::at_least(Bandwidth::bytes_per_second(1))};

const config::NameKey fabric_kind{"fabric.kind",
                                  [] {
                                    return std::vector<std::string>{"fat-tree", "switch"};
                                  },
                                  "", "fat-tree (leaves and spines) or switch (one for all NICs)"};
const auto leaf_nodes =
    count_key("fabric.leaf_nodes", "fat-tree: servers below the same leaf switches");
const config::Key<bool> rail_optimized{
    "fabric.rail_optimized", false,
    "fat-tree: one leaf switch per NIC number instead of one for all"};
const auto spines_key =
    count_key("fabric.spines", "fat-tree: spine switches, each with one link to every leaf");

// Reads `fabric` into the cluster and its classes; false when the section has complained.
bool read_fabric(config::Section& topology, Cluster& cluster, std::vector<LinkClass>& classes) {
  config::Section fabric = topology.section("fabric");
  const std::string kind = fabric_kind.read(fabric);
  if (kind.empty()) {
    // Already complained about; nobody can say which of the other keys are right.
    for (const std::string& key : fabric.keys()) {
      fabric.raw(key);
    }
    return false;
  }
  if (kind == "switch") {
    cluster.leaf_servers = cluster.servers;
    bool good = true;
    for (const char* key : {"leaf_nodes", "rail_optimized", "spines", "bandwidth", "latency"}) {
      if (fabric.has(key)) {
        fabric.raw(key);
        fabric.error(key, "is only for 'kind: fat-tree'");
        good = false;
      }
    }
    return good;
  }
  cluster.leaf_servers = std::min(leaf_nodes.read(fabric), cluster.servers);
  cluster.rails = rail_optimized.read(fabric);
  cluster.spines = spines_key.read(fabric);
  classes.push_back(read_link_class(fabric, "fabric"));
  return cluster.leaf_servers > 0 && cluster.spines > 0 && was_read(classes.back());
}

bool fits(config::Section& section, const Cluster& cluster) {
  const std::uint64_t servers = cluster.servers;
  const std::uint64_t leaves = ((servers - 1) / cluster.leaf_servers + 1) * cluster.group_leaves();
  const std::uint64_t nodes =
      servers * (std::uint64_t{cluster.accelerators} + 1 + cluster.nics) + leaves + cluster.spines;
  if (nodes >= node_limit) {
    section.error("nodes", "accelerators, NICs and switches are " + std::to_string(nodes) +
                               ", which are too many; there must be fewer than " +
                               std::to_string(node_limit));
    return false;
  }
  if (leaves * cluster.spines >= node_limit) {
    config::Section fabric = section.section("fabric");
    fabric.error("spines", std::to_string(leaves) + " leaves x " + std::to_string(cluster.spines) +
                               " spines are too many links; there must be fewer than " +
                               std::to_string(node_limit));
    return false;
  }
  return true;
}

std::unique_ptr<Topology> make_cluster(config::Section& section) {
  Cluster cluster;
  cluster.servers = nodes_key.read(section);
  cluster.accelerators = accelerators_key.read(section);
  cluster.nics = nics_key.read(section);
  std::vector<LinkClass> classes;
  for (const char* key : {"switch", "nic", "port"}) {
    config::Section part = section.section(key);
    classes.push_back(read_link_class(part, key));
    if (classes.size() == nic_class + 1) {
      cluster.through_host = through_host.read(part).value_or(Bandwidth());
    }
  }
  bool good = cluster.servers > 0 && cluster.accelerators > 0 && cluster.nics > 0;
  if (good && cluster.accelerators % cluster.nics != 0) {
    section.error("nics", std::to_string(cluster.nics) + " NICs cannot be shared evenly by " +
                              std::to_string(cluster.accelerators) + " accelerators");
    good = false;
  }
  for (const LinkClass& link_class : classes) {
    good = good && was_read(link_class);
  }
  good = read_fabric(section, cluster, classes) && good;
  if (!good || !fits(section, cluster)) {
    return nullptr;
  }
  return std::make_unique<ClusterTopology>(cluster, std::move(classes));
}

std::vector<ParameterInfo> cluster_parameters() {
  std::vector<ParameterInfo> all =
      with_links({nodes_key, accelerators_key, nics_key}, std::array{"switch.", "nic.", "port."});
  all.insert(all.end(), {through_host, fabric_kind, config::where_used(leaf_nodes), rail_optimized,
                         config::where_used(spines_key)});
  for (ParameterInfo& parameter : link_parameters("fabric.")) {
    all.push_back(config::where_used(std::move(parameter)));
  }
  return all;
}

const Registration cluster_registration(topologies(),
                                        {"cluster",
                                         "servers whose accelerators share a switch, with NICs on "
                                         "a two-level fat tree or on one switch",
                                         cluster_parameters()},
                                        make_cluster);

const Registration cluster_routing(
    routings(), {"cluster", "up and down the fabric; clusters", {}},
    RoutingKind{.make =
                    [](const Topology& topology) {
                      return make_routing_by(ClusterRouting(*topology.cluster()));
                    },
                .fits = [](const Topology& topology) { return topology.cluster().has_value(); },
                .needs = "a cluster"});

}  // namespace
}  // namespace tessera::machine
