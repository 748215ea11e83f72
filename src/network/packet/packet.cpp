// The model `packet`: its keys, the network that it builds (packet/packet_network.hpp) and what it
// predicts of messages.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "packet/fabric.hpp"
#include "packet/packet_network.hpp"
#include "tessera/config/key.hpp"

namespace tessera::network {
namespace {

// Shortest paths take a search for each target, which on a large graph would last as long as many a
// run.
bool are_affordable(const std::string& routing, const machine::Topology& topology) {
  constexpr std::uint32_t most_searches = 4096;
  return (routing != "shortest" && routing != "ecmp") || topology.nodes() <= most_searches;
}

// Then no routing is asked at every hop.
bool goes_along_axes(const std::string& routing, const machine::Topology& topology) {
  return topology.grid() && (routing == "xy" || routing == "yx");
}

const config::ChoiceKey<bool> store_and_forward{
    "switching",
    {{"cut-through", false}, {"store-and-forward", true}},
    "cut-through",
    "cut-through, or store-and-forward: a packet is forwarded after it has arrived in full"};
const config::Key<Bytes> packet_size{"packet_size", Bytes(4096),
                                     "payload of a packet; larger packets cause fewer events",
                                     config::at_least(Bytes(1))};
const config::Key<std::uint64_t> max_packets{
    "max_packets", 64,
    "maximum number of packets per message; larger messages use larger packets, and more of them "
    "where these would exceed 4 GiB or, with cut-through, 4.29 ms on the slowest link",
    config::between<std::uint64_t>(1, 1'000'000)};
const config::ChoiceKey<machine::Arbitration> arbitration_key{
    "arbitration", machine::arbitration_choices(), "first-come",
    "order of the packets that wait for a link; fair: equal shares of its bytes for the tiles that "
    "use it; fair-tenants: equal shares for their tenants"};

// A packet's head is an event at each node it comes to; at the last one only the last packet's is,
// and the arrival of the message after it.
template <class Fabric>
class PacketTraffic final : public PredictedTraffic {
 public:
  PacketTraffic(const machine::Topology& topology, const std::string& routing,
                const Cutting& cutting)
      : fabric_(topology, routing), cutting_(cutting) {}

  void visit_runs(EntityId from, EntityId to, Bytes bytes, const VisitRun& visit) const override {
    visit({.first = from.value(), .events = 1});
    if (from != to) {
      visit_between(from, to, cutting_.cut(bytes.count()).first, visit);
      visit({.first = to.value(), .events = 1});
    }
    visit({.first = to.value(), .events = 1});
  }

 private:
  void visit_between(EntityId from, EntityId to, std::uint64_t packets,
                     const VisitRun& visit) const {
    for (EntityId here = from;;) {
      const unsigned port = fabric_.next_port(here, to);
      const EntityId next = fabric_.neighbour(here, port);
      const std::uint32_t step = next.value() - here.value();
      const std::uint32_t nodes = fabric_.straight_on(here, to, port);
      here = EntityId(here.value() + step * nodes);
      const std::uint32_t between = here == to ? nodes - 1 : nodes;
      if (between > 0) {
        visit({next.value(), step, between, packets});
      }
      if (here == to) {
        return;
      }
    }
  }

  Fabric fabric_;
  Cutting cutting_;
};

class PacketModel final : public NetworkModel {
 public:
  PacketModel(const Cutting& cutting, std::string routing, const Overheads& overheads)
      : cutting_(cutting), routing_(std::move(routing)), overheads_(overheads) {}

  std::unique_ptr<Network> build(const NetworkSetup& setup) const override {
    const machine::Topology& topology = *setup.machine.topology;
    const bool knows_routes = are_affordable(routing_, topology);
    if (goes_along_axes(routing_, topology)) {
      return std::make_unique<PacketNetwork<GridFabric>>(setup, cutting_, routing_, knows_routes,
                                                         overheads_.message);
    }
    return std::make_unique<PacketNetwork<GraphFabric>>(setup, cutting_, routing_, knows_routes,
                                                        overheads_.message);
  }

