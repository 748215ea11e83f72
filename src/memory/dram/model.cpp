// Keys of the `dram` memory (dram.cpp) and what it says of itself.
#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dram/accesses.hpp"
#include "dram/dram.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"

namespace tessera::memory {
namespace {

// Stated bandwidths are rounded, and of what is left after refresh.
constexpr double near_peak = 1.25;

class DramModel final : public MemoryModel {
 public:
  explicit DramModel(DramParameters parameters) : parameters_(std::move(parameters)) {}
  std::unique_ptr<Memory> build(const MemorySetup& setup) const override {
    return make_dram_memory(setup, parameters_);
  }
  Account account() const override { return Account::bursts; }
  std::size_t predicted_bytes(const machine::Machine& machine, std::uint64_t nodes) const override {
    std::size_t stack = DramStack(parameters_.spec).resident_bytes();
    if (parameters_.memories) {
      stack = std::max(stack, DramStack(*parameters_.memories).resident_bytes());
    }
    return nodes * (sizeof(OpenAccesses) + sizeof(std::uint32_t)) +
           (parameters_.spread ? 0 : DramMemoryMap::predicted_bytes(machine)) +
           machine.channels.size() * (dram_memory_bytes() + stack);
  }
  bool sends_along_links() const override { return true; }
  // Spread addresses may send any tile to any memory.
  bool promises() const override { return !parameters_.spread; }
  bool replies_by_access() const override { return false; }
  bool serves_at_node() const override { return !parameters_.spread; }
  bool goes_by_channels() const override { return false; }
  void note_keys_of_messages(config::Section& section, const char* with) const override;
  std::optional<Bandwidth> peak_of(const machine::Machine& machine,
                                   std::uint32_t channel) const override {
    return parameters_.spec_of(machine, channel).peak();
  }
  std::vector<std::string> notes(const machine::Machine& machine) const override {
    std::vector<std::string> notes;
    const bool has_effect =
        !parameters_.memories ||
        std::any_of(machine.channels.begin(), machine.channels.end(), [&](const auto& channel) {
          return machine.topology->role(channel.node) == machine::NodeRole::memory;
        });
    if (!has_effect) {
      notes.emplace_back(
          "machine.memory.memories has no effect: no node of kind memory has a channel "
          "(machine.dram.memories)");
    }
    if (parameters_.spread && parameters_.spec.controller.hash_channels &&
        !hashes_over(machine.channels.size())) {
      notes.push_back(
          "machine.memory.hash does not determine which memory holds an address: there are " +
          std::to_string(machine.channels.size()) +
          " memories, which is not a power of two up to 4096, and they take blocks in turn");
    }
    note_bandwidth(machine, notes);
    return notes;
  }

  void predict_events(const machine::Machine& machine, EntityId tile, Bytes bytes, bool write,
                      const EventVisit& events, const MessageVisit& messages) const override {
    const std::uint32_t channel = machine.channel_of[tile.value()];
    const EntityId node = machine.channels[channel].node;
    const DramOrganization& device = parameters_.spec_of(machine, channel).organization;
    const std::uint64_t pieces = bytes.count() / parameters_.transfer.count() + 1;
    const std::uint64_t bursts = bytes.count() / device.burst.count() + 1;
    const Bytes piece(bytes.count() / pieces);
    events(tile, 2);
    events(node, bursts + pieces);
    messages(tile, node, write ? piece : parameters_.request, pieces);
    messages(node, tile, write ? parameters_.request : piece, pieces);
  }

 private:
  // Estimates, layers of stages and operands in DRAM go by what the machine says of its channels.
  void note_bandwidth(const machine::Machine& machine, std::vector<std::string>& notes) const {
    for (std::uint32_t channel = 0; channel < machine.channels.size(); ++channel) {
      const Bandwidth said = machine.channels[channel].bandwidth;
      const Bandwidth peak = parameters_.spec_of(machine, channel).peak();
      const double ratio = static_cast<double>(said.bytes_per_second()) /
                           static_cast<double>(peak.bytes_per_second());
      if (ratio < 1 / near_peak || ratio > near_peak) {
        notes.push_back("machine.dram.bandwidth is " + to_string(said) +
                        ", but the devices there (machine.memory) move " + to_string(peak) +
                        " at best: estimates use the former, accesses the latter");
        return;
      }
    }
  }

