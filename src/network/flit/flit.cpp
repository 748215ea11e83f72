// The `flit` network: virtual-channel wormhole routers, one at each node of the machine, joined by
// its links. A message is cut into packets and these into flits, which wait for buffers, virtual
// channels and switches as in hardware. Method and sources: flit/routers.hpp; which ways packets
// take, and why they never wait in a circle: flit/routes.hpp.
//
// A cycle is the time in which the fastest link of the machine carries a flit, rounded up to whole
// picoseconds: choose a flit size for which nothing is rounded. Link latencies are rounded up to
// whole cycles. The way from router to router takes the stages of the pipeline (4 cycles by
// default) and the link. Slower links take a flit at their own rate; flits wait for them behind the
// switch, bounded by the credits.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flit/idle_time.hpp"
#include "flit/notes.hpp"
#include "flit/routers.hpp"
#include "link_bins.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/network/network.hpp"

namespace tessera::network {
namespace {

// A network as read.
struct FlitSetup {
  FlitSettings settings;
  std::string routing;
  std::vector<LinkTiming> timings;  // by link class
  Overheads overheads;
};

class FlitNetwork final : public Network {
 public:
  FlitNetwork(const NetworkSetup& setup, const FlitSetup& flit, std::unique_ptr<FlitRoutes> routes)
      : members_(setup.members),
        timings_(flit.timings),
        routers_(*setup.machine.topology, setup.members, flit.settings, flit.timings,
                 std::move(routes), flit.overheads.message, setup.slot),
        overhead_(flit.overheads.message) {
    if (setup.regions != nullptr) {
      routers_.watch_departures(*setup.machine.topology, *setup.regions);
      knows_routes_ = setup.machine.topology->nodes() <= most_searched_nodes;
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    switch (event.port.kind()) {
      case FlitRouters::link_kind:
        routers_.take_load(context, event.as<LinkLoad>(), event.tag, event.flags);
        break;
      case FlitRouters::wake_kind:
        routers_.wake(context, event.as<std::uint64_t>());
        break;
      default:
        routers_.take_request(context, event.as<SendRequest>(), event.tag);
    }
  }

  const char* name() const override { return "network flit"; }

  std::optional<pdes::Outlook> outlook(std::uint32_t rank,
                                       const pdes::Moment& /*moment*/) override {
    auto& departures = routers_.departures();
    return departures ? std::optional(departures->outlook(rank)) : std::nullopt;
  }

  // Counts what will leave again, and tells of messages that come to an entity here.
  void take_in(pdes::Event& event) override {
    if (!routers_.departures() || event.port.kind() != FlitRouters::link_kind ||
        (event.flags & LinkLoad::holds_flit) == 0) {
      return;
    }
    const auto load = event.as<LinkLoad>();
    const EntityId here(event.target);
    routers_.take_in(here, load);
    const Flit& flit = load.flit;
    if (incoming_sink_ && flit.is(Flit::head) && flit.is(Flit::last_packet)) {
      const EntityId target(flit.target);
      tell_of(here, {EntityId(flit.source & Flit::node_bits), target,
                     pdes::Port::from_code(load.deliver), event.tag, flit.whole_word(),
                     event.time + overhead_ +
                         routers_.departures()->crossings().least_time(here, target, Bytes())});
    }
  }

  pdes::Exit exit_of(EntityId from, EntityId to) override {
    if (!routers_.departures()) {
      return {};
    }
    pdes::Exit exit = routers_.departures()->crossings().exit_of(from, to);
    if (exit.leaves()) {
      exit.latency += to_router();
    }
    return exit;
  }
  // As many flits as there are follow the first one over the slowest link.
  SimTime least_time(EntityId from, EntityId to, Bytes bytes) override {
    if (!routers_.departures() || from == to) {
      return SimTime::zero();
    }
    const Bytes behind(bytes.count() - std::min(bytes.count(), routers_.settings().flit_bytes));
    return to_router() + routers_.departures()->crossings().least_time(from, to, behind) +
           overhead_;
  }
  void report_progress(IncomingSink incoming, ProgressSink) override {
    incoming_sink_ = std::move(incoming);
  }
  void learn_routes(const PairVisit& pairs) override {
    if (routers_.departures() && knows_routes_) {
      routers_.departures()->crossings().learn(pairs);
    }
  }

  void report_bins(LinkUseSink sink) override {
    bin_sink_ = std::move(sink);
    std::uint32_t links = 0;
    for (std::uint32_t index = 0; index < members_.size(); ++index) {
      first_link_.push_back(links);
      links += routers_.view(index).node_port();
    }
    bins_.open(links);
  }

  void pass_boundary(SimTime boundary) override {
    if (!bin_sink_) {
      return;
    }
    for_each_link([&](std::uint32_t index, unsigned port, OutputPort& link) {
      BinState& bin = bins_[first_link_[index] + port];
      const BinState now = done_by(boundary, link, bin);
      if (now.bytes != bin.bytes || now.busy_ps != bin.busy_ps) {
        const std::uint32_t wait =
            link.wait_in_bin == most_wait_in_bin ? link.longest_wait : link.wait_in_bin;
        bin_sink_({members_[index], port, bin_begin_, boundary, Bytes(now.bytes - bin.bytes),
                   SimTime::from_ps(now.busy_ps - bin.busy_ps), queue_of(link, wait)});
        link.wait_in_bin = 0;
        bin = now;
      }
    });
    bin_begin_ = boundary;
  }

  SimTime busy_until() const override {
    std::uint64_t last = 0;
    for_each_link([&last](std::uint32_t, unsigned, const OutputPort& link) {
      last = std::max(last, link.free_at);
    });
    constexpr std::uint64_t whole = (std::uint64_t{1} << interval_bits) - 1;
    return routers_.settings().cycle * static_cast<std::int64_t>((last + whole) >> interval_bits);
  }

  void visit_links(SimTime end, const LinkUseSink& sink) const override {
    for_each_link([&](std::uint32_t index, unsigned port, const OutputPort& link) {
      const BinState use = booked_on(link);
      sink({members_[index], port, SimTime::zero(), end, Bytes(use.bytes),
            std::min(end, SimTime::from_ps(use.busy_ps)), queue_of(link, link.longest_wait)});
    });
  }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    routers_.save(index, writer);
    if (!bin_sink_) {
      return;
    }
    writer.put(bin_begin_);
    for (unsigned port = 0; port < routers_.view(index).node_port(); ++port) {
      const BinState bin = bins_.value(first_link_[index] + port);
      writer.put(bin.busy_ps);
      writer.put(bin.bytes);
    }
  }

  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    routers_.restore(index, members_[index], reader);
    if (incoming_sink_) {
      routers_.visit_arriving(index, members_[index], [this, index](const Progress& message) {
        tell_of(members_[index], message);
      });
    }
    if (!bin_sink_) {
      return;
    }
    bin_begin_ = reader.get<SimTime>();
    for (unsigned port = 0; port < routers_.view(index).node_port(); ++port) {
      BinState bin;
      bin.busy_ps = reader.get<std::int64_t>();
      bin.bytes = reader.get<std::uint64_t>();
      if (bin.bytes > 0 || bin.busy_ps > 0) {
        bins_[first_link_[index] + port] = bin;
      }
    }
  }

