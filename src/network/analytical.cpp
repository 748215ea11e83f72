// The `analytical` network: hops * latency + size / bandwidth, no contention (PALM, equation (2)
// without its contention term; ASTRA-sim 2.0's analytical backend), and an overhead for each
// message (LogGP's o, Alexandrov et al., SPAA'95, as a delay alone).

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "counted_network.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/network/link_uses.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/network/sharing.hpp"

namespace tessera::network {
namespace {

constexpr unsigned coming_kind = 1;
constexpr SimTime least_tick = SimTime::from_ps(1);

SimTime time_on_links(const machine::Path& path, Bytes bytes) {
  return path.latency + serialization_time(bytes, path.bottleneck);
}

// Never shorter than the way itself, which the engine counts on.
SimTime truncated_time(SimTime on_links, const machine::Path& path, SimTime tick) {
  return std::max(path.latency, SimTime::from_ps(on_links.ps() / tick.ps() * tick.ps()));
}

// A message whose last byte has come to its target's port; its sender sent the event, which has the
// port to deliver to as its flags.
struct Coming {
  EntityId last_node;  // where the last link of its way begins
  std::uint32_t last_port = 0;
  std::uint64_t word = 0;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(Coming) == pdes::payload_bytes);

// A link that leads to a node, as far as messages have come by it.
struct LinkIn {
  EntityId node = EntityId::none();  // where it begins
  std::uint32_t port = 0;
  SimTime free_at = SimTime::from_ps(std::numeric_limits<std::int64_t>::min() / 2);
};

// One event a message, from end to end: overhead, latency of every link on the route and the time
// of the whole message at the slowest one. A smaller message may overtake a larger one of the same
// pair.
//
// With `ports: shared` the messages that leave a node by one link go one after the other, each for
// the time that the slowest link of its route takes, and those that come in by one link share its
// bandwidth: a message whose last byte would be there at t is there at max(t, f + S / b), in the
// order of t, where f is when the one before it was there and b the bandwidth of the last link. One
// that waits there is a second event, of the receiver to itself. So it is on clusters, where a
// ring's messages would else overtake each other between servers, as if its slowest link took as
// many at a time as there are. Where ports are free, what sharing would have delayed is noted.
// Messages that share a link otherwise do not wait for each other; of it there is an account
// (LinkUses), and of clusters a note says how many accelerators share a NIC, and how many times the
// bandwidth of its spines a leaf's NICs have.
//
// A message to another rank is there as soon as it is sent, so that its outlook has nothing under
// way, and nothing passes through a region: what a rank sends follows from what its programs and
// memories do.
class AnalyticalNetwork final : public CountedNetwork {
 public:
  AnalyticalNetwork(const NetworkSetup& setup, const NetworkModel& model, SimTime tick,
                    bool shares_ports)
      : topology_(*setup.machine.topology),
        routing_(machine::make_routing(model.routing(), topology_)),
        regions_(setup.regions),
        model_(model),
        tick_(tick),
        shares_ports_(shares_ports),
        coming_port_(setup.slot, coming_kind),
        link_uses_(topology_) {
    std::size_t ports = 0;
    for (const EntityId member : setup.members) {
      first_port_.push_back(ports);
      ports += topology_.ports(member);
    }
    first_port_.push_back(ports);
    free_at_.resize(ports);
    in_.resize(ports);
  }

  const char* name() const override { return "network analytical"; }

  std::optional<pdes::Outlook> outlook(std::uint32_t, const pdes::Moment&) override {
    return regions_ != nullptr ? std::optional(pdes::Outlook{}) : std::nullopt;
  }
  pdes::Exit exit_of(EntityId from, EntityId to) override {
    return exit_of_message(from, to, Bytes());
  }
  pdes::Exit exit_of_message(EntityId from, EntityId to, Bytes bytes) override {
    if (regions_ == nullptr || regions_->is_here(to)) {
      return {};
    }
    return {regions_->owner[to.value()], least_time(from, to, bytes)};
  }
  SimTime least_time(EntityId from, EntityId to, Bytes bytes) override {
    return from == to
               ? SimTime::zero()
               : model_.idle_time(machine::path_between(topology_, *routing_, from, to), bytes);
  }

