// Networks: how messages get from entity to entity, and how long that takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/collective/library.hpp"
#include "tessera/collective/overhead.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/machine/arbitration.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/pdes/component.hpp"
#include "tessera/pdes/outlook.hpp"

namespace tessera::network {

// What one directed link did in a span of time.
struct LinkUse {
  EntityId node;      // where the link starts
  unsigned port = 0;  // of that node
  SimTime begin;
  SimTime end;
  Bytes bytes;          // put on the wire in the span
  SimTime busy;         // time the wire was in use in the span
  Bytes largest_queue;  // most bytes that waited for the wire when a packet came to it
};
using LinkUseSink = std::function<void(const LinkUse&)>;

// What came in and what went out; over all ranks as much of the one as of the other in the end.
struct Carried {
  std::uint64_t messages_taken = 0;
  std::uint64_t messages_delivered = 0;
  std::uint64_t bytes_taken = 0;  // of what messages are cut into: whole flits, where there are any
  std::uint64_t bytes_delivered = 0;

  void take(std::uint64_t bytes) {
    ++messages_taken;
    bytes_taken += bytes;
  }
  void deliver(std::uint64_t bytes) {
    ++messages_delivered;
    bytes_delivered += bytes;
  }
  Carried& operator+=(const Carried& other) {
    messages_taken += other.messages_taken;
    messages_delivered += other.messages_delivered;
    bytes_taken += other.bytes_taken;
    bytes_delivered += other.bytes_delivered;
    return *this;
  }
};

// Bytes of messages, and of the whole pieces that they were carried in.
struct Rounded {
  std::uint64_t asked = 0;
  std::uint64_t carried = 0;
};

// Times of messages on links, and what the model leaves out of them.
struct Truncated {
  Wide time_ps = 0;
  Wide dropped_ps = 0;
};

// What a network needs to know of the run.
struct NetworkSetup {
  const machine::Machine& machine;
  std::span<const EntityId> members;  // entities of this rank, in the engine's order; outlives the
                                      // network
  unsigned slot = 0;                  // the component's number at the engine
  const pdes::RegionView* regions = nullptr;    // of a run on several ranks; outlives the network
  std::span<const std::uint32_t> tenants = {};  // as of machine::Sharers
};

using ProgressSink = std::function<void(const Progress&)>;
// Of one that has just come from another rank, or out of a checkpoint; whether it is to be
// followed.
using IncomingSink = std::function<bool(const Progress&)>;
// Calls visit(from, to) for pairs of entities.
using PairVisit = std::function<void(const std::function<void(EntityId, EntityId)>& visit)>;

class LinkUses;

// A network in motion: takes SendRequest events, raises Arrival events.
class Network : public pdes::Component {
 public:
  // Use of every link of this rank that was used, over the whole run up to `end`. Nothing for
  // models that keep no account of links.
  virtual void visit_links(SimTime end, const LinkUseSink& sink) const = 0;
  // From now on, at each boundary, use of every link that was used since the boundary before.
  virtual void report_bins(LinkUseSink sink) = 0;
  // When the last link of this rank is free, which may be after the end of a run: bins last until
  // then. Zero where all links are free before what they carried is at its end.
  virtual SimTime busy_until() const { return SimTime::zero(); }
  // Link traversals of packets (messages, for a model without packets).
  virtual std::uint64_t packet_hops() const = 0;
  // So far on this rank.
  virtual Carried carried() const = 0;
  std::uint64_t messages() const { return carried().messages_taken; }
  // Of this rank, as its totals; zeros where nothing is rounded.
  virtual Rounded rounded() const { return {}; }
  // Likewise; zeros where nothing is truncated.
  virtual Truncated truncated() const { return {}; }
  // How much later a message would have come at most, had messages shared what the model lets each
  // have for itself; of this rank's entities.
  virtual SimTime longest_unshared() const { return SimTime::zero(); }
  // Null where messages wait for each other on all links of their way, or touch none.
  virtual const LinkUses* link_uses() const { return nullptr; }