  void save_totals(pdes::StateWriter& writer) const override {
    writer.put(routers_.hops());
    writer.put(routers_.carried());
    writer.put(routers_.rounded());
  }
  void add_totals(pdes::StateReader& reader) override {
    routers_.add_hops(reader.get<std::uint64_t>());
    routers_.add_carried(reader.get<Carried>());
    routers_.add_rounded(reader.get<Rounded>());
  }

  std::uint64_t packet_hops() const override { return routers_.hops(); }
  Carried carried() const override { return routers_.carried(); }
  Rounded rounded() const override { return routers_.rounded(); }
  std::size_t resident_bytes() const override {
    return routers_.resident_bytes() + bins_.resident_bytes();
  }

 private:
  template <class Visit>
  void for_each_link(Visit visit) const {
    for (std::uint32_t index = 0; index < members_.size(); ++index) {
      const RouterView router = routers_.view(index);
      for (unsigned port = 0; port < router.node_port(); ++port) {
        if (router.port(port).flits > 0) {
          visit(index, port, router.port(port));
        }
      }
    }
  }

  // Of a message that is at `here`, if it comes to its target without leaving the region.
  void tell_of(EntityId here, const Progress& message) {
    Crossings<FlitFabric>& crossings = routers_.departures()->crossings();
    if (crossings.is_here(message.target) && !crossings.exit_of(here, message.target).leaves()) {
      incoming_sink_(message);
    }
  }

