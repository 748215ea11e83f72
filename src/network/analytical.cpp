// The `analytical` network: hops * latency + size / bandwidth, no contention (PALM, equation (2)
// without its contention term; ASTRA-sim 2.0's analytical backend), and an overhead for each
// message (LogGP's o, Alexandrov et al., SPAA'95, as a delay alone).

#include <algorithm>
#include <string>
#include <utility>

#include "counted_network.hpp"
#include "tessera/machine/routing.hpp"
#include "tessera/network/messages.hpp"

namespace tessera::network {
namespace {

// One event a message, from end to end: overhead, latency of every link on the route and the time
// of the whole message at the slowest one. Links are not shared and no account of them is kept. A
// smaller message may overtake a larger one of the same pair.
class AnalyticalNetwork final : public CountedNetwork {
 public:
  AnalyticalNetwork(const NetworkSetup& setup, const NetworkModel& model)
      : topology_(*setup.machine.topology),
        routing_(machine::make_routing(model.routing(), topology_)),
        model_(model) {}

  void handle(pdes::Context& context, const pdes::Event& event) override {
    const auto request = event.as<SendRequest>();
    const Arrival arrival{context.self(), 0, request.word};
    ++messages_;
    if (request.target == context.self()) {
      context.send_self(SimTime::zero(), request.deliver, arrival, event.tag);
      return;
    }
    machine::Path path =
        machine::path_between(topology_, *routing_, context.self(), request.target);
    path.bottleneck = std::min(path.bottleneck, request.limit.rate().value_or(path.bottleneck));
    hops_ += path.hops;
    context.send(request.target, model_.idle_time(path, Bytes(request.bytes)), request.deliver,
                 arrival, event.tag);
  }

  void visit_links(SimTime, const LinkUseSink&) const override {}
  void report_bins(LinkUseSink) override {}
  void save(std::uint32_t, pdes::StateWriter&) const override {}
  void restore(std::uint32_t, pdes::StateReader&) override {}

 private:
  const machine::Topology& topology_;
  std::unique_ptr<machine::Routing> routing_;
  const NetworkModel& model_;  // outlives all networks made from it
};

class AnalyticalModel final : public NetworkModel {
 public:
  AnalyticalModel(std::string routing, const Overheads& overheads, SimTime tick)
      : routing_(std::move(routing)), overheads_(overheads), tick_(tick) {}
  std::unique_ptr<Network> build(const NetworkSetup& setup) const override {
    return std::make_unique<AnalyticalNetwork>(setup, *this);
  }
  std::size_t predicted_bytes(const machine::Machine&, std::uint64_t, bool) const override {
    return 0;
  }
  std::string routing() const override { return routing_; }
  Overheads overheads() const override { return overheads_; }
  bool limits_rates() const override { return true; }
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
};

std::unique_ptr<NetworkModel> make(config::Section& section, const machine::Machine& machine) {
  std::string routing = read_routing(section, machine);
  const Overheads overheads = read_overheads(section);
  constexpr SimTime least = SimTime::from_ps(1);
  return std::make_unique<AnalyticalModel>(
      std::move(routing), overheads,
      section.get_or<SimTime>("message_tick", least, config::at_least(least)));
}

const Registration registration(
    networks(),
    {"analytical",
     "hops * latency + size / bandwidth for each message, no contention",
     {routing_parameter(),
      message_overhead_parameter(),
      collective_overhead_parameter(),
      {"message_tick", "ps", "1 ps",
       "times of messages on links are cut to a multiple of it (1 ns: as ASTRA-sim 2.0)"}}},
    make);

}  // namespace
}  // namespace tessera::network
