// The `analytical` network: hops * latency + size / bandwidth, no contention (PALM, equation (2)
// without its contention term; ASTRA-sim 2.0's analytical backend), and an overhead for each
// message (LogGP's o, Alexandrov et al., SPAA'95, as a delay alone).

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counted_network.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/network/sharing.hpp"

namespace tessera::network {
namespace {

// One event a message, from end to end: overhead, latency of every link on the route and the time
// of the whole message at the slowest one. Links are not shared and no account of them is kept. A
// smaller message may overtake a larger one of the same pair.
//
// With `ports: shared` the messages that leave a node by one link go one after the other, each for
// the time that the slowest link of its route takes: a bound where a node talks to many at once,
// which costs no event and is the same on any number of ranks. So it is on clusters, where a ring's
// messages would else overtake each other between servers, as if its slowest link took as many at a
// time as there are. Where ports are free, what sharing would have delayed is noted. What nodes
// share beyond their first link, and what comes in, neither counts; of clusters a note says how
// many accelerators share a NIC, and how many times the bandwidth of its spines a leaf's NICs have.
//
// A message to another rank is there as soon as it is sent, so that its outlook has nothing under
// way, and nothing passes through a region: what a rank sends follows from what its programs and
// memories do.
class AnalyticalNetwork final : public CountedNetwork {
 public:
  AnalyticalNetwork(const NetworkSetup& setup, const NetworkModel& model, bool shares_ports)
      : topology_(*setup.machine.topology),
        routing_(machine::make_routing(model.routing(), topology_)),
        regions_(setup.regions),
        model_(model),
        shares_ports_(shares_ports) {
    std::size_t ports = 0;
    for (const EntityId member : setup.members) {
      first_port_.push_back(ports);
      ports += topology_.ports(member);
    }
    first_port_.push_back(ports);
    free_at_.resize(ports);
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

  void handle(pdes::Context& context, const pdes::Event& event) override {
    const auto request = event.as<SendRequest>();
    const Arrival arrival{context.self(), 0, request.word};
    carried_.take(request.bytes);
    carried_.deliver(request.bytes);  // the arrival is raised here
    if (request.target == context.self()) {
      context.send_self(SimTime::zero(), request.deliver, arrival, event.tag);
      return;
    }
    machine::Path path =
        machine::path_between(topology_, *routing_, context.self(), request.target);
    hops_ += path.hops;
    const SimTime wait = wait_for_port(context, request, path);
    path.bottleneck = std::min(path.bottleneck, request.limit.rate().value_or(path.bottleneck));
    context.send(
        request.target,
        model_.idle_time(path, Bytes(request.bytes)) + (shares_ports_ ? wait : SimTime::zero()),
        request.deliver, arrival, event.tag);
  }

  void visit_links(SimTime, const LinkUseSink&) const override {}
  void report_bins(LinkUseSink) override {}
  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    for (std::size_t port = first_port_[index]; port < first_port_[index + 1]; ++port) {
      writer.put(free_at_[port]);
    }
  }
  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    for (std::size_t port = first_port_[index]; port < first_port_[index + 1]; ++port) {
      free_at_[port] = reader.get<SimTime>();
    }
  }
  std::size_t resident_bytes() const override {
    return first_port_.capacity() * sizeof(std::size_t) + free_at_.capacity() * sizeof(SimTime);
  }
  void save_totals(pdes::StateWriter& writer) const override {
    CountedNetwork::save_totals(writer);
    writer.put(longest_unshared_);
  }
  void add_totals(pdes::StateReader& reader) override {
    CountedNetwork::add_totals(reader);
    longest_unshared_ = std::max(longest_unshared_, reader.get<SimTime>());
  }
  SimTime longest_unshared() const override { return longest_unshared_; }

 private:
  // For those that left by the same link before. A message held to a rate leaves room for others.
  SimTime wait_for_port(const pdes::Context& context, const SendRequest& request,
                        const machine::Path& path) {
    const unsigned port = routing_->next_port(context.self(), request.target);
    SimTime& free_at = free_at_[first_port_[context.index()] + port];
    const SimTime begin = std::max(context.now(), free_at);
    free_at = begin + serialization_time(Bytes(request.bytes), path.bottleneck);
    const SimTime wait = begin - context.now();
    if (!shares_ports_) {
      longest_unshared_ = std::max(longest_unshared_, wait);
    }
    return wait;
  }

  const machine::Topology& topology_;
  std::unique_ptr<machine::Routing> routing_;
  const pdes::RegionView* regions_;  // of a run on several ranks; else null
  const NetworkModel& model_;        // outlives all networks made from it
  bool shares_ports_;
  std::vector<std::size_t> first_port_;  // [members + 1] in free_at_
  std::vector<SimTime> free_at_;         // [links that leave members]
  SimTime longest_unshared_;
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
    return std::make_unique<AnalyticalNetwork>(setup, *this, shares_ports_);
  }
  std::size_t predicted_bytes(const machine::Machine& machine, std::uint64_t nodes,
                              bool) const override {
    const machine::Topology& topology = *machine.topology;
    return nodes * sizeof(std::size_t) +
           topology.links() * nodes / topology.nodes() * sizeof(SimTime);
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
      notes.push_back("the network analytical lets accelerators share no NIC: " +
                      std::to_string(cluster->share()) +
                      " have one here, and what they send to other servers at the same time takes "
                      "up to " +
                      std::to_string(cluster->share()) +
                      " times as long (machine.network.model: packet or flow)");
    }
    const double crowding = oversubscription(*machine.topology, *cluster);
    if (crowding > 1) {
      notes.push_back(
          "the network analytical lets servers share no link of the fabric: NICs of a "
          "leaf have " +
          format_number(std::round(crowding * 10) / 10) +
          " times the bandwidth of its links to spines (machine.network.model: packet "
          "or flow)");
    }
    return notes;
  }
  SimTime idle_time(const machine::Path& path, Bytes bytes) const override {
    const SimTime on_links = path.latency + serialization_time(bytes, path.bottleneck);
    // Never shorter than the way itself, which the engine counts on.
    const SimTime cut = SimTime::from_ps(on_links.ps() / tick_.ps() * tick_.ps());
    return overheads_.message + std::max(path.latency, cut);
  }

 private:
  std::string routing_;
  Overheads overheads_;
  SimTime tick_;
  bool shares_ports_;
};

constexpr SimTime least_tick = SimTime::from_ps(1);
const config::Key<SimTime> message_tick{
    "message_tick", least_tick,
    "times of messages on links are cut to a multiple of it (1 ns: as ASTRA-sim 2.0)",
    config::at_least(least_tick)};
const auto shared_ports =
    config::ChoiceKey<bool>(
        "ports", {{"free", false}, {"shared", true}}, "by topology",
        "free: messages share nothing; shared: those that leave a node by one link go one after "
        "the other. By topology: shared on clusters, else free")
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
