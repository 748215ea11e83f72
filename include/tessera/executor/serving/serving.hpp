// Requests to models of several tenants, served by the NPUs of a machine.
//
// An NPU is a tile whose compute model gives times of operations (a GPU, say), or a number of cores
// of the model `npu`. What follows is of cores; on tiles a step is told whole, by six messages to
// each NPU, which goes through it by itself (serving/tile_model.hpp) and tells when it is over.
//
// With whole steps tiles are told nothing until the end: the host adds up what a step takes
// (src/executor/serving/whole_steps.hpp) and waits that long; at last it tells each tile by three
// messages how its time was spent.
//
// An NPU of cores is a number of cores that share the operators of a step. The first core of the
// machine is where requests arrive: it puts them together to batches (serving/batcher.hpp), takes
// each batch through its model part by part, and lets a policy say which part begins on which cores
// (serving/policy.hpp). Cores are told by two messages over the machine's network and tell by one
// when their share is over; tokens cost nothing to hand out.
//
// An all-reduce between NPUs runs core by core, each with its like of the other NPUs and an even
// part of the data; handing on is one message for each pair of cores. Data goes from core to core:
// reading it from memory and writing it there is part of the operators before and behind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/collective/algorithm.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/memory/messages.hpp"
#include "tessera/npu/core/core.hpp"
#include "tessera/serving/batcher.hpp"
#include "tessera/serving/policy.hpp"
#include "tessera/serving/request.hpp"
#include "tessera/serving/served_model.hpp"

namespace tessera::executor {

// Times that a tenant wants kept; never: it does not matter.
struct Targets {
  SimTime first_token = SimTime::never();
  SimTime between_tokens = SimTime::never();
  SimTime latency = SimTime::never();  // of requests, from arrival to end
  bool any() const {
    return !first_token.is_never() || !between_tokens.is_never() || !latency.is_never();
  }
};

// How requests are shared out to replicas of a model.
enum class Router : std::uint8_t {
  round_robin,  // one after the other
  least_work,   // to that whose unfinished requests have the fewest tokens of prompts
  prefix,       // the same with its own prompt, but for what others that were sent there begin with
};

// A class of a tenant's requests, with targets of its own.
struct ServedClass {
  std::string name;
  Targets targets;
};

// Replicas that come and go: serving/replica_scaling.hpp.
struct Scaling {
  std::uint32_t least = 1;     // replicas that are on in any case
  std::uint32_t requests = 1;  // for each
  SimTime start_up;
  SimTime idle;  // in which fewer are enough, before some are stopped
};

// The memory behind the caches of a model.
struct ServedTier {
  Bytes capacity;  // of each NPU
};

// One model on NPUs of its own; of a model with replicas each of them.
struct ServiceSettings {
  std::string name;
  // Of replicas: the number of the first one, by which requests come, and how many there are.
  std::uint32_t lead = 0;
  std::uint32_t replicas = 1;
  Router router = Router::round_robin;
  // Of the replicas, the first ones, which compute prompts and first tokens alone; the others get
  // keys and values over the network, and give the other tokens. 0: all do both.
  std::uint32_t prefill = 0;
  bool by_layers = false;          // they hand over each layer once it is computed
  bool experts_spread = false;     // over the units of the model
  std::optional<Scaling> scaling;  // none: all are on all the time
  // Replicas that `scaling` is of, the last ones.
  std::uint32_t scaled() const { return replicas - prefill; }
  std::optional<Scaling> prompt_scaling;  // of those that compute prompts alone
  // Replicas that are on from the beginning.
  std::uint32_t on_at_first() const {
    return (prompt_scaling ? prompt_scaling->least : prefill) +
           (scaling ? scaling->least : scaled());
  }
  std::uint64_t drawn_from = 0;  // seed of the requests, where they are drawn
  double price = 0;              // of an NPU, an hour
  std::size_t section = 0;       // that it was read from
  bool of_language = false;
  bool background = false;                                 // asks as long as others are not served
  std::shared_ptr<const serving::ServedModel> model;       // of all replicas
  std::shared_ptr<const serving::RequestSource> requests;  // the same
  serving::BatchOptions batching;
  std::uint32_t adapters = 0;
  std::uint32_t adapter_rank = 0;  // 0: there are no adapters
  std::optional<Bytes> cache;      // of each NPU, as asked for; none: what memory has left
  std::optional<ServedTier> tier;
  // Behind the NPUs, of what goes to tiers and adapters: [units] nodes that are memories; empty:
  // the remote memory of the machine, or that of the hosts.
  std::vector<EntityId> behind;
  std::vector<std::uint32_t> npus;  // [units of the model]
  Targets targets;
  std::vector<ServedClass> classes;      // of requests; none: they are all alike
  SimTime host;                          // from putting a step together to its beginning
  SimTime draft;                         // to propose a token, before steps that give some
  std::optional<DataType> data_type;     // that it computes in; none: several
  std::optional<DataType> product_type;  // of products with weights, where it is another
  // On tiles with operands in SRAM: what SRAM does not hold comes from memory while operators work.
  bool streams_weights = false;
  bool streams_cache = false;
  bool streams() const { return streams_weights || streams_cache; }