  // From the request to send a message to its first flit in the router, at least.
  SimTime to_router() const {
    return routers_.settings().cycle * (1 + routers_.settings().interface_cycles);
  }

  // Time of flits on a link, all sent until now, in `interval_bits` parts of a picosecond.
  Wide time_of_flits(const OutputPort& link) const {
    return static_cast<Wide>(link.flits) * timings_[link.link_class].interval *
           static_cast<std::uint64_t>(routers_.settings().cycle.ps());
  }
  static std::int64_t in_ps(Wide parts) {
    return static_cast<std::int64_t>(parts >> interval_bits);
  }

  // All flits sent until now, whether the last one has crossed the link or not.
  BinState booked_on(const OutputPort& link) const {
    return {in_ps(time_of_flits(link)), link.flits * routers_.settings().flit_bytes, 0};
  }

  // What of these lies before `time`, given what lay before an earlier one.
  BinState done_by(SimTime time, const OutputPort& link, const BinState& before) const {
    const Wide free_at = static_cast<Wide>(link.free_at) *
                         static_cast<std::uint64_t>(routers_.settings().cycle.ps());
    const Wide now = static_cast<Wide>(time.ps()) << interval_bits;
    const Wide booked = time_of_flits(link);
    const Wide beyond = free_at > now ? std::min(free_at - now, booked) : 0;
    return without(in_ps(booked) - in_ps(booked - beyond), booked_on(link), before);
  }

  Bytes queue_of(const OutputPort& link, std::uint32_t wait) const {
    const std::uint64_t flits =
        (std::uint64_t{wait} << interval_bits) / timings_[link.link_class].interval;
    return Bytes(flits * routers_.settings().flit_bytes);
  }

  std::span<const EntityId> members_;
  std::vector<LinkTiming> timings_;
  FlitRouters routers_;
  SimTime overhead_;  // of a message
  bool knows_routes_ = false;
  IncomingSink incoming_sink_;
  std::vector<std::uint32_t> first_link_;  // where bins are reported
  BinTable bins_;
  LinkUseSink bin_sink_;
  SimTime bin_begin_;
};

// A flit is an event at each router it comes to, its credit one at the router before, and there are
// about as many cycles of work.
class FlitTraffic final : public PredictedTraffic {
 public:
  FlitTraffic(const machine::Topology& topology, const std::string& routing,
              std::uint64_t flit_bytes)
      : topology_(topology),
        routing_(machine::make_routing(routing, topology)),
        flit_bytes_(flit_bytes) {}

  void visit_runs(EntityId from, EntityId to, Bytes bytes, const VisitRun& visit) const override {
    visit({.first = from.value(), .events = 1});
    if (from != to) {
      constexpr std::uint64_t events_a_flit = 3;
      const std::uint64_t flits = quotient_up(bytes.count(), flit_bytes_) + 1;
      for (EntityId here = from; here != to;
           here = topology_.link(here, routing_->next_port(here, to)).to) {
        visit({.first = here.value(), .events = events_a_flit * flits});
      }
      visit({.first = to.value(), .events = 2 * flits});
    }
    visit({.first = to.value(), .events = 1});
  }

 private:
  const machine::Topology& topology_;
  std::unique_ptr<machine::Routing> routing_;
  std::uint64_t flit_bytes_;
};

class FlitModel final : public NetworkModel {
 public:
  explicit FlitModel(FlitSetup setup) : setup_(std::move(setup)) {}

