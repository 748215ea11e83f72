// Keys of the `channel` memory (channel.cpp) and what it says of itself.
#include <algorithm>
#include <optional>

#include "channel/channel.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"

namespace tessera::memory {
namespace {

class ChannelModel final : public MemoryModel {
 public:
  explicit ChannelModel(const ChannelParameters& parameters) : parameters_(parameters) {}
  std::unique_ptr<Memory> build(const MemorySetup& setup) const override {
    return make_channel_memory(setup, parameters_);
  }
  std::size_t predicted_bytes(const machine::Machine& machine, std::uint64_t nodes) const override {
    return nodes * sizeof(std::uint32_t) + machine.topology->nodes() * sizeof(std::uint32_t) +
           machine.channels.size() * channel_bytes();
  }
  bool is_usual() const override { return parameters_ == ChannelParameters{}; }
  void note_keys_of_messages(config::Section& section, const char* with) const override;
  bool sends_along_links() const override { return true; }
  // Who is served when is known no more at its coming where others may go before it.
  bool promises() const override { return !parameters_.is_fair(); }
  machine::Arbitration arbitration() const override { return parameters_.arbitration; }
  std::optional<Bandwidth> peak_of(const machine::Machine& machine,
                                   std::uint32_t channel) const override {
    return machine.channels[channel].bandwidth;
  }
  SimTime least_time(const machine::MemoryChannel& channel, Bytes bytes) const override {
    return serialization_time(bytes, channel.bandwidth) + channel.latency;
  }

  bool has_idle_time() const override { return true; }
  SimTime idle_time(const machine::Machine& machine, const IdleAccess& access,
                    const IdleSend& send) const override;

  void predict_events(const machine::Machine& machine, EntityId tile, Bytes bytes, bool write,
                      const EventVisit& events, const MessageVisit& messages) const override {
    const EntityId channel = machine.channels[machine.channel_of[tile.value()]].node;
    const std::uint64_t bursts = parameters_.bursts_of(bytes.count());
    const Bytes burst(bytes.count() / bursts);
    events(tile, 2);
    events(channel, write ? 1 : bursts);  // ready
    events(channel, parameters_.is_fair() ? bursts : 0);
    messages(tile, channel, write ? burst : parameters_.request, write ? bursts : 1);
    messages(channel, tile, write ? parameters_.request : burst, write ? 1 : bursts);
  }

 private:
  ChannelParameters parameters_;
};

// As channel.cpp goes about it: all bursts to read are booked as the request comes, before those to
// write, which follow it.
SimTime ChannelModel::idle_time(const machine::Machine& machine, const IdleAccess& access,
                                const IdleSend& send) const {
  const machine::MemoryChannel& channel = machine.channels[machine.channel_of[access.tile.value()]];
  SimTime free;
  SimTime end;
  const auto visit_bursts = [&](Bytes bytes, const auto& visit) {
    const std::uint64_t count = bytes > Bytes() ? parameters_.bursts_of(bytes.count()) : 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      visit(Bytes(ChannelParameters::burst_bytes(bytes.count(), count, i)));
    }
  };
  const auto serve = [&](Bytes burst, SimTime come) {
    const SimTime alone = serialization_time(burst, channel.bandwidth);
    free = std::max(free, come) + alone * static_cast<std::int64_t>(access.sharers);
  };
  if (access.read > Bytes()) {
    free = send(access.tile, channel.node, parameters_.request, SimTime::zero());
  }
  visit_bursts(access.read, [&](Bytes burst) {
    serve(burst, free);
    end = send(channel.node, access.tile, burst, free + channel.latency);
  });
  visit_bursts(access.written, [&](Bytes burst) {
    serve(burst, send(access.tile, channel.node, burst, SimTime::zero()));
  });
  if (access.written > Bytes()) {
    const SimTime told =
        send(channel.node, access.tile, parameters_.request, free + channel.latency);
    end = std::max(end, told);
  }
  return end;
}

const config::Key<Bytes> burst_key{"burst", ChannelParameters{}.burst,
                                   "an access is served and transferred in bursts of this size",
                                   config::at_least(Bytes(1))};
const config::Key<std::uint64_t> max_bursts_key{
    "max_bursts", ChannelParameters{}.max_bursts,
    "maximum number of bursts per access; larger accesses use larger bursts",
    config::between<std::uint64_t>(1, 1'000'000)};
const config::Key<Bytes> channel_request_key{
    "request", ChannelParameters{}.request,
    "size of a read request or write acknowledgement on the network",
    config::between(Bytes(0), Bytes(1U << 20U))};

void ChannelModel::note_keys_of_messages(config::Section& section, const char* with) const {
  if (parameters_.request != ChannelParameters{}.request) {
    config::note_without_effect(section, channel_request_key.key(), with);
  }
}

const config::ChoiceKey<machine::Arbitration> arbitration_key{
    "arbitration", machine::arbitration_choices(), "first-come",
    "order of the bursts that wait for a channel; fair: equal shares of its bytes for the "
    "requesting tiles; fair-tenants: equal shares for their tenants"};

const Registration channel_registration(
    memories(),
    {"channel",
     "DRAM channels at nodes, shared by the tiles around them; data "
     "crosses the network",
     {burst_key, max_bursts_key, channel_request_key, arbitration_key}},
    [](config::Section& section) -> std::unique_ptr<MemoryModel> {
      ChannelParameters parameters;
      parameters.burst = burst_key.read(section);
      parameters.max_bursts = max_bursts_key.read(section);
      parameters.request = channel_request_key.read(section);
      parameters.arbitration = arbitration_key.read(section);
      return std::make_unique<ChannelModel>(parameters);
    });

}  // namespace
}  // namespace tessera::memory
