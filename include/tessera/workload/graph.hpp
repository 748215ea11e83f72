// Execution graphs: what each NPU of a machine does, as nodes that depend on each other.
//
// Every NPU has a graph of its own, in which nodes are named by numbers. Graphs can be long, so
// that they are read piece by piece, and a node may depend on one that comes later.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/collective/kind.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/core/sparse_table.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/workload/issue.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::workload {

enum class GraphAction : std::uint8_t {
  nothing,     // only dependencies
  compute,     // `flops` on tensors of `bytes`, or as long as recorded
  load,        // `bytes` from memory
  store,       // `bytes` to memory
  send,        // `bytes` to `peer`
  receive,     // `bytes` from `peer`
  collective,  // of `bytes` in `group`
};

struct TensorPlacement;

// What a node computes beyond its FLOPs and bytes.
struct NodeShape {
  MatrixProduct product;  // none: vector work
  Bytes added;            // of the node's bytes, see Operation::added
  Kernel kernel = Kernel::plain;
  std::optional<DataType> data_type{};    // none: that of all graphs
  std::optional<Bytes> stored_weights{};  // see Operation
  std::uint64_t elements = 0;             // see Operation
  std::uint64_t twice_keys = 0;           // see Operation
  friend bool operator==(const NodeShape&, const NodeShape&) = default;
};

// Whether the bytes of a collective's node are the part of one member; else the vector.
bool counts_parts(collective::Kind kind);

struct GraphNode {
  std::uint64_t id = 0;
  std::optional<std::uint64_t> offset;  // byte of the file it is in, where there is one
  std::string name;
  GraphAction action = GraphAction::nothing;
  bool on_host = false;    // on the processor of the host, not on the device
  bool in_remote = false;  // load, store: memory that is not the NPU's own
  // The same, of the parts of all NPUs, which switches on the way gather (load) or add up and
  // scatter (store); `bytes` are those of the part.
  bool in_switch = false;
  std::vector<std::uint64_t> data_dependencies;
  std::vector<std::uint64_t> control_dependencies;
  std::optional<SimTime> recorded_start;
  std::optional<SimTime> recorded_duration;
  Flops flops;
  std::optional<NodeShape> shape{};  // none: not known
  std::optional<Issue> issue{};      // of one that computes; none: no host is waited for
  // Tensor, message, or vector of a collective: of all-reduce, reduce-scatter, reduce, broadcast
  // and all-to-all what each member holds at first (broadcast: the root); of all-gather, gather and
  // scatter the part of one member (counts_parts).
  Bytes bytes;
  // Of an all-to-all with a size for each pair: bytes to each member. Empty: `bytes` in equal
  // parts.
  std::vector<Bytes> parts;
  std::uint32_t peer = 0;  // NPU
  std::uint32_t tag = 0;
  collective::Kind collective = collective::Kind::all_reduce;
  std::uint32_t root = 0;  // number of the member; of collectives that have one
  std::string group;       // name of a communicator; empty: all NPUs
  // Of a collective without a root whose members go through one ring, or what is in its place; see
  // collective::Channel.
  std::uint32_t channels = 1;
  std::uint32_t priority = 0;
  std::uint32_t iteration = 0;  // of GraphSource::iterations
  // Which dimensions of the machine a collective goes over; empty: as the group says.
  std::vector<bool> dimensions;
};

// Communicators by name: NPUs in the order of members.
using GraphGroups = std::map<std::string, std::vector<std::uint32_t>>;

// A place in the graph of one NPU; 0 is its begin.
struct GraphPosition {
  std::uint64_t nodes = 0;   // read before
  std::uint64_t offset = 0;  // bytes, or what the source counts
  friend bool operator==(const GraphPosition&, const GraphPosition&) = default;
};

// What is in the graphs of all NPUs together.
struct GraphSurvey {
  std::uint64_t nodes = 0;  // of all NPUs
  double flops = 0;
  std::map<DataType, double> flops_of_types;  // of them, where nodes say their types
  std::set<DataType> types;                   // that nodes say
  std::array<std::uint64_t, collective::kinds> collectives{};  // how many, by kind
  std::uint64_t unequal_collectives = 0;                       // of them, with a size for each pair
  // Of them: these, those of some dimensions of the machine, and those of no bytes.
  std::uint64_t special_collectives = 0;
  // Kinds and bytes, as nodes have them, of the others; more than `most_sizes` are not told.
  std::set<std::pair<collective::Kind, std::uint64_t>> collective_sizes;
  static constexpr std::size_t most_sizes = 256;
  bool has_channels = false;  // of collectives, more than one
  std::uint64_t sends = 0;
  std::uint64_t device_work = 0;   // nodes of devices that have work
  std::uint64_t untyped_work = 0;  // of them, without a type of their own
  std::uint64_t recorded = 0;      // nodes of devices that have both work and a recorded time
  std::uint64_t local_accesses = 0;
  std::uint64_t remote_accesses = 0;
  std::uint64_t remote_loads = 0;       // of them
  std::uint64_t gathered_accesses = 0;  // of them, in switches
  std::uint64_t open_receives = 0;      // that do not say how much they receive
  std::uint64_t without_action = 0;     // metadata, and nodes of no type
  std::uint64_t without_work = 0;   // nodes that compute, and have neither work nor a recorded time
  std::uint64_t without_shape = 0;  // nodes that compute by their FLOPs, of no known shape
  // Of a node: how far before it in its graph, at most, the nearest one lies that it depends on;
  // the begin, of nodes that depend on none. So many are read ahead. 0: nobody has looked.
  std::uint64_t reach = 0;
  bool has_vector_work = false;  // nodes of devices compute what is no product, or may
  bool has_fused_attention = false;
  bool is_issued = false;     // nodes say how hosts get to them
  std::vector<bool> at_work;  // [npus] has nodes
  // [npus] bytes of the tensors that its nodes compute on, but those on hosts; or empty: all zero.
  SparseTableOf<Wide> computed_bytes;
  std::set<std::string> names;

  // A collective at so many nodes.
  void add_collective(const GraphNode& node, std::uint64_t nodes);
  // Whether the type of all graphs counts: not where nodes state theirs, all that have work.
  bool takes_usual_type() const { return untyped_work > 0 || types.empty(); }
};

// Gives the graphs of all NPUs. Thread-safe; opens what it needs for the time of a call only.
class GraphSource {
 public:
  virtual ~GraphSource() = default;
  virtual std::uint32_t npus() const = 0;
  // The next nodes from a place on, which moves behind them: `most` (> 0), a little more where some
  // go together, fewer only at the end. Throws ConfigError naming file, node and offset.
  virtual std::vector<GraphNode> read(std::uint32_t npu, GraphPosition& position,
                                      std::size_t most) const = 0;
  // The graph of an NPU, for messages: "w.3.et".
  virtual std::string name_of(std::uint32_t npu) const = 0;
  virtual const GraphGroups& groups() const = 0;
  // How often the work is done in each graph, in which the nodes of all iterations are.
  virtual std::uint32_t iterations() const { return 1; }
  // What a look through the graphs would find, where they are known to be sound.
  virtual std::optional<GraphSurvey> known() const { return std::nullopt; }
  // Where tensors are; null without such.
  virtual const TensorPlacement* tensors() const { return nullptr; }
};

}  // namespace tessera::workload
