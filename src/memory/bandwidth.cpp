// The `bandwidth` memory: latency + size / bandwidth of the tile's channel, nothing shared (PALM,
// equation (4)). A channel that is asked in parts for others has its bandwidth for each of them, of
// whom one part comes after the other.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/memory/messages.hpp"

namespace tessera::memory {
namespace {

// Every tile has its channel's full bandwidth for each access; the way there costs nothing.
class BandwidthMemory final : public Memory {
 public:
  explicit BandwidthMemory(const MemorySetup& setup) : machine_(setup.machine) {}

  void handle(pdes::Context& context, const pdes::Event& event) override {
    const auto request = event.as<AccessRequest>();
    const machine::MemoryChannel& channel =
        machine_.channels[machine_.channel_of[context.self().value()]];
    SimTime moved = context.now() + serialization_time(Bytes(request.bytes), channel.bandwidth);
    if (request.of.valid()) {
      SimTime& free_at = free_at_[context.index()][request.of.value()];
      moved += std::max(free_at, context.now()) - context.now();
      free_at = moved;
    }
    context.send_self(moved + channel.latency - context.now(), request.done, std::uint32_t{0},
                      event.tag);
  }

  const char* name() const override { return "memory bandwidth"; }
  // It sends to nobody; who waits for it knows what comes then.
  std::optional<pdes::Outlook> outlook(std::uint32_t, const pdes::Moment&) override {
    return pdes::Outlook{};
  }
  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    std::vector<FreeAt> all;
    if (const auto here = free_at_.find(index); here != free_at_.end()) {
      for (const auto& [entity, time] : here->second) {
        all.push_back({entity, time.ps()});
      }
    }
    writer.put_all(all);
  }
  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    for (const FreeAt& one : reader.get_all<FreeAt>()) {
      free_at_[index][static_cast<std::uint32_t>(one.entity)] = SimTime::from_ps(one.ps);
    }
  }
  void visit_channels(SimTime, const ChannelUseSink&) const override {}
  void report_bins(ChannelUseSink) override {}

 private:
  struct FreeAt {
    std::uint64_t entity = 0;
    std::int64_t ps = 0;
  };

  const machine::Machine& machine_;
  // By index of a channel's node and the entity that it was asked for.
  std::map<std::uint32_t, std::map<std::uint32_t, SimTime>> free_at_;
};

class BandwidthModel final : public MemoryModel {
 public:
  std::unique_ptr<Memory> build(const MemorySetup& setup) const override {
    return std::make_unique<BandwidthMemory>(setup);
  }
  std::size_t predicted_bytes(const machine::Machine&, std::uint64_t) const override { return 0; }
  bool sends_along_links() const override { return true; }
  bool promises() const override { return true; }
  SimTime least_time(const machine::MemoryChannel& channel, Bytes bytes) const override {
    return serialization_time(bytes, channel.bandwidth) + channel.latency;
  }
  bool has_idle_time() const override { return true; }
  SimTime idle_time(const machine::Machine& machine, const IdleAccess& access,
                    const IdleSend&) const override {
    const machine::MemoryChannel& channel =
        machine.channels[machine.channel_of[access.tile.value()]];
    return least_time(channel, std::max(access.read, access.written));
  }
  Account account() const override { return Account::none; }
  bool shares_channels() const override { return false; }
  std::vector<std::string> notes(const machine::Machine& machine) const override {
    if (machine.channels.empty()) {
      return {};
    }
    return {
        "every access to memory has the whole bandwidth of its channel, whatever else is under way "
        "there (machine.memory.model)"};
  }
};

const Registration bandwidth_registration(
    memories(), {"bandwidth", "latency + size / bandwidth for each access, nothing shared", {}},
    [](config::Section&) -> std::unique_ptr<MemoryModel> {
      return std::make_unique<BandwidthModel>();
    });

}  // namespace
}  // namespace tessera::memory