  DramParameters parameters_;
};

constexpr Bytes usual_window(65536);

// A piece is of whole bursts; the usual size is that of the largest.
config::Key<Bytes> transfer_key(Bytes burst) {
  return {"transfer", std::max(Bytes(4096), burst),
          "an access is split into messages at multiples of this size",
          config::between(burst, largest_dram_transfer)};
}
config::DerivedKey<Bytes> window_key(Bytes transfer) {
  return {"window", to_string(usual_window) + ", a transfer at least",
          "maximum number of bytes in flight per tile", config::at_least(transfer)};
}
constexpr Bytes usual_request(64);
const config::Key<Bytes> dram_request_key{
    "request", usual_request, "size of a read request or write acknowledgement on the network",
    config::between(Bytes(0), Bytes(1U << 20U))};
const config::Key<SimTime> latency_key{"latency", SimTime::zero(),
                                       "latency of a message between network and controller",
                                       config::at_least(SimTime::zero())};
const config::Key<Bandwidth> port_key{"port", Bandwidth(),
                                      "rate at which a channel accepts bursts, from requesters in "
                                      "turn; 0 B/s: in order of arrival, without delay"};
const config::ChoiceKey<bool> spread_key{
    "spread",
    {{"nearest", false}, {"all", true}},
    "nearest",
    "nearest, or all: addresses are spread over all memories of the machine"};
const config::OtherKey memories_key{"memories", "mapping", "none",
                                    "device at nodes of kind memory, with the keys of a device; "
                                    "none: the same device as at other nodes"};

void DramModel::note_keys_of_messages(config::Section& section, const char* with) const {
  if (parameters_.request != usual_request) {
    config::note_without_effect(section, dram_request_key.key(), with);
  }
}

std::vector<ParameterInfo> parameters_of_model() {
  constexpr Bytes least(1);
  std::vector<ParameterInfo> list{transfer_key(least), window_key(least), dram_request_key,
                                  latency_key,         port_key,          spread_key,
                                  memories_key};
  const std::vector<ParameterInfo> device = dram_parameters();
  list.insert(list.end(), device.begin(), device.end());
  return list;
}

// Who asks for even parts by the key of `channel` hears how they are had here.
void note_even_parts(config::Section& section, const DramParameters& parameters) {
  const std::string key = "arbitration";
  const bool in_turn = parameters.port.bytes_per_second() > 0 &&
                       parameters.spec.controller.scheduler == "bank-queues";
  if (section.has(key) && section.raw(key).text != "first-come" && !in_turn) {
    section.tell(section.path() +
                 ": a device accepts bursts from requesting tiles in turn with port (not 0 B/s) "
                 "and scheduler: bank-queues, instead of arbitration");
  }
}

std::unique_ptr<MemoryModel> make_dram(config::Section& section) {
  DramParameters parameters;
  parameters.spec = read_dram_spec(section);
  Bytes burst = parameters.spec.organization.burst;
  if (section.has(memories_key.key())) {
    config::Section memories = section.section(memories_key.key());
    parameters.memories = read_dram_spec(memories);
    burst = std::max(burst, parameters.memories->organization.burst);
  }
  parameters.transfer = transfer_key(burst).read(section);
  if (!std::has_single_bit(parameters.transfer.count())) {
    section.error("transfer", "must be a power of two");
    parameters.transfer = burst;
  }
  parameters.window =
      window_key(parameters.transfer).read(section, std::max(usual_window, parameters.transfer));
  const std::uint64_t pieces = parameters.window.count() / parameters.transfer.count();
  if (const Bytes held = parameters.transfer * pieces; held != parameters.window) {
    section.tell(section.path() + ".window: a tile has only whole transfers in flight, " +
                 std::to_string(held.count()) + " B at most");
  }
  parameters.request = dram_request_key.read(section);
  parameters.latency = latency_key.read(section);
  parameters.port = port_key.read(section);
  note_even_parts(section, parameters);
  parameters.spread = spread_key.read(section);
  if (parameters.spread && parameters.memories) {
    section.error(memories_key.key(), "devices that addresses are spread over must be alike");
  }
  return std::make_unique<DramModel>(std::move(parameters));
}

const Registration dram_registration(
    memories(),
    {"dram",
     "DRAM with banks, rows, timing and refresh at nodes, shared by "
     "tiles; data crosses the network",
     parameters_of_model()},
    make_dram);

}  // namespace
}  // namespace tessera::memory
