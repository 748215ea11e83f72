// A workload as a directed graph that may have cycles: HCSim, section 2.3 and Table 3.
//
// Vertices compute or communicate, each at one place or several; an edge makes a vertex wait for
// another. A vertex runs once in each iteration. It begins when all vertices before it are over
// (Fig. 5 of the paper), where an edge that does not count at first stands for the iteration
// before. Edges into a vertex that starts the work do not count at first.
//
// Deviations from the paper: a vertex of several places is over at each place by itself, where the
// paper waits for all of them; where a successor is at places that the vertex is not at, these hear
// of it by messages of no bytes from its first place alone; a vertex waits for its own iteration
// before.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/core/units.hpp"
#include "tessera/workload/graph.hpp"
#include "tessera/workload/tensors.hpp"

namespace tessera::workload {

// What goes between an NPU and memory that is not its own.
struct RemoteBytes {
  Bytes read;
  Bytes written;
  friend auto operator<=>(const RemoteBytes&, const RemoteBytes&) = default;
};

// What a vertex accesses of a tensor, by its number.
struct TensorUse {
  std::uint32_t tensor = 0;
  Bytes bytes;
  Bytes written;  // of them
};

struct Vertex {
  enum class Kind : std::uint8_t { compute, collective, message };
  // What becomes of the parts of an all-reduce that the members have added up.
  enum class Gather : std::uint8_t {
    sent,  // to all members: 2 (N - 1) steps of a ring
    read,  // after N - 1 steps every member reads those of the others
    free,  // likewise, and the reads are not counted (HCSim, section 3.3)
  };

  std::string name;
  Kind kind = Kind::compute;
  bool starts = false;
  bool everywhere = false;
  std::vector<std::uint32_t> places;  // NPUs, sorted, unless everywhere; of messages from, to
  Flops flops;
  Bytes bytes;                  // read and written, or of the message, or GraphNode::bytes
  RemoteBytes remote;           // of them, without those of tensors
  std::vector<TensorUse> uses;  // their bytes are in `bytes`
  // Remote bytes are accessed while it computes; else read before and written behind.
  bool coherent = false;
  collective::Kind collective = collective::Kind::all_reduce;
  std::uint32_t root = 0;
  Gather gather = Gather::sent;

  bool at(std::uint32_t npu) const;
};

struct VertexEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool at_first = true;  // counts in the first iteration
  bool is_told = false;  // `from` is a message that was added, for its receiver alone
};

// `vertices` in an order in which those that an iteration waits for come first.
struct VertexGraph {
  std::vector<Vertex> vertices;
  std::vector<VertexEdge> edges;
  // With tensors, for NPUs that have them alike: bytes that each vertex accesses in memory that is
  // not theirs, [rows][vertices], and the row of each NPU. Else empty: as Vertex::remote says.
  std::vector<std::vector<RemoteBytes>> remote;
  std::vector<std::uint32_t> remote_row;
};

// Adds messages for edges without a place in common and puts vertices in order: of those whose
// predecessors in the iteration are all before, the one given first is next, behind the messages
// that it waits for. "" or what is wrong with it: a circle that nothing starts, or a vertex that
// nothing leads to; `culprit` is a vertex of it.
std::string put_in_order(VertexGraph& graph, std::uint32_t npus, std::uint32_t& culprit);

// The graph as those of the NPUs, unrolled. `graph` is in order; `tensors` are to be shown.
std::unique_ptr<GraphSource> make_vertex_source(VertexGraph graph, std::uint32_t npus,
                                                std::uint32_t iterations,
                                                std::optional<TensorPlacement> tensors);

}  // namespace tessera::workload