  void report_progress(IncomingSink incoming, ProgressSink) override {
    incoming_sink_ = std::move(incoming);
  }
  void take_in(pdes::Event& event) override {
    if (incoming_sink_ && event.port.kind() == coming_kind) {
      incoming_sink_({event.source, EntityId(event.target), pdes::Port::from_code(event.flags),
                      event.tag, event.as<Coming>().word, event.time});
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    if (event.port.kind() == coming_kind) {
      receive(context, event);
    } else {
      send(context, event);
    }
  }

  void visit_links(SimTime, const LinkUseSink&) const override {}
  void report_bins(LinkUseSink) override {}
  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    for (std::size_t port = first_port_[index]; port < first_port_[index + 1]; ++port) {
      writer.put(free_at_[port]);
      writer.put(in_[port]);
    }
    const auto more = more_in_.find(index);
    writer.put_all(more == more_in_.end() ? std::vector<LinkIn>() : more->second);
  }
  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    for (std::size_t port = first_port_[index]; port < first_port_[index + 1]; ++port) {
      free_at_[port] = reader.get<SimTime>();
      in_[port] = reader.get<LinkIn>();
    }
    if (std::vector<LinkIn> more = reader.get_all<LinkIn>(); !more.empty()) {
      more_in_[index] = std::move(more);
    }
    further_.erase(index);
    const auto more = more_in_.find(index);
    const std::size_t links = links_out(index) + (more == more_in_.end() ? 0 : more->second.size());
    for (std::size_t place = near_links(index).size(); place < links; ++place) {
      const LinkIn& link = further_link(index, place);
      if (link.node.valid()) {
        place_of_further(index, link.node, link.port);
      }
    }
  }
  std::size_t resident_bytes() const override {
    return first_port_.capacity() * sizeof(std::size_t) + free_at_.capacity() * sizeof(SimTime) +
           in_.capacity() * sizeof(LinkIn) + bytes_of_further() + link_uses_.resident_bytes();
  }
  void save_totals(pdes::StateWriter& writer) const override {
    CountedNetwork::save_totals(writer);
    writer.put(longest_unshared_);
    writer.put(truncated_);
    link_uses_.save(writer);
  }
  void add_totals(pdes::StateReader& reader) override {
    CountedNetwork::add_totals(reader);
    longest_unshared_ = std::max(longest_unshared_, reader.get<SimTime>());
    const auto truncated = reader.get<Truncated>();
    truncated_.time_ps += truncated.time_ps;
    truncated_.dropped_ps += truncated.dropped_ps;
    link_uses_.add(reader);
  }
  const LinkUses* link_uses() const override { return &link_uses_; }
  SimTime longest_unshared() const override { return longest_unshared_; }
  Truncated truncated() const override { return truncated_; }

 private:
  void send(pdes::Context& context, const pdes::Event& event) {
    const auto request = event.as<SendRequest>();
    carried_.take(request.bytes);
    if (request.target == context.self()) {
      carried_.deliver(request.bytes);
      context.send_self(SimTime::zero(), request.deliver, Arrival{context.self(), 0, request.word},
                        event.tag);
      return;
    }
    machine::Path path =
        machine::path_between(topology_, *routing_, context.self(), request.target, way_);
    hops_ += path.hops;
    const SimTime wait = wait_for_port(context, request, path);
    path.bottleneck = std::min(path.bottleneck, request.limit.rate().value_or(path.bottleneck));
    const SimTime delay =
        model_.idle_time(path, Bytes(request.bytes)) + (shares_ports_ ? wait : SimTime::zero());
    count_truncated(path, Bytes(request.bytes));
    link_uses_.carry(way_, request.target, request.bytes,
                     context.now() + (shares_ports_ ? wait : SimTime::zero()),
                     context.now() + delay);
    const machine::Hop& last = way_.back();
    context.send(request.target, delay, coming_port_,
                 Coming{last.node, last.port, request.word, request.bytes}, event.tag,
                 request.deliver.code());
  }

  void receive(pdes::Context& context, const pdes::Event& event) {
    const auto coming = event.as<Coming>();
    const Bandwidth bandwidth =
        topology_.link_classes()[topology_.link(coming.last_node, coming.last_port).link_class]
            .bandwidth;
    SimTime& free_at = link_in(context.index(), coming).free_at;
    free_at = std::max(context.now(), free_at + serialization_time(Bytes(coming.bytes), bandwidth));
    const SimTime wait = free_at - context.now();
    carried_.deliver(coming.bytes);
    const pdes::Port deliver = pdes::Port::from_code(event.flags);
    const Arrival arrival{event.source, 0, coming.word};
    if (shares_ports_ && wait > SimTime::zero()) {
      context.send_self(wait, deliver, arrival, event.tag);
      return;
    }
    longest_unshared_ = std::max(longest_unshared_, wait);
    pdes::Event arrived = event;
    arrived.port = deliver;
    arrived.flags = 0;
    arrived.set_payload(arrival);
    context.hand_on(arrived);
  }