  std::unique_ptr<Network> build(const NetworkSetup& setup) const override {
    std::string problem;
    auto routes =
        make_flit_routes(*setup.machine.topology, setup_.routing, setup_.settings.vcs, problem);
    ensure(routes != nullptr, "the routes were looked at when the network was read");
    return std::make_unique<FlitNetwork>(setup, setup_, std::move(routes));
  }

  std::size_t predicted_bytes(const machine::Machine& machine, std::uint64_t nodes,
                              bool bins) const override {
    const machine::Topology& topology = *machine.topology;
    const std::uint64_t links =
        topology.grid() ? 4 * std::uint64_t{topology.nodes()} : topology.links();
    const std::uint64_t ports = (links + topology.nodes() - 1) / topology.nodes();
    const RouterLayout layout(static_cast<unsigned>(ports) + 1, setup_.settings);
    constexpr std::size_t around = sizeof(std::size_t) + sizeof(void*) + sizeof(PartialMessages);
    return nodes * (layout.bytes() + around + (bins ? ports * sizeof(BinState) : 0));
  }

  bool sends_along_links() const override { return true; }
  bool may_block() const override { return true; }
  bool carries_to_itself() const override { return setup_.settings.loopback; }
  // Where packets choose their way as they go, it is not known where they leave a region.
  bool promises() const override { return !is_adaptive(); }
  // While flits go over a border, no further than a link.
  bool promises_far() const override { return false; }
  std::string routing() const override { return is_adaptive() ? "xy" : setup_.routing; }
  Overheads overheads() const override { return setup_.overheads; }

  SimTime least_delay(const machine::Machine&) const override {
    const FlitSettings& settings = setup_.settings;
    std::uint32_t link = setup_.timings.front().cycles;
    for (const LinkTiming& timing : setup_.timings) {
      link = std::min(link, timing.cycles);
    }
    return settings.cycle * (settings.switch_allocation_delay + link +
                             std::min(settings.credit_delay, settings.traversal_delay)) -
           step_offset;
  }

  std::vector<std::string> notes(const machine::Machine& machine) const override {
    return notes_on(setup_.settings, setup_.timings, *machine.topology);
  }

  Bytes flit_size() const override { return Bytes(setup_.settings.flit_bytes); }

  SimTime idle_time(const machine::Path& path, Bytes bytes) const override {
    const FlitSettings& settings = setup_.settings;
    const unsigned router = settings.routing_delay + settings.vc_allocation_delay +
                            settings.switch_allocation_delay + settings.traversal_delay;
    const std::int64_t cycles =
        std::int64_t{path.hops + 1} * router + 2 * settings.interface_cycles;
    return setup_.overheads.message + path.latency + settings.cycle * cycles +
           carry_time(settings, path, bytes);
  }

  std::unique_ptr<PredictedTraffic> predict_traffic(
      const machine::Machine& machine) const override {
    constexpr std::uint32_t most_searches = 4096;
    const bool searches = routing() == "shortest" || routing() == "ecmp";
    if (searches && machine.topology->nodes() > most_searches) {
      return predict_ends_only();
    }
    return std::make_unique<FlitTraffic>(*machine.topology, routing(), setup_.settings.flit_bytes);
  }

 private:
  bool is_adaptive() const {
    const std::vector<std::string> adaptive = adaptive_routings();
    return std::find(adaptive.begin(), adaptive.end(), setup_.routing) != adaptive.end();
  }