  // `of_class`: as serving::Request says.
  const Targets& targets_of(std::uint32_t of_class) const {
    return of_class == 0 ? targets : classes[of_class - 1].targets;
  }
};

// Tenants that are told apart, each replica counted: where steps are walked, whose operators
// serving::OperatorName names; where blocks of caches or adapters come and go; elsewhere.
inline constexpr std::size_t most_walked_tenants = 1U << serving::OperatorName::tenant_bits;
inline constexpr std::size_t most_moving_tenants = 512;
inline constexpr std::size_t most_tenants = 4096;

struct ServingWork {
  bool on_tiles = false;  // NPUs are tiles, or take their times as tiles do
  // NPUs of cores that share each operator of whole steps, and load operands by themselves.
  bool of_cores = false;
  // On tiles: a step is one event, and takes as long as operators and exchanges do where nothing is
  // shared. No unit has two tenants then, and steps of several stages go one behind the other.
  bool whole_steps = false;
  npu::CoreConfig core;  // that the models refer to, of NPUs of cores
  std::vector<std::vector<EntityId>> npus;
  std::size_t idle_npus = 0;  // that no model runs on, those left out of `npus` too
  std::vector<ServiceSettings> tenants;
  serving::PolicyFactory policy;
  std::shared_ptr<const collective::Algorithm> all_reduce;
  std::shared_ptr<const collective::Algorithm> all_to_all;
  Bytes message = Bytes(32);              // two begin a share, one ends it
  std::vector<std::string> names;         // of operators, by name number
  std::vector<std::uint32_t> first_name;  // [tenants]
  std::uint64_t first_address = 0;        // of operands in memory, which others may share

  // Of replicas, whether one computes prompts alone.
  bool prefills(std::uint32_t tenant) const {
    return tenant < tenants[tenant].lead + tenants[tenant].prefill;
  }
  bool hands_over_layers() const {
    return std::any_of(tenants.begin(), tenants.end(),
                       [](const ServiceSettings& one) { return one.by_layers; });
  }
  EntityId host() const { return npus.front().front(); }
  std::uint32_t cores() const { return static_cast<std::uint32_t>(npus.front().size()); }
  std::uint64_t requests() const;  // of tenants that are not in the background
  std::uint16_t name_of(const serving::OperatorName& name) const;
  // Of one that is a collective.
  const collective::Algorithm& algorithm_of(const serving::Exchange& exchange) const;
};

// Memory from the first operand to the end of the last, of all tenants.
std::uint64_t bytes_of_operands(const ServingWork& work);

// Operators of all tenants, by serving::OperatorName. One for a rank: it keeps what it has made.
std::shared_ptr<npu::OperatorSource> make_operator_source(const ServingWork& work);

// A message on a network where nobody else sends.
struct IdleMessage {
  SimTime time;       // from its sending to its arrival; none from a node to itself
  unsigned port = 0;  // of the sender, by which it leaves
  SimTime occupies;   // others wait for so long that leave by this port behind it
  // By which it comes in: where that link begins, and how long others that come by it wait behind.
  EntityId last_node = EntityId::none();
  unsigned last_port = 0;
  SimTime fills;
};

struct ServingSetup {
  const machine::Machine& machine;
  const ServingWork& work;
  std::shared_ptr<const npu::OperatorSource> operators;
  std::span<const EntityId> members;  // outlives the executor
  unsigned slot = 0;
  unsigned network_slot = 0;
  unsigned compute_slot = 0;
  Observer* observer = nullptr;  // not owned; may be null
  // On tiles: of a tenant's operator on an idle tile of full speed, and where accesses go.
  std::function<SimTime(std::uint32_t tenant, const machine::Tile&, const serving::TileOperation&)>
      time_of{};
  unsigned memory_slot = 0;
  // Of whole steps.
  std::function<IdleMessage(EntityId from, EntityId to, Bytes bytes)> idle_message{};
  std::function<unsigned(EntityId from, EntityId to)> port_towards{};  // of two nodes
  // Of accesses to DRAM, and whether those of several tiles share what a channel moves.
  std::function<SimTime(const memory::IdleAccess& access, const memory::IdleSend& send)>
      idle_access{};
  bool shares_channels = false;
  // Of an access to the remote memory of the machine, or to that of the hosts, by all units of a
  // model.
  std::function<SimTime(Bytes bytes)> remote_time{};
  bool copies_to_hosts = false;  // it is that of the hosts
  // Of work that promises, on several ranks; else empty.
  OutlookSetup outlook{};
  // Of the executor's own parts: told of each message that goes out, where it has an outlook.
  std::function<void(EntityId from, EntityId to, Bytes bytes, unsigned kind, std::uint16_t tag,
                     std::uint64_t word, SimTime now)>
      on_sent{};
  // Likewise: what went over the network, but for what host and units tell each other.
  SentBytes* sent = nullptr;
};

// Whether its executor tells when it will next send into another region (pdes::Outlook): language
// models on tiles without a memory behind caches and without adapters, whose operands do not stream
// from memory.
bool serving_promises(const ServingWork& work);

// Which nodes exchange messages; of work that promises.
void visit_serving_pairs(const ServingWork& work,
                         const std::function<void(EntityId from, EntityId to)>& visit);

// TileResult::role is the core's NPU.
std::unique_ptr<Executor> make_serving_executor(const ServingSetup& setup);

}  // namespace tessera::executor
