// A rank's part of the `flow` network: see flow.cpp for the method.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "flow/flow_outlook.hpp"
#include "flow/hub.hpp"
#include "flow/parts.hpp"
#include "flow/shared.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/network/network.hpp"

namespace tessera::network {

class FlowNetwork final : public Network {
 public:
  // `ahead`: how long before the links hubs work.
  FlowNetwork(const NetworkSetup& setup, const FlowOptions& options, SimTime ahead);

  const char* name() const override { return "network flow"; }

  // Before anything else is asked for: the parts of the machine.
  void learn_routes(const PairVisit& pairs) override;

  std::optional<pdes::Outlook> outlook(std::uint32_t rank, const pdes::Moment& moment) override {
    return outlook_ ? std::optional(outlook_->outlook(rank, moment)) : std::nullopt;
  }
  pdes::Exit exit_of(EntityId from, EntityId to) override {
    return exit_of_message(from, to, Bytes());
  }
  pdes::Exit exit_of_message(EntityId from, EntityId to, Bytes bytes) override;
  SimTime least_time(EntityId from, EntityId to, Bytes bytes) override;
  void report_progress(IncomingSink incoming, ProgressSink progress) override {
    shared_.incoming = std::move(incoming);
    shared_.progress = std::move(progress);
  }
  void take_in(pdes::Event& event) override;

  void handle(pdes::Context& context, const pdes::Event& event) override;
  void visit_links(SimTime end, const LinkUseSink& sink) const override;
  void report_bins(LinkUseSink) override {}
  void save(std::uint32_t index, pdes::StateWriter& writer) const override;
  void restore(std::uint32_t index, pdes::StateReader& reader) override;
  void save_totals(pdes::StateWriter& writer) const override {
    writer.put(shared_.hops);
    writer.put(shared_.carried);
  }
  void add_totals(pdes::StateReader& reader) override {
    shared_.hops += reader.get<std::uint64_t>();
    shared_.carried += reader.get<Carried>();
  }
  std::uint64_t packet_hops() const override { return shared_.hops; }
  Carried carried() const override { return shared_.carried; }

 private:
  void inject(pdes::Context& context, const SendRequest& request, std::uint16_t tag,
              std::uint8_t flags);
  void announce(pdes::Context& context, const RingPart& part) const;
  FlowHub& hub_at(std::uint32_t index);

  const machine::Topology& topology_;
  std::span<const EntityId> members_;
  std::unique_ptr<machine::Routing> routing_;
  FlowParts parts_;
  FlowShared shared_;
  std::optional<FlowOutlook> outlook_;          // where ranks promise
  double largest_ = 0;                          // capacity of the machine [B/ps], once it is needed
  std::vector<std::unique_ptr<FlowHub>> hubs_;  // [members] null: it is none, or has had no message
};

}  // namespace tessera::network
