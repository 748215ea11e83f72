// Programs in motion: every tile runs its stage's program, one instruction after the other.
//
// A tile executes operators, takes part in collectives, sends to and receives from other stages and
// accesses DRAM; sends, DRAM accesses and background collectives go on beside it. Every instant of
// a tile belongs to exactly one activity, so that the breakdown of a step adds up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/collective/algorithm.hpp"
#include "tessera/core/balance.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/executor/service_windows.hpp"
#include "tessera/executor/time_distribution.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/pdes/component.hpp"
#include "tessera/pdes/outlook.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::executor {

// What a tile spends its time on. Communication counts only while the tile waits for it.
enum class Activity : std::uint8_t {
  compute,   // an operator executes
  tensor,    // waits for a collective of its tensor group
  data,      // waits for a collective over the replicas
  context,   // waits for a collective of its context group
  expert,    // waits for a collective of its expert group
  pipeline,  // waits for a boundary tensor that is already under way
  memory,    // waits for DRAM
  bubble,    // waits for a boundary tensor not yet sent, or has finished; in a graph, for anything
  // Of graphs only:
  host,        // the host computes, and nothing else
  collective,  // collectives, and nothing else but messages
  message,     // waits for messages alone
};
inline constexpr std::size_t activities = 11;
// Those of programs; `bubble` is the last of them.
inline constexpr std::size_t program_activities = 8;
std::string to_string(Activity activity);

// One instruction that took time on one tile.
struct OperatorRecord {
  EntityId tile;
  std::uint16_t name = 0;  // in Plan::names
  plan::Phase phase = plan::Phase::forward;
  Activity activity = Activity::compute;
  std::uint32_t micro_batch = 0;
  SimTime start;
  SimTime end;
};

// One message between tiles, when its receiver took it.
struct MessageRecord {
  EntityId source;
  EntityId target;
  plan::Traffic traffic = plan::Traffic::activation;
  Bytes bytes;
  SimTime sent;
  SimTime arrived;
  SimTime taken;
};

// A chunk of a collective in one dimension of the machine, at one tile.
struct CollectivePhaseRecord {
  static constexpr std::uint8_t no_dimension = 255;  // of members that fill no box

  EntityId tile;
  std::uint16_t name = 0;  // of the node
  collective::Kind kind = collective::Kind::all_reduce;
  std::uint8_t dimension = no_dimension;
  std::uint32_t chunk = 0;
  Bytes bytes;  // of the vector of the phase, in the sense of collective::Algorithm
  SimTime start;
  SimTime end;
};

// A request that was served.
struct RequestRecord {
  std::uint16_t tenant = 0;
  std::uint64_t request = 0;
  std::uint32_t samples = 0;  // of a model that is no language model
  std::uint32_t prompt = 0;   // tokens, as the next
  std::uint32_t generated = 0;
  std::uint32_t again = 0;  // times that it gave its cache back
  SimTime arrival;
  SimTime begun;
  SimTime first;  // token; of other models the end
  SimTime end;
};

// What a tile holds while it makes a pass, when that is most.
struct MemoryRecord {
  EntityId tile;
  plan::Pass pass;
  SimTime end;  // of the pass
  plan::MemoryUse use;
};

// A token that a request was given.
struct TokenRecord {
  std::uint16_t tenant = 0;
  std::uint64_t request = 0;
  SimTime time;
  std::optional<SimTime> since;  // the one before
};

// What a service holds from a time on: a replica where there are several.
struct ServiceLoadRecord {
  std::uint16_t tenant = 0;
  SimTime time;
  std::uint64_t running = 0;  // requests
  std::uint64_t waiting = 0;
  std::uint64_t cache_blocks = 0;
};

// Hears what happens, in each tile's own order.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_operator(const OperatorRecord& record) = 0;
  virtual void on_message(const MessageRecord& record) = 0;
  // Whether it is told of messages of graphs, each of which costs an event then.
  virtual bool hears_messages_of_graphs() const { return false; }
  virtual void on_collective_phase(const CollectivePhaseRecord& /*record*/) {}
  virtual void on_request(const RequestRecord& /*record*/) {}
  virtual void on_token(const TokenRecord& /*record*/) {}
  // When it changes: requests come, and steps begin and end.
  virtual void on_service_load(const ServiceLoadRecord& /*record*/) {}
  // Of the first tile of each stage of programs, at the end of each of its passes.
  virtual void on_memory(const MemoryRecord& /*record*/) {}
};

// What one tile did in all.
struct TileResult {
  EntityId tile;
  std::uint32_t role = 0;
  bool finished = false;
  SimTime end;  // of its last instruction
  // Inference, in the last stage: when the first and the last micro-batch were done.
  SimTime first_output;
  SimTime last_output;
  // Of work that one tile alone knows to be over: when it heard. Else zero, and `end` says it.
  SimTime over;
  std::array<SimTime, activities> time;  // sums to `end` on a tile that has finished
};

