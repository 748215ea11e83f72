// Memories: how long a tile's access to DRAM takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/balance.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/arbitration.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/memory/messages.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/pdes/component.hpp"
#include "tessera/pdes/outlook.hpp"

namespace tessera::memory {

// What one DRAM channel did in a span of time.
struct ChannelUse {
  std::uint32_t channel = 0;
  EntityId node;
  SimTime begin;
  SimTime end;
  Bytes read;
  Bytes written;
  SimTime busy;
  SimTime longest_wait;  // longest time a request waited for the channel
  // Bursts, where rows are modelled: the row was open, the bank was closed, another row was open.
  std::uint64_t row_hits = 0;
  std::uint64_t row_misses = 0;
  std::uint64_t row_conflicts = 0;
};
using ChannelUseSink = std::function<void(const ChannelUse&)>;

// Bytes that accesses ask for.
struct AskedBytes {
  std::uint64_t read = 0;
  std::uint64_t written = 0;

  void add(bool write, std::uint64_t bytes) { (write ? written : read) += bytes; }
};

struct MemorySetup {
  const machine::Machine& machine;
  std::span<const EntityId> members;
  unsigned slot = 0;          // of this component
  unsigned network_slot = 0;  // of the network that carries the data
  // Of a run on several ranks, see network::Network::exit_of; else null and empty.
  const pdes::RegionView* regions = nullptr;
  std::function<pdes::Exit(EntityId from, EntityId to)> exit_of;
  std::span<const std::uint32_t> tenants = {};  // as of machine::Sharers
};

// A memory in motion: takes AccessRequest events, raises the event asked for.
class Memory : public pdes::Component {
 public:
  virtual void visit_channels(SimTime end, const ChannelUseSink& sink) const = 0;
  virtual void report_bins(ChannelUseSink sink) = 0;
  // So far on this rank; the same list on every one.
  virtual std::vector<Balance> balances() const { return {}; }
  // Of all accesses, as they were asked for on this rank so far; none, on every rank: they are not
  // counted.
  virtual std::optional<AskedBytes> asked() const { return std::nullopt; }
  // A message to this component has come in from another rank, or out of a checkpoint.
  virtual void expect(const network::Progress& /*message*/) {}
  // From now on calls `incoming` for each reply to a tile here that has come in from another rank,
  // or out of a checkpoint, with the time at which it is at the tile; and `booked` for each access,
  // of any tile, that a channel here will have served at `at`.
  using ReplySink = std::function<void(EntityId tile, std::uint16_t tag, SimTime at)>;
  virtual void report_replies(ReplySink /*incoming*/, ReplySink /*booked*/) {}
};

class MemoryModel {
 public:
  virtual ~MemoryModel() = default;
  virtual std::unique_ptr<Memory> build(const MemorySetup& setup) const = 0;
  virtual std::size_t predicted_bytes(const machine::Machine& machine,
                                      std::uint64_t nodes) const = 0;
  // As of a network; true also where it sends to no other entity but through the network.
  virtual bool sends_along_links() const { return false; }
  // As of a network.
  virtual bool promises() const { return false; }
  // Whether messages to a tile carry the tag of the access that they are about.
  virtual bool replies_by_access() const { return true; }
  // Of an access that this channel serves, from the request to its end at the tile, at least.
  virtual SimTime least_time(const machine::MemoryChannel&, Bytes) const { return SimTime::zero(); }
  // Whether an access has a time of its own where nothing else is under way.
  virtual bool has_idle_time() const { return false; }
  // That time, from the request to the end of all of it at the tile.
  virtual SimTime idle_time(const machine::Machine&, const IdleAccess&, const IdleSend&) const {
    return SimTime::zero();
  }
  // What a channel moves at best, of reads and writes together; none: no bound is known, as where
  // each access has the channel for itself.
  virtual std::optional<Bandwidth> peak_of(const machine::Machine&,
                                           std::uint32_t /*channel*/) const {
    return std::nullopt;
  }
  // What Memory::visit_channels tells of bytes.
  enum class Account : std::uint8_t {
    none,
    exact,
    // Whole ones, so that more may be read than was asked for; or less, where queues answer: reads
    // of what waits to be written or read, and writes over what waits to be written. What was asked
    // for, and how many queues answered, is in Memory::asked and Memory::balances.
    bursts,
  };
  virtual Account account() const { return Account::exact; }
  // Of accesses that wait for the same channel.
  virtual machine::Arbitration arbitration() const { return machine::Arbitration::first_come; }
  // Whether the channel at a node serves what that node asks for, rather than that and others.
  virtual bool serves_at_node() const { return true; }
  // Whether accesses of several tiles share what a channel moves.
  virtual bool shares_channels() const { return true; }
  // Whether accesses go by the rates that the machine states of its channels (machine.dram).
  virtual bool goes_by_channels() const { return true; }
  // Whether no key of machine.memory is other than by default.
  virtual bool is_usual() const { return false; }
  // Notes keys of its `section` about what crosses the network, where nothing does; `with` says
  // why.
  virtual void note_keys_of_messages(config::Section& /*section*/, const char* /*with*/) const {}
  // What it leaves out on this machine; for users.
  virtual std::vector<std::string> notes(const machine::Machine&) const { return {}; }
  using EventVisit = std::function<void(EntityId node, std::uint64_t events)>;
  using MessageVisit =
      std::function<void(EntityId from, EntityId to, Bytes bytes, std::uint64_t count)>;
  // Events that one access of `tile` will raise, to weigh nodes before a run: those of the memory
  // itself, the request and the end among them, and the messages it sends. Here: all at the tile.
  virtual void predict_events(const machine::Machine&, EntityId tile, Bytes, bool,
                              const EventVisit& events, const MessageVisit&) const {
    events(tile, 2);
  }
};

// Memories by name. A maker reads the `memory` section (all keys but `model`).
using MemoryMaker = std::function<std::unique_ptr<MemoryModel>(config::Section&)>;
Registry<MemoryMaker>& memories();

std::unique_ptr<MemoryModel> read_memory(config::Section section);

}  // namespace tessera::memory
