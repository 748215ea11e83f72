// Execution graphs in motion: every NPU runs its own graph of nodes as their dependencies allow.
//
// Nodes that are ready go to lanes, each of which holds so many at a time; of those that wait for a
// lane the one of the highest priority goes first, then the one of the lowest number (of
// collectives, by choice, of the highest); so it is among lanes for what begins at one instant, as
// that may meet on links and in memories. So compute, memory accesses, collectives and messages
// overlap as far as dependencies and lanes let them.
//
// Collectives: the k-th one of a communicator in the file of an NPU is the k-th of all its members.
// A communicator whose members fill a box of the machine's dimensions goes through them one by one
// (collective/stacked/stacked.hpp), any other in one dimension, in the order of its members. Where
// there is a program for its kind and size, that is run instead.
//
// What is sent waits at the receiver until it is taken; messages of one pair and tag are taken in
// the order sent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tessera/collective/library.hpp"
#include "tessera/collective/overhead.hpp"
#include "tessera/collective/program/program.hpp"
#include "tessera/collective/stacked/stacked.hpp"
#include "tessera/collective/turns.hpp"
#include "tessera/compute/messages.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/memory/coherent/coherence.hpp"
#include "tessera/workload/graph.hpp"
#include "tessera/workload/graph_survey.hpp"
#include "tessera/workload/operation.hpp"
#include "tessera/workload/operation_hash.hpp"

namespace tessera::executor {

enum class Lane : std::uint8_t { host, compute, memory, collective, message };
inline constexpr std::size_t lanes = 5;
std::string to_string(Lane lane);

// How long nodes that compute take.
enum class NodeTimes : std::uint8_t {
  model,     // by the compute model; as recorded where the trace gives no work
  recorded,  // as recorded; by the compute model where the trace gives no time
};

// When a send is over.
enum class Sends : std::uint8_t {
  eager,  // at once
  // After the time that its message takes on an idle machine. Until then it holds a place in the
  // lane of collectives (ASTRA-sim 2.0).
  delivered,
};

// Accesses to nodes that are memory and answer at once, in place of memory::Coherence.
struct RemoteAccess {
  // Of a load: a message of 64 B goes there before the data comes. Else nobody is asked: the load
  // takes the time that the data would take on an idle machine, one way, and shares links with
  // nobody (HCSim, equation (2)). No node can send data before a message has told it to.
  bool requests = true;
  // A store is over when a message of 64 B says so. Else (posted) after the time that its data
  // takes to get on its way, on an idle machine.
  bool acknowledged = true;
};

// How a library moves the data of collectives up to some size.
struct CollectiveProtocol {
  Bytes up_to;  // of the vector of a member, in the sense of Algorithm
  SimTime endpoint;
  std::uint32_t data_ppm = collective::StepCosts::whole_ppm;
};

struct GraphOptions {
  NodeTimes times = NodeTimes::model;
  Sends sends = Sends::eager;
  RemoteAccess remote;
  DataType data_type = DataType::fp16;
  // Nodes at a time in each lane; 0: all that are ready. Where NPUs begin collectives or receives
  // in different orders, a limit can make them wait for each other for ever.
  std::array<std::uint32_t, lanes> slots{1, 1, 1, 0, 0};
  // Of collectives of one priority that wait for their lane: the one of the highest number first
  // (LIFO: gradients of the first layers, which the next iteration needs first).
  bool newest_collective_first = false;
  std::uint32_t window = 512;  // nodes of one NPU that are read ahead of their begin
  collective::StackedOptions collectives;
  collective::TurnOptions turns;  // of one collective
  // Of the machine as its NPUs are numbered, the first counting fastest; their product is the
  // number of NPUs.
  std::vector<collective::StackedDimension> dimensions;
  std::vector<std::string> algorithms;            // [dimensions] by name
  std::vector<std::string> all_to_all;            // [dimensions] the same, for all-to-all
  std::vector<collective::StepCosts> step_costs;  // [dimensions]
  // By size, the last for all beyond; empty: as `step_costs` say.
  std::vector<CollectiveProtocol> protocols;
  // Communicators go through one dimension in the order of their members, as if none were a box: so
  // programs of plans have them.
  bool flat_communicators = false;
  // Of communicators that are no box.
  std::string other_algorithm = "ring";
  std::uint32_t algorithm_window = 0;
  // In communicators of as many members as they have, in place of algorithms.
  std::vector<collective::Program> programs;
};

struct GraphGroup {
  std::string name;
  std::vector<std::uint32_t> members;  // NPUs in order
};

// Graphs with what all NPUs know of them. Immutable after `sim` has looked through them.
struct GraphWork {
  std::shared_ptr<const workload::GraphSource> source;
  GraphOptions options;
  DataType usual_type = GraphOptions{}.data_type;  // where `execution` names none
  // Some work states no type, `execution` names none, and rates differ by type.
  bool assumes_type = false;
  std::vector<EntityId> nodes;     // [npus] of the machine
  std::vector<GraphGroup> groups;  // 0: all NPUs
  std::vector<std::string> names;  // of nodes; the last stands for those beyond
  std::unordered_map<std::string, std::uint32_t> group_numbers;
  // Of the first group in messages: those of other graphs on the machine have other numbers.
  std::uint32_t first_group = 0;
  std::unordered_map<std::string, std::uint16_t> name_numbers;
  workload::GraphSurvey survey;
  // What nodes compute by the compute model, each once; of machines with cores that go through it
  // instruction by instruction, else empty. The first of them has another number in the component
  // that computes, where other work computes too.
  std::vector<workload::Operation> operations;
  std::unordered_map<workload::Operation, std::uint32_t, workload::OperationHash> operation_numbers;
  std::uint32_t first_operation = 0;
  // Memory that is not the NPU's own is that of nodes of the machine, over its network: of channels
  // there, or, where there are none, of nodes that answer at once: [npus], or empty.
  bool remote_in_channels = false;
  std::vector<EntityId> remote_of;
  // How nodes that answer are accessed; none: in one message, at once.
  std::optional<memory::Coherence> coherence;
  // They have channels of the machine: memory::CoherentMemory does what is to be done.
  bool coherent_in_channels = false;
  // [npus] whether what local memory has of an access takes the time of its channel; or empty.
  std::vector<bool> hits_in_channels;