  // What a tick leaves out of the message's time.
  void count_truncated(const machine::Path& path, Bytes bytes) {
    if (tick_ > least_tick) {
      const SimTime on_links = time_on_links(path, bytes);
      const SimTime dropped = on_links - truncated_time(on_links, path, tick_);
      truncated_.time_ps += static_cast<Wide>(on_links.ps());
      truncated_.dropped_ps += static_cast<Wide>(dropped.ps());
    }
  }

  // For those that left by the same link before. A message held to a rate leaves room for others.
  SimTime wait_for_port(const pdes::Context& context, const SendRequest& request,
                        const machine::Path& path) {
    SimTime& free_at = free_at_[first_port_[context.index()] + way_.front().port];
    const SimTime begin = std::max(context.now(), free_at);
    free_at = begin + serialization_time(Bytes(request.bytes), path.bottleneck);
    const SimTime wait = begin - context.now();
    if (!shares_ports_) {
      longest_unshared_ = std::max(longest_unshared_, wait);
    }
    return wait;
  }

  // Links in and links out are as many on all machines but graphs with links of one direction.
  LinkIn& link_in(std::uint32_t index, const Coming& coming) {
    for (LinkIn& link : near_links(index)) {
      if (!link.node.valid()) {
        link.node = coming.last_node;
        link.port = coming.last_port;
      }
      if (link.node == coming.last_node && link.port == coming.last_port) {
        return link;
      }
    }
    const auto [place, is_new] = place_of_further(index, coming.last_node, coming.last_port);
    LinkIn& link = further_link(index, place);
    if (is_new) {
      link.node = coming.last_node;
      link.port = coming.last_port;
    }
    return link;
  }
  std::size_t bytes_of_further() const {
    constexpr std::size_t links_of_a_node = 2 * sizeof(void*);  // of a table of the library
    std::size_t bytes = 0;
    for (const auto& [index, more] : more_in_) {
      bytes += sizeof(index) + sizeof(more) + links_of_a_node + more.capacity() * sizeof(LinkIn);
    }
    for (const auto& [index, places] : further_) {
      bytes += sizeof(index) + sizeof(places) + links_of_a_node +
               places.size() * (sizeof(std::pair<std::uint64_t, std::uint32_t>) + links_of_a_node);
    }
    return bytes;
  }
  // Those that are searched.
  std::span<LinkIn> near_links(std::uint32_t index) {
    constexpr std::size_t most = 16;
    return std::span(in_).subspan(first_port_[index], std::min(most, links_out(index)));
  }
  std::size_t links_out(std::uint32_t index) const {
    return first_port_[index + 1] - first_port_[index];
  }
  // Among all links in of a member; the next one, where it has none yet.
  std::pair<std::size_t, bool> place_of_further(std::uint32_t index, EntityId node,
                                                std::uint32_t port) {
    auto& places = further_[index];
    const std::uint64_t name = std::uint64_t{node.value()} << 32U | port;
    const auto [found, is_new] = places.try_emplace(
        name, static_cast<std::uint32_t>(near_links(index).size() + places.size()));
    return {found->second, is_new};
  }
  LinkIn& further_link(std::uint32_t index, std::size_t place) {
    if (place < links_out(index)) {
      return in_[first_port_[index] + place];
    }
    std::vector<LinkIn>& more = more_in_[index];
    more.resize(std::max(more.size(), place - links_out(index) + 1));
    return more[place - links_out(index)];
  }