  std::size_t predicted_bytes(const machine::Machine& machine, std::uint64_t nodes,
                              bool bins) const override {
    const std::uint64_t ports = machine.topology->grid()
                                    ? 4 * nodes
                                    : machine.topology->links() * nodes / machine.topology->nodes();
    const bool classes = machine.topology->link_classes().size() > 1;
    const bool is_fair = cutting_.arbitration != machine::Arbitration::first_come;
    return ports * (sizeof(LinkState) + (bins ? sizeof(BinState) : 0) +
                    (classes ? sizeof(std::uint16_t) : 0) +
                    (is_fair ? sizeof(pdes::FairQueue<Forwarded>) : 0)) +
           (is_fair ? machine.topology->nodes() * sizeof(std::uint32_t) : 0);
  }
  bool cuts_messages() const override { return true; }
  // At the end of its way only a message's last packet is an event.
  std::uint64_t events_of_message(const machine::Machine& machine, EntityId from, EntityId to,
                                  Bytes bytes) const override {
    const machine::Topology& topology = *machine.topology;
    for (unsigned port = 0; port < topology.ports(from); ++port) {
      if (topology.link(from, port).to == to) {
        return 1;
      }
    }
    return cutting_.cut(bytes.count()).first;
  }
  bool sends_along_links() const override { return true; }
  // When a packet goes on is known no more at its coming where others may go before it.
  bool promises() const override {
    return cutting_.arbitration == machine::Arbitration::first_come;
  }
  bool holds_packets() const override { return cutting_.store_and_forward; }
  machine::Arbitration arbitration() const override { return cutting_.arbitration; }
  std::string routing() const override { return routing_; }
  Overheads overheads() const override { return overheads_; }

  // Where not all routes are affordable, ends must do.
  std::unique_ptr<PredictedTraffic> predict_traffic(
      const machine::Machine& machine) const override {
    const machine::Topology& topology = *machine.topology;
    if (goes_along_axes(routing_, topology)) {
      return std::make_unique<PacketTraffic<GridFabric>>(topology, routing_, cutting_);
    }
    if (are_affordable(routing_, topology)) {
      return std::make_unique<PacketTraffic<GraphFabric>>(topology, routing_, cutting_);
    }
    return predict_ends_only();
  }

 private:
  Cutting cutting_;
  std::string routing_;
  Overheads overheads_;
};

std::unique_ptr<NetworkModel> make_packet(config::Section& section,
                                          const machine::Machine& machine) {
  Cutting cutting;
  const std::string routing = read_routing(section, machine);
  const Overheads overheads = read_overheads(section);
  cutting.packet_size = packet_size.read(section).count();
  cutting.max_packets = max_packets.read(section);
  cutting.store_and_forward = store_and_forward.read(section);
  cutting.arbitration = arbitration_key.read(section);
  std::uint64_t slowest = std::numeric_limits<std::uint64_t>::max();
  for (const machine::LinkClass& link_class : machine.topology->link_classes()) {
    slowest = std::min(slowest, WireClass(link_class).bandwidth().bytes_per_second());
  }
  const std::uint64_t in_field =
      cutting.store_and_forward ? packet_field : largest_at(Bandwidth::bytes_per_second(slowest));
  if (in_field == 0) {
    section.error("", "the packet model needs links of at least 233 B/s; use 'analytical'");
  }
  cutting.largest_packet = std::clamp<std::uint64_t>(in_field, 1, packet_field);
  tell_of_cut_packets(section, cutting.packet_size, cutting.largest_packet);
  cutting.packet_size = std::min(cutting.packet_size, cutting.largest_packet);
  return std::make_unique<PacketModel>(cutting, routing, overheads);
}

const Registration packet_registration(
    networks(),
    {"packet",
     "packets, each of which occupies a link alone, in order of arrival; cut-through, unbounded "
     "buffers (the default)",
     {routing_parameter(), message_overhead_parameter(), collective_overhead_parameter(),
      collective_member_overhead_parameter(), collective_fill_parameter(), library_parameter(),
      nvswitch_generation_parameter(), nvls_parameter(), store_and_forward, packet_size,
      max_packets, arbitration_key}},
    make_packet);

}  // namespace
}  // namespace tessera::network
