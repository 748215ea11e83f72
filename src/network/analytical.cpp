// The `analytical` network: hops * latency + size / bandwidth, no contention (PALM, equation (2)
// without its contention term; ASTRA-sim 2.0's analytical backend), and an overhead for each
// message (LogGP's o, Alexandrov et al., SPAA'95, as a delay alone).

#include <algorithm>
#include <string>
#include <utility>

#include "tessera/machine/routing.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/network/network.hpp"

namespace tessera::network {
namespace {

// One event a message, from end to end: overhead, latency of every link on the route and the time
// of the whole message at the slowest one. Links are not shared and no account of them is kept. A
// smaller message may overtake a larger one of the same pair.
class AnalyticalNetwork final : public Network {
 public:
  AnalyticalNetwork(const NetworkSetup& setup, const std::string& routing, SimTime overhead)
      : topology_(*setup.machine.topology),
        routing_(machine::make_routing(routing, topology_)),
        overhead_(overhead) {}

  void handle(pdes::Context& context, const pdes::Event& event) override {
    const auto request = event.as<SendRequest>();
    const Arrival arrival{context.self(), 0, request.word};
    ++messages_;
    if (request.target == context.self()) {
      context.send_self(SimTime::zero(), request.deliver, arrival, event.tag);
      return;
    }
    const machine::Path path =
        machine::path_between(topology_, *routing_, context.self(), request.target);
    hops_ += path.hops;
    const SimTime on_links =
        path.latency + serialization_time(Bytes(request.bytes), path.bottleneck);
    context.send(request.target, overhead_ + on_links, request.deliver, arrival, event.tag);
  }

  void visit_links(SimTime, const LinkUseSink&) const override {}
  void report_bins(LinkUseSink) override {}
  void save(std::uint32_t, pdes::StateWriter&) const override {}
  void restore(std::uint32_t, pdes::StateReader&) override {}
  void save_totals(pdes::StateWriter& writer) const override {
    writer.put(hops_);
    writer.put(messages_);
  }
  void add_totals(pdes::StateReader& reader) override {
    hops_ += reader.get<std::uint64_t>();
    messages_ += reader.get<std::uint64_t>();
  }
  std::uint64_t packet_hops() const override { return hops_; }
  std::uint64_t messages() const override { return messages_; }

 private:
  const machine::Topology& topology_;
  std::unique_ptr<machine::Routing> routing_;
  SimTime overhead_;
  std::uint64_t hops_ = 0;
  std::uint64_t messages_ = 0;
};

class AnalyticalModel final : public NetworkModel {
 public:
  AnalyticalModel(std::string routing, const Overheads& overheads)
      : routing_(std::move(routing)), overheads_(overheads) {}
  std::unique_ptr<Network> build(const NetworkSetup& setup) const override {
    return std::make_unique<AnalyticalNetwork>(setup, routing_, overheads_.message);
  }
  std::size_t predicted_bytes(const machine::Machine&, std::uint64_t, bool) const override {
    return 0;
  }
  std::string routing() const override { return routing_; }
  Overheads overheads() const override { return overheads_; }

 private:
  std::string routing_;
  Overheads overheads_;
};

std::unique_ptr<NetworkModel> make(config::Section& section, const machine::Machine& machine) {
  return std::make_unique<AnalyticalModel>(read_routing(section, machine), read_overheads(section));
}

const Registration registration(
    networks(),
    {"analytical",
     "hops * latency + size / bandwidth for each message, no contention",
     {routing_parameter(), message_overhead_parameter(), collective_overhead_parameter()}},
    make);

}  // namespace
}  // namespace tessera::network
