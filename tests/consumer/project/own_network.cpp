// A network of one's own, in one file: `network: {model: courier, time: T}`. A message of any size
// takes T from any node to any other, and disturbs none.
#include <memory>
#include <optional>
#include <string>

#include "tessera/network/network.hpp"

namespace {

using namespace tessera;
using namespace tessera::network;

class Courier final : public Network {
 public:
  explicit Courier(SimTime time) : time_(time) {}

  void handle(pdes::Context& context, const pdes::Event& event) override {
    const auto request = event.as<SendRequest>();
    carried_.take(request.bytes);
    carried_.deliver(request.bytes);  // the arrival is raised here
    const Arrival arrival{context.self(), 0, request.word};
    if (request.target == context.self()) {
      context.send_self(SimTime::zero(), request.deliver, arrival, event.tag);
    } else {
      context.send(request.target, time_, request.deliver, arrival, event.tag);
    }
  }
  void visit_links(SimTime, const LinkUseSink&) const override {}
  void report_bins(LinkUseSink) override {}
  std::uint64_t packet_hops() const override { return 0; }
  Carried carried() const override { return carried_; }
  const char* name() const override { return "network courier"; }

 private:
  SimTime time_;
  Carried carried_;
};

class CourierModel final : public NetworkModel {
 public:
  CourierModel(std::string routing, SimTime time) : routing_(std::move(routing)), time_(time) {}
  std::unique_ptr<Network> build(const NetworkSetup&) const override {
    return std::make_unique<Courier>(time_);
  }
  std::size_t predicted_bytes(const machine::Machine&, std::uint64_t, bool) const override {
    return 0;
  }
  std::optional<SimTime> reach(const machine::Machine&) const override { return time_; }
  std::string routing() const override { return routing_; }
  SimTime idle_time(const machine::Path&, Bytes) const override { return time_; }

 private:
  std::string routing_;
  SimTime time_;
};

const Registration registration(
    networks(),
    {"courier", "every message takes the same time", {{"time", "ps", "", "of a message, > 0"}}},
    [](config::Section& section, const machine::Machine& machine) {
      const SimTime least = SimTime::from_ps(1);
      const auto time = section.get<SimTime>("time", config::at_least(least));
      return std::make_unique<CourierModel>(machine.topology->default_routing(),
                                            std::max(time, least));
    });

}  // namespace