  const machine::Topology& topology_;
  std::unique_ptr<machine::Routing> routing_;
  const pdes::RegionView* regions_;  // of a run on several ranks; else null
  const NetworkModel& model_;        // outlives all networks made from it
  SimTime tick_;
  bool shares_ports_;
  std::vector<std::size_t> first_port_;  // [members + 1] in free_at_
  std::vector<SimTime> free_at_;         // [links that leave members]
  std::vector<LinkIn> in_;               // likewise, in the order in which they were first used
  std::unordered_map<std::uint32_t, std::vector<LinkIn>> more_in_;  // by member, where it has more
  // By member, of links in that are not searched: where each is, by its node and port.
  std::unordered_map<std::uint32_t, std::unordered_map<std::uint64_t, std::uint32_t>> further_;
  std::vector<machine::Hop> way_;  // of the message that is being sent
  IncomingSink incoming_sink_;
  pdes::Port coming_port_;
  LinkUses link_uses_;
  SimTime longest_unshared_;
  Truncated truncated_;
};

// Bandwidth of the NICs of the first leaf over that of its links to spines; 0: there are none.
double oversubscription(const machine::Topology& topology, const machine::Cluster& cluster) {
  const auto bandwidth = [&](EntityId from, EntityId to) {
    double sum = 0;
    for (unsigned port = 0; port < topology.ports(from); ++port) {
      const machine::Link link = topology.link(from, port);
      if (link.to == to) {
        sum += static_cast<double>(
            topology.link_classes()[link.link_class].bandwidth.bytes_per_second());
      }
    }
    return sum;
  };
  if (cluster.spines == 0) {
    return 0;
  }
  const EntityId leaf = cluster.leaf(0);
  return cluster.leaf_nics(0) * bandwidth(cluster.nic(0, 0), leaf) /
         (cluster.spines * bandwidth(leaf, cluster.spine(0)));
}

class AnalyticalModel final : public NetworkModel, public StatesSharing {
 public:
  AnalyticalModel(std::string routing, const Overheads& overheads, SimTime tick, bool shares_ports)
      : routing_(std::move(routing)),
        overheads_(overheads),
        tick_(tick),
        shares_ports_(shares_ports) {}
  std::unique_ptr<Network> build(const NetworkSetup& setup) const override {
    return std::make_unique<AnalyticalNetwork>(setup, *this, tick_, shares_ports_);
  }
  std::size_t predicted_bytes(const machine::Machine& machine, std::uint64_t nodes,
                              bool) const override {
    const machine::Topology& topology = *machine.topology;
    return nodes * sizeof(std::size_t) +
           topology.links() * nodes / topology.nodes() * (sizeof(SimTime) + sizeof(LinkIn)) +
           LinkUses::predicted_bytes(topology);
  }
  std::string routing() const override { return routing_; }
  Overheads overheads() const override { return overheads_; }
  plan::Sharing sharing() const override {
    return shares_ports_ ? plan::Sharing::ports : plan::Sharing::nothing;
  }
  bool limits_rates() const override { return true; }
  bool keeps_bins() const override { return false; }
  bool promises() const override { return true; }
  // What servers share beyond the ports of their accelerators, as far as the machine tells.
  std::vector<std::string> notes(const machine::Machine& machine) const override {
    const std::optional<machine::Cluster> cluster = machine.topology->cluster();
    std::vector<std::string> notes;
    if (!cluster || cluster->servers < 2) {
      return notes;
    }
    if (cluster->share() > 1) {
      notes.push_back("the network analytical models no contention for shared NICs: " +
                      std::to_string(cluster->share()) +
                      " accelerators share one here, and messages that they send to other servers "
                      "at the same time take up to " +
                      std::to_string(cluster->share()) +
                      " times as long (machine.network.model: packet or flow)");
    }
    const double crowding = oversubscription(*machine.topology, *cluster);
    if (crowding > 1) {
      notes.push_back(
          "the network analytical models no contention for links of the fabric: NICs of a leaf "
          "have " +
          format_number(std::round(crowding * 10) / 10) +
          " times the bandwidth of its links to spines (machine.network.model: packet "
          "or flow)");
    }
    return notes;
  }
  SimTime idle_time(const machine::Path& path, Bytes bytes) const override {
    return overheads_.message + truncated_time(time_on_links(path, bytes), path, tick_);
  }

 private:
  std::string routing_;
  Overheads overheads_;
  SimTime tick_;
  bool shares_ports_;
};

const config::Key<SimTime> message_tick{
    "message_tick", least_tick,
    "times of messages on links are truncated to a multiple of it (1 ns: as in ASTRA-sim 2.0)",
    config::at_least(least_tick)};
const auto shared_ports =
    config::ChoiceKey<bool>("ports", {{"free", false}, {"shared", true}}, "by topology",
                            "free: no contention; shared: messages that leave a node by the same "
                            "link are serialised, and so are those that enter it by the same link; "
                            "by topology: shared on clusters, free elsewhere")
        .derived();

std::unique_ptr<NetworkModel> make(config::Section& section, const machine::Machine& machine) {
  std::string routing = read_routing(section, machine);
  const Overheads overheads = read_overheads(section);
  const SimTime tick = message_tick.read(section);
  const bool shares_ports =
      shared_ports.read(section, machine.topology->cluster() ? "shared" : "free");
  return std::make_unique<AnalyticalModel>(std::move(routing), overheads, tick, shares_ports);
}

const Registration analytical_registration(
    networks(),
    {"analytical",
     "hops * latency + size / bandwidth for each message, no contention",
     {routing_parameter(), message_overhead_parameter(), collective_overhead_parameter(),
      collective_member_overhead_parameter(), collective_fill_parameter(), library_parameter(),
      nvswitch_generation_parameter(), nvls_parameter(), message_tick, shared_ports}},
    make);

}  // namespace
}  // namespace tessera::network