  // For outlooks; networks that give none know nothing of these.
  // Where a message from `from`, which is here, to `to` first leaves this rank.
  virtual pdes::Exit exit_of(EntityId /*from*/, EntityId /*to*/) { return {}; }
  // The same of a message of so many bytes at least; its latency is that of the first event there.
  virtual pdes::Exit exit_of_message(EntityId from, EntityId to, Bytes /*bytes*/) {
    return exit_of(from, to);
  }
  // From the sending of a message to its arrival, at least.
  virtual SimTime least_time(EntityId /*from*/, EntityId /*to*/, Bytes /*bytes*/) {
    return SimTime::zero();
  }
  // From now on calls `incoming` for each message that comes in, and `progress` at each node that
  // one which is followed (`followed_flag`) comes to.
  virtual void report_progress(IncomingSink /*incoming*/, ProgressSink /*progress*/) {}
  // All pairs that exchange messages in this run, on any rank: then it is known which messages pass
  // through this rank. Not calling it means that any may. See NetworkModel::needs_pairs.
  virtual void learn_routes(const PairVisit& /*pairs*/) {}
};

// Events that messages will raise, to weigh nodes before a run.
class PredictedTraffic {
 public:
  // Nodes first, first + step, … (modulo 2^32), each with as many events.
  struct Run {
    std::uint32_t first = 0;
    std::uint32_t step = 0;
    std::uint32_t nodes = 1;
    std::uint64_t events = 0;
  };
  using VisitRun = std::function<void(const Run& run)>;
  using Visit = std::function<void(EntityId node, std::uint64_t events)>;
  virtual ~PredictedTraffic() = default;
  // Of one message, the request to send it and its arrival among them; `from` may be `to`. In the
  // order of its way; straight ways over grids are few runs.
  virtual void visit_runs(EntityId from, EntityId to, Bytes bytes, const VisitRun& visit) const = 0;
  // The same node by node.
  void visit_events(EntityId from, EntityId to, Bytes bytes, const Visit& visit) const;
  // As Network::learn_routes, before anything is asked.
  virtual void learn_routes(const PairVisit& /*pairs*/) {}
};

// Of a network whose messages touch nothing between their ends.
std::unique_ptr<PredictedTraffic> predict_ends_only();

// What software takes beyond the links; 0 by default.
struct Overheads {
  // Protocol and doorbells of each message between two nodes (one to the sender itself takes no
  // time). The network adds it.
  SimTime message;
  // Programs hold it.
  collective::Overhead collective;
  // As which collectives go that are not simulated, and those of graphs.
  collective::LibrarySettings library;
};

// What traffic is counted in on networks that carry nothing in pieces.
inline constexpr Bytes usual_flit(32);

// A network as configured: parameters read and checked, not yet built.
class NetworkModel {
 public:
  virtual ~NetworkModel() = default;
  virtual std::unique_ptr<Network> build(const NetworkSetup& setup) const = 0;
  // Bytes of state for `nodes` entities of this machine; with account of bins or without.
  virtual std::size_t predicted_bytes(const machine::Machine& machine, std::uint64_t nodes,
                                      bool bins) const = 0;
  // Whether a message can be more than one event at a time.
  virtual bool cuts_messages() const { return false; }
  // Events that are pending at a time when a message has been sent; 1 where it is not cut.
  virtual std::uint64_t events_of_message(const machine::Machine&, EntityId /*from*/,
                                          EntityId /*to*/, Bytes) const {
    return 1;
  }
  // Whether all its events to other entities go to one at the end of a link, after the link's
  // latency at least. If not, every region may hear from every other (see pdes::RegionDelays).
  virtual bool sends_along_links() const { return false; }
  // Where every entity may send to every other, however far: the shortest delay. Else none, and
  // delays are at least those of the links on the way.
  virtual std::optional<SimTime> reach(const machine::Machine&) const { return std::nullopt; }
  // The shortest delay of any event to another entity; what the engine may use as lookahead where
  // only this network sends.
  virtual SimTime least_delay(const machine::Machine& machine) const {
    return std::min(machine.topology->smallest_latency(),
                    reach(machine).value_or(SimTime::never()));
  }
  // Whether what it carries waits for room further on, so that messages may wait for each other for
  // ever.
  virtual bool may_block() const { return false; }
  // Whether a packet goes on when all of it is there, so that larger packets take longer a hop.
  virtual bool holds_packets() const { return false; }
  // Whether a message of a node to itself takes time.
  virtual bool carries_to_itself() const { return false; }
  // What it carries in one piece; else what to count traffic in.
  virtual Bytes flit_size() const { return usual_flit; }
  // The routing it uses, and what messages and collectives take beyond links; to estimate times on
  // an idle machine.
  virtual std::string routing() const = 0;
  virtual Overheads overheads() const { return {}; }
  // Of one message on an idle machine, from end to end, as if it went in one piece. To order things
  // by; what a run gives may differ.
  virtual SimTime idle_time(const machine::Path& path, Bytes bytes) const {
    return overheads().message + path.latency + serialization_time(bytes, path.bottleneck);
  }
  // Of messages that wait for each other at links.
  virtual machine::Arbitration arbitration() const { return machine::Arbitration::first_come; }
  // Whether it holds messages to SendRequest::limit; others carry them as if there was none.
  virtual bool limits_rates() const { return false; }
  // Whether it knows how long it will send nothing into another region: see sim/cuts/cuts.hpp.
  virtual bool promises() const { return false; }
  // Whether these times are so far ahead that what is predicted of cuts, where nobody waits but for
  // what others have not sent yet, holds for it.
  virtual bool promises_far() const { return promises(); }
  // Whether who sends to whom decides which node does what: where all pairs are told, the network
  // and its predictions learn them (learn_routes), on one rank as on many, before anybody asks them
  // for a route, and no other message may be sent.
  virtual bool needs_pairs() const { return false; }
  // Whether links of the machine have a part in what messages take.
  virtual bool uses_links() const { return true; }
  // Whether it tells of links by time (Network::report_bins).
  virtual bool keeps_bins() const { return true; }
  // Whether messages that meet at a link go on at once, each with its share, so that the first of
  // them is over later than if one went after the other.
  virtual bool shares_evenly() const { return false; }
  // What its settings take from links on this machine; for users.
  virtual std::vector<std::string> notes(const machine::Machine&) const { return {}; }
  // Whether it wants to know of RingPart.
  virtual bool lumps_rings() const { return false; }
  virtual std::unique_ptr<PredictedTraffic> predict_traffic(const machine::Machine&) const {
    return predict_ends_only();
  }
};

// Networks by name. A maker reads the `network` section (all keys but `model`).
using NetworkMaker =
    std::function<std::unique_ptr<NetworkModel>(config::Section&, const machine::Machine&)>;
Registry<NetworkMaker>& networks();

// Reads `model` and its parameters; null after complaints.
std::unique_ptr<NetworkModel> read_network(config::Section section,
                                           const machine::Machine& machine);

// The `routing` key, common to the models here: a name that the machine's topology can use.
ParameterInfo routing_parameter();
std::string read_routing(config::Section& section, const machine::Machine& machine);
// Tells it when the topology's own routing is another one than it would be without faults.
void tell_of_detours(config::Section& section, const std::string& routing,
                     const machine::Topology& topology);

// The keys `message_overhead`, `collective_overhead`, `collective_member_overhead`,
// `collective_fill`, `library`, `nvswitch_generation` and `nvls`, common too.
ParameterInfo message_overhead_parameter();
ParameterInfo collective_overhead_parameter();
ParameterInfo collective_member_overhead_parameter();
ParameterInfo collective_fill_parameter();
ParameterInfo library_parameter();
ParameterInfo nvswitch_generation_parameter();
ParameterInfo nvls_parameter();
Overheads read_overheads(config::Section& section);

}  // namespace tessera::network