  std::uint32_t npus() const { return static_cast<std::uint32_t>(nodes.size()); }
  // Whether nodes other than NPUs and channels take part in accesses.
  bool nodes_answer() const { return coherence || (!remote_of.empty() && !remote_in_channels); }
};

struct GraphSetup {
  const machine::Machine& machine;
  const GraphWork& work;
  std::span<const EntityId> members;  // outlives the executor
  // Of one operation at a node, which may go on `beside` a collective, and of a message on an idle
  // machine.
  std::function<SimTime(EntityId node, const workload::Operation&, bool beside)> compute_time;
  std::function<SimTime(EntityId from, EntityId to, Bytes bytes)> message_time;
  // Of an access to memory that is not the NPU's own.
  std::function<SimTime(Bytes bytes, bool in_switch)> remote_time;
  std::uint32_t iterations = 1;
  collective::Overhead collective;
  bool lumps_rings = false;  // see NetworkModel
  unsigned slot = 0;
  unsigned network_slot = 0;
  unsigned memory_slot = 0;
  Observer* observer = nullptr;  // not owned; may be null
  unsigned coherent_slot = 0;    // of memory::CoherentMemory, where there is one
  OutlookSetup outlook{};
  // Of a node; empty: hosts take no time.
  std::function<compute::HostTimes(EntityId node)> host_times{};
  // How a library runs a collective of a vector of so many bytes among these nodes, by which its
  // algorithm is simulated in place of options.algorithms and other_algorithm: rings in all
  // dimensions, or a tree in the last one. Where switches add up nothing is simulated but a barrier
  // of all members, and the time is the library's. Empty: no library is named.
  std::function<std::optional<collective::LibraryChoice>(
      collective::Kind, const std::vector<EntityId>& nodes, Bytes bytes)>
      library{};
  // Of a machine with cores that go through operations instruction by instruction: whether a node
  // is one, and what an operation takes there at least. Empty: there are none. They take requests
  // of messages.hpp of the compute room.
  std::function<bool(EntityId node)> is_core{};
  std::function<SimTime(EntityId node, const workload::Operation&)> least_time{};
  unsigned compute_slot = 0;
};

// Finds GraphWork::operations. Reads all graphs.
void list_operations(GraphWork& work);

// TileResult::role is the NPU's number.
std::unique_ptr<Executor> make_graph_executor(const GraphSetup& setup);

// Calls visit(from, to) for all pairs of nodes of NPUs of which the first sends the other messages
// other than those of memory, on any rank. Reads all graphs.
void visit_graph_pairs(const GraphSetup& setup,
                       const std::function<void(EntityId from, EntityId to)>& visit);

}  // namespace tessera::executor