  FlitSetup setup_;
};

std::string read_flit_routing(config::Section& section, const machine::Machine& machine,
                              unsigned vcs) {
  const std::string usual = machine.topology->default_routing();
  std::vector<std::string> names = machine::routing_names();
  for (const std::string& name : adaptive_routings()) {
    names.push_back(name);
  }
  std::string name = section.get_name("routing", names, usual);
  const std::vector<std::string> own = machine::routing_names();
  std::string problem = std::find(own.begin(), own.end(), name) == own.end()
                            ? ""
                            : machine::routing_problem(name, *machine.topology);
  if (problem.empty()) {
    make_flit_routes(*machine.topology, name, vcs, problem);
    if (!problem.empty() && problem.find("virtual channels") != std::string::npos) {
      section.error("virtual_channels", problem);
      return name;
    }
  }
  if (!problem.empty()) {
    section.error("routing", problem);
  }
  tell_of_detours(section, name, *machine.topology);
  return name;
}

constexpr std::int64_t most_cycles = std::int64_t{1} << 30U;  // of a link's latency

// The cycle, and links in cycles.
void set_times(FlitSetup& setup, config::Section& section, const machine::Topology& topology) {
  std::uint64_t fastest = 1;
  for (const machine::LinkClass& link_class : topology.link_classes()) {
    fastest = std::max(fastest, link_class.bandwidth.bytes_per_second());
  }
  FlitSettings& settings = setup.settings;
  settings.cycle =
      serialization_time(Bytes(settings.flit_bytes), Bandwidth::bytes_per_second(fastest));
  if (settings.cycle < SimTime::from_ps(2)) {
    section.error("flit_size", "a cycle takes 2 ps at least: choose larger flits");
    settings.cycle = SimTime::from_ps(2);
  }
  for (const machine::LinkClass& link_class : topology.link_classes()) {
    const std::int64_t cycle = settings.cycle.ps();
    const std::int64_t cycles = (link_class.latency.ps() + cycle - 1) / cycle;
    if (cycles > most_cycles) {
      section.error("flit_size", "a latency of " + to_string(link_class.latency) +
                                     " is more than 2^30 cycles of " + to_string(settings.cycle) +
                                     ": choose larger flits");
    }
    const std::uint64_t rate = std::max<std::uint64_t>(1, link_class.bandwidth.bytes_per_second());
    const auto interval =
        ((static_cast<Wide>(fastest) << interval_bits) + rate - 1) / static_cast<Wide>(rate);
    setup.timings.push_back({static_cast<std::uint32_t>(std::min(cycles, most_cycles)),
                             static_cast<std::uint64_t>(interval)});
  }
  if (setup.timings.empty()) {
    setup.timings.emplace_back();
  }
}

// Credits go back beside every link, and turns of allocators have 16 bits.
void check_links(config::Section& section, const machine::Topology& topology,
                 const FlitSettings& settings) {
  const unsigned most =
      0xffff / std::max({settings.vcs, settings.input_speedup, settings.output_speedup}) - 1;
  // Nodes of a grid that follows from arithmetic are alike, and its links lead both ways.
  const std::uint32_t looked_at = topology.has_even_axes() ? 1 : topology.nodes();
  for (std::uint32_t n = 0; n < looked_at; ++n) {
    const EntityId node(n);
    if (topology.ports(node) > most) {
      section.error("model", "'flit' has routers of up to " + std::to_string(most) +
                                 " ports with these settings; " + topology.node_name(node) +
                                 " has more");
      return;
    }
    for (unsigned port = 0; port < topology.ports(node); ++port) {
      const EntityId to = topology.link(node, port).to;
      if (to.valid() && !port_back(topology, node, port)) {
        section.error("model", "'flit' needs links both ways: none leads back from " +
                                   topology.node_name(to) + " to " + topology.node_name(node));
        return;
      }
    }
  }
}

std::unique_ptr<NetworkModel> make_flit(config::Section& section, const machine::Machine& machine) {
  FlitSetup setup;
  setup.settings = read_flit_settings(section);
  setup.routing = read_flit_routing(section, machine, setup.settings.vcs);
  setup.overheads = read_overheads(section);
  check_links(section, *machine.topology, setup.settings);
  set_times(setup, section, *machine.topology);
  return std::make_unique<FlitModel>(std::move(setup));
}

const Registration flit_registration(
    networks(),
    {"flit", "virtual-channel wormhole routers with credits, cycle by cycle", flit_parameters()},
    make_flit);

}  // namespace
}  // namespace tessera::network