// How a tenant's requests fared; all times in picoseconds.
struct Service {
  std::uint64_t served = 0;
  std::uint64_t samples = 0;
  std::uint64_t tokens = 0;
  std::uint64_t again = 0;          // times that a request gave its cache back
  std::uint64_t late_requests = 0;  // whose first token or end came later than wanted, once each
  std::uint64_t late_tokens = 0;    // that came later after the one before than wanted
  std::uint64_t cache_blocks = 0;   // most that were taken
  std::uint64_t met = 0;            // requests that met all targets; see trace::Service
  std::uint64_t npus = 0;           // that serve it
  std::uint64_t replicas = 0;       // of the model
  double price = 0;                 // of these together, an hour; of shared ones its shares
  double off_s = 0;                 // that replicas were off, added up
  double unpaid = 0;                // of the price, for that time [price an hour x s]
  // Of the work that it is in; never: that goes on.
  SimTime begin;
  SimTime end = SimTime::never();
  TimeDistribution first_token;
  TimeDistribution between_tokens;
  TimeDistribution latency;
  ServiceWindows windows;
};

// What an executor needs to tell its outlook; of a run on several ranks, else empty.
struct OutlookSetup {
  const pdes::RegionView* regions = nullptr;
  // See network::Network.
  std::function<pdes::Exit(EntityId from, EntityId to)> exit_of;
  std::function<pdes::Exit(EntityId from, EntityId to, Bytes bytes)> exit_of_message;
  std::function<SimTime(EntityId from, EntityId to, Bytes bytes)> least_time;
  // The node whose memory serves a tile over the network; none: nothing is sent for an access.
  std::function<EntityId(EntityId tile)> memory_node;
  // Of an operation of a plan; of other work empty.
  std::function<SimTime(EntityId tile, std::uint32_t operation)> least_duration{};
  // Of an access of a plan to memory, from the request to its end at the tile; else empty.
  std::function<SimTime(Bytes bytes)> least_access{};
  bool replies_by_access = true;  // see memory::MemoryModel
  // Whether what is executed at a tile accesses its memory; empty: nothing does.
  std::function<bool(EntityId tile)> computing_accesses{};
};

struct ExecutorSetup {
  const machine::Machine& machine;
  const plan::Plan& plan;
  std::span<const EntityId> members;  // outlives the executor
  std::uint32_t iterations = 1;
  unsigned slot = 0;
  unsigned network_slot = 0;
  unsigned memory_slot = 0;
  unsigned compute_slot = 0;
  Observer* observer = nullptr;  // not owned; may be null
  OutlookSetup outlook;
};

// Bytes that memory is asked for.
struct AskedOfMemory {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
};

// Bytes that went out over the network; those of memory are not among them.
struct SentBytes {
  // From one to another: boundary tensors, sends of graphs, caches of served models.
  std::uint64_t messages = 0;
  std::uint64_t collectives = 0;
};

class Executor : public pdes::Component {
 public:
  // Every tile of this rank that plays a role, in storage order.
  virtual void visit_results(const std::function<void(const TileResult&)>& visit) const = 0;
  // Tiles that have not finished.
  virtual std::uint64_t unfinished() const = 0;
  // One line for each unfinished tile, `most` at most: what it waits for, from whom, since when.
  virtual std::vector<std::string> waiting(std::size_t most) const = 0;
  // Of those whose requests are served, in their order, on the rank where requests arrive; else
  // none, or such as have served nothing.
  virtual std::vector<Service> services() const { return {}; }
  // The same of all replicas of a model together, where it has several, by its first tenant.
  virtual std::vector<Service> service_totals() const { return {}; }
  // A message to a port of any component at `target`, with this tag, has come in from another rank,
  // or out of a checkpoint; it does not arrive before `earliest`. Whether it is to be followed.
  virtual bool expect(const network::Progress& /*message*/) { return false; }
  // One that is followed has come further.
  virtual void follow(const network::Progress& /*message*/) {}
  // Instructions done so far on this rank.
  virtual std::uint64_t instructions_done() const = 0;
  // Events that told observers something and did nothing else; not among the events of a run.
  virtual std::uint64_t events_for_observers() const { return 0; }
  // So far on this rank; the same list on every one.
  virtual std::vector<Balance> balances() const { return {}; }
  // So far on this rank; none, on every rank: they are not counted.
  virtual std::optional<SentBytes> sent_bytes() const { return std::nullopt; }
  // Of programs, for the stages whose first tile is on this rank: its role, and when it has held
  // most so far.
  virtual void visit_peaks(
      const std::function<void(std::uint32_t, const plan::MemoryWalk::Peak&)>& /*visit*/) const {}
  // Of the memory component, so far on this rank; none, on every rank: it is not counted.
  virtual std::optional<AskedOfMemory> asked_of_memory() const { return std::nullopt; }
  // Of operands in DRAM (machine::Tile::operands_in_dram), what operators move that are known only
  // as they come; so far on this rank.
  virtual Wide operand_bytes_found() const { return 0; }
  // The executors of several jobs with the names of these; one of a job alone visits itself, with
  // none.
  virtual void visit_jobs(
      const std::function<void(const std::string& job, const Executor& executor)>& visit) const {
    visit("", *this);
  }
};

std::unique_ptr<Executor> make_executor(const ExecutorSetup& setup);

// Bytes of state a tile, for the memory prediction.
std::size_t bytes_per_tile();

}  // namespace tessera::executor
