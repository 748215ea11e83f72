// The `crossbar` network: every node has a port to one ideal switch. Ports have a bandwidth, the
// switch a latency; nothing else is shared. The links of the machine are not looked at.
//
// Method: a message is cut into packets. A packet takes its sender's port, in the order of
// requests, and then its target's, in the order in which heads come there; each is held for size /
// bandwidth. The head comes to the target's port one latency after it started, and goes on at once
// (as in the packet network, whose wires these ports are). Alone, a message takes latency + size /
// bandwidth; k senders to one target share its port. ONNXim's simple network (H. Ham et al., IEEE
// Comput. Archit. Lett. 23(2), 2024, section II-C) has a latency and a bandwidth as well; it
// carries single memory requests.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "counted_network.hpp"
#include "packet/packets.hpp"
#include "packet/wire.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/quotient.hpp"

namespace tessera::network {
namespace {

constexpr unsigned packet_kind = 1;

struct CrossbarSettings {
  machine::LinkClass port;  // latency: of the switch
  std::uint64_t packet_size = 0;
  Overheads overheads;
};

// A packet whose head has just come to its target's port.
struct CrossbarPacket {
  EntityId source;
  std::uint32_t bytes = 0;
  std::uint32_t tail_lag_ps = 0;  // its tail comes this much later
  std::uint32_t unused = 0;
  std::uint64_t word = 0;
};
static_assert(sizeof(CrossbarPacket) == pdes::payload_bytes);

// The port of a node, one wire each way.
struct Port {
  LinkState out;
  LinkState in;
};

// A packet is on its way to its target's port as soon as its message is sent, so that the outlook
// has nothing under way, and nothing passes through a region.
class CrossbarNetwork final : public CountedNetwork {
 public:
  CrossbarNetwork(const NetworkSetup& setup, const CrossbarSettings& settings)
      : settings_(settings),
        wire_(settings.port),
        regions_(setup.regions),
        packet_port_(setup.slot, packet_kind),
        ports_(setup.members.size()) {}

  const char* name() const override { return "network crossbar"; }

  std::optional<pdes::Outlook> outlook(std::uint32_t, const pdes::Moment&) override {
    return regions_ != nullptr ? std::optional(pdes::Outlook{}) : std::nullopt;
  }
  pdes::Exit exit_of(EntityId, EntityId to) override {
    if (regions_ == nullptr || regions_->is_here(to)) {
      return {};
    }
    return {regions_->owner[to.value()], wire_.latency()};
  }
  // One port after the other would take longer; both at once take no less.
  SimTime least_time(EntityId from, EntityId to, Bytes bytes) override {
    return from == to ? SimTime::zero()
                      : settings_.overheads.message + wire_.latency() +
                            floor_time(bytes, wire_.bandwidth());
  }
  void report_progress(IncomingSink incoming, ProgressSink) override {
    incoming_sink_ = std::move(incoming);
  }
  // Tells of messages by their last packet, which its target's port lets go no sooner than its tail
  // comes.
  void take_in(pdes::Event& event) override {
    if (!incoming_sink_ || event.port.kind() != packet_kind ||
        (event.flags & last_packet_flag) == 0) {
      return;
    }
    const auto packet = event.as<CrossbarPacket>();
    incoming_sink_(
        {packet.source, EntityId(event.target), deliver_port(event.flags), event.tag, packet.word,
         event.time + SimTime::from_ps(packet.tail_lag_ps) + settings_.overheads.message});
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    if (event.port.kind() == packet_kind) {
      receive(context, event);
    } else {
      inject(context, event);
    }
  }

  // Ports of nodes are no links of the machine.
  void visit_links(SimTime, const LinkUseSink&) const override {}
  void report_bins(LinkUseSink) override {}

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    writer.put(ports_[index]);
  }
  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    ports_[index] = reader.get<Port>();
  }
  std::size_t resident_bytes() const override { return ports_.capacity() * sizeof(Port); }

 private:
  void inject(pdes::Context& context, const pdes::Event& event) {
    const auto request = event.as<SendRequest>();
    if (deliver_to_self(context, request, event.tag, carried_)) {
      return;
    }
    carried_.take(request.bytes);
    const SimTime now = context.now();
    std::uint64_t left = request.bytes;
    do {
      const std::uint64_t bytes = std::min(left, settings_.packet_size);
      left -= bytes;
      const auto [start, end] =
          wire_.book(ports_[context.index()].out, static_cast<std::uint32_t>(bytes), now, now);
      ++hops_;
      const CrossbarPacket packet{context.self(), static_cast<std::uint32_t>(bytes),
                                  static_cast<std::uint32_t>((end - start).ps()), 0, request.word};
      context.send(request.target, start - now + wire_.latency(), packet_port_, packet, event.tag,
                   packet_flags(request.deliver, left == 0));
    } while (left > 0);
  }

  void receive(pdes::Context& context, const pdes::Event& event) {
    const auto packet = event.as<CrossbarPacket>();
    const SimTime now = context.now();
    const WireTimes times = wire_.book(ports_[context.index()].in, packet.bytes, now,
                                       now + SimTime::from_ps(packet.tail_lag_ps));
    carried_.bytes_delivered += packet.bytes;
    if ((event.flags & last_packet_flag) != 0) {
      ++carried_.messages_delivered;
      context.send_self(times.end - now + settings_.overheads.message, deliver_port(event.flags),
                        Arrival{packet.source, 0, packet.word}, event.tag);
    }
  }

