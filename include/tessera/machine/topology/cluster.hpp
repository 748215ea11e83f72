// Clusters of servers, each with accelerators around a switch, joined by a fat tree or one switch.
// Every node, link and route follows from arithmetic, so that nothing is stored per node.
#pragma once

#include <cstdint>

#include "tessera/core/ids.hpp"
#include "tessera/core/units.hpp"

namespace tessera::machine {

// What a node of a cluster is, and which one.
struct ClusterPlace {
  enum class Kind : std::uint8_t { accelerator, hub, nic, leaf, spine };
  Kind kind = Kind::accelerator;
  std::uint32_t server = 0;  // of accelerators, hubs and NICs
  std::uint32_t index = 0;   // in its server; of leaves and spines among all
};

// The shape of a cluster. Nodes are numbered: all accelerators server by server, the hubs (the
// switch inside each server), all NICs server by server, leaves, spines. Accelerator i of a server
// uses its NIC i * nics / accelerators. The NICs of `leaf_servers` consecutive servers, the last
// group perhaps of fewer, are joined by one leaf, or with rails by one leaf for each NIC number.
// Every leaf has one link to every spine.
struct Cluster {
  std::uint32_t servers = 1;
  std::uint32_t accelerators = 1;  // a server; a multiple of nics
  std::uint32_t nics = 1;          // a server
  std::uint32_t leaf_servers = 1;
  bool rails = false;
  std::uint32_t spines = 0;  // 0 only with a single leaf
  // Rate of a NIC for accelerators that are not its own, by way of the host's memory; 0: rings need
  // no such way.
  Bandwidth through_host;

  std::uint32_t share() const { return accelerators / nics; }  // accelerators of a NIC
  std::uint32_t groups() const { return (servers - 1) / leaf_servers + 1; }
  std::uint32_t group_leaves() const { return rails ? nics : 1; }
  std::uint32_t leaves() const { return groups() * group_leaves(); }
  std::uint32_t group_servers(std::uint32_t group) const {
    const std::uint32_t left = servers - group * leaf_servers;
    return left < leaf_servers ? left : leaf_servers;
  }
  // NICs of a leaf.
  std::uint32_t leaf_nics(std::uint32_t leaf) const {
    return group_servers(leaf / group_leaves()) * (rails ? 1 : nics);
  }

  std::uint32_t first_hub() const { return servers * accelerators; }
  std::uint32_t first_nic() const { return first_hub() + servers; }
  std::uint32_t first_leaf() const { return first_nic() + servers * nics; }
  std::uint32_t first_spine() const { return first_leaf() + leaves(); }
  std::uint32_t nodes() const { return first_spine() + spines; }

  EntityId accelerator(std::uint32_t server, std::uint32_t index) const {
    return EntityId(server * accelerators + index);
  }
  EntityId hub(std::uint32_t server) const { return EntityId(first_hub() + server); }
  EntityId nic(std::uint32_t server, std::uint32_t index) const {
    return EntityId(first_nic() + server * nics + index);
  }
  EntityId leaf(std::uint32_t index) const { return EntityId(first_leaf() + index); }
  EntityId spine(std::uint32_t index) const { return EntityId(first_spine() + index); }
  ClusterPlace place(EntityId node) const;

  // The leaf of a NIC, and the port of the leaf that leads to it.
  std::uint32_t leaf_of(std::uint32_t server, std::uint32_t nic_index) const {
    return server / leaf_servers * group_leaves() + (rails ? nic_index : 0);
  }
  unsigned leaf_port(std::uint32_t server, std::uint32_t nic_index) const {
    const std::uint32_t in_group = server % leaf_servers;
    return rails ? in_group : in_group * nics + nic_index;
  }
};

// Ports: of an accelerator 0 to its hub, 1 to its NIC; of a hub i to accelerator i; of a NIC i to
// its i-th accelerator and the last one to its leaf; of a leaf first its NICs, then the spines; of
// a spine i to leaf i.
enum AcceleratorPort : unsigned { to_hub = 0, to_nic = 1 };

// Inside a server over the hub; else accelerator, NIC, leaf, (spine, leaf,) NIC, accelerator. The
// spine follows from the target alone (destination-modulo routing, Zahavi: "Fat-tree routing and
// node ordering providing contention free traffic for MPI global collectives", J. Parallel Distrib.
// Comput. 72(11), 2012): the number of its NIC modulo the spines, with rails the number of its
// server, as the NICs of one rail do not share links to the spines with those of another.
class ClusterRouting {
 public:
  explicit ClusterRouting(const Cluster& cluster) : cluster_(cluster) {}
  // Port towards `target`, any other node; here != target.
  unsigned next_port(EntityId here, EntityId target) const;

 private:
  unsigned inside(const ClusterPlace& at, const ClusterPlace& to) const;
  unsigned up_from_leaf(std::uint32_t leaf, const ClusterPlace& to) const;

  Cluster cluster_;
};

}  // namespace tessera::machine