  CrossbarSettings settings_;
  WireClass wire_;
  const pdes::RegionView* regions_;  // of a run on several ranks; else null
  IncomingSink incoming_sink_;
  pdes::Port packet_port_;
  std::vector<Port> ports_;
};

class CrossbarModel final : public NetworkModel {
 public:
  CrossbarModel(CrossbarSettings settings, std::string routing)
      : settings_(std::move(settings)), routing_(std::move(routing)) {}

  std::unique_ptr<Network> build(const NetworkSetup& setup) const override {
    return std::make_unique<CrossbarNetwork>(setup, settings_);
  }
  std::size_t predicted_bytes(const machine::Machine&, std::uint64_t nodes, bool) const override {
    return nodes * sizeof(Port);
  }
  bool cuts_messages() const override { return true; }
  std::uint64_t events_of_message(const machine::Machine&, EntityId, EntityId,
                                  Bytes bytes) const override {
    return std::max<std::uint64_t>(1, quotient_up(bytes.count(), settings_.packet_size));
  }
  std::optional<SimTime> reach(const machine::Machine&) const override {
    return settings_.port.latency;
  }
  std::string routing() const override { return routing_; }
  Overheads overheads() const override { return settings_.overheads; }
  bool promises() const override { return true; }
  bool uses_links() const override { return false; }
  bool keeps_bins() const override { return false; }
  SimTime idle_time(const machine::Path&, Bytes bytes) const override {
    return settings_.overheads.message + settings_.port.latency +
           serialization_time(bytes, settings_.port.bandwidth);
  }

  // Links that are slower than ports, which it does not look at.
  std::vector<std::string> notes(const machine::Machine& machine) const override {
    const machine::LinkClass* slowest = nullptr;
    for (const machine::LinkClass& link_class : machine.topology->link_classes()) {
      slowest =
          slowest == nullptr || link_class.bandwidth < slowest->bandwidth ? &link_class : slowest;
    }
    if (slowest == nullptr || slowest->bandwidth >= settings_.port.bandwidth) {
      return {};
    }
    return {"the network crossbar gives all nodes ports of " + to_string(settings_.port.bandwidth) +
            " and ignores links of class '" + slowest->name + "', which have " +
            to_string(slowest->bandwidth)};
  }

 private:
  CrossbarSettings settings_;
  std::string routing_;  // of the machine, for what asks for paths
};

// What leaves the least time that a link takes and the most that one carries.
machine::LinkClass usual_port(const machine::Topology& topology) {
  machine::LinkClass port{"port", SimTime::from_ps(1000), Bandwidth::bytes_per_second(1)};
  for (const machine::LinkClass& link_class : topology.link_classes()) {
    port.bandwidth = std::max(port.bandwidth, link_class.bandwidth);
  }
  const SimTime latency = topology.smallest_latency();
  port.latency = latency.is_never() ? port.latency : latency;
  return port;
}

const config::DerivedKey<Bandwidth> port_bandwidth{
    "port_bandwidth", "that of the fastest link", "bandwidth of a node's port, in each direction",
    config::at_least(Bandwidth::bytes_per_second(1))};
const config::DerivedKey<SimTime> port_latency{"port_latency", "that of the fastest link",
                                               "latency of the switch, which is also the lookahead",
                                               config::at_least(SimTime::from_ps(1))};
const config::Key<Bytes> crossbar_packet_size{
    "packet_size", Bytes(4096), "payload of a packet; smaller packets share ports more evenly",
    config::at_least(Bytes(1))};

std::unique_ptr<NetworkModel> make_crossbar(config::Section& section,
                                            const machine::Machine& machine) {
  CrossbarSettings settings;
  const std::string routing = read_routing(section, machine);
  settings.overheads = read_overheads(section);
  const machine::LinkClass usual = usual_port(*machine.topology);
  settings.port.bandwidth = port_bandwidth.read(section, usual.bandwidth);
  settings.port.latency = port_latency.read(section, usual.latency);
  settings.packet_size = crossbar_packet_size.read(section).count();
  const std::uint64_t largest = largest_at(WireClass(settings.port).bandwidth());
  if (largest == 0) {
    section.error("port_bandwidth", "ports carry at least 233 B/s");
  }
  const std::uint64_t most = std::clamp<std::uint64_t>(largest, 1, packet_field);
  tell_of_cut_packets(section, settings.packet_size, most);
  settings.packet_size = std::clamp<std::uint64_t>(settings.packet_size, 1, most);
  return std::make_unique<CrossbarModel>(std::move(settings), routing);
}

const Registration crossbar_registration(
    networks(),
    {"crossbar",
     "one ideal switch: a latency, and a bandwidth of each node's port, shared by its messages",
     {routing_parameter(), message_overhead_parameter(), collective_overhead_parameter(),
      collective_member_overhead_parameter(), collective_fill_parameter(), library_parameter(),
      nvswitch_generation_parameter(), nvls_parameter(), port_bandwidth, port_latency,
      crossbar_packet_size}},
    make_crossbar);

}  // namespace
}  // namespace tessera::network
