// Chakra execution traces: files `<prefix>.<npu>.et` of messages, each behind its length as a
// varint: first the metadata of the file, then the nodes.
//
// Schema: S. Sridharan et al., arXiv:2305.14516; versions 0.0.4 to 1.0.0, which differ in nothing
// that is read here. Node types: 1 metadata, 2 memory load, 3 memory store, 4 compute, 5 send,
// 6 receive, 7 collective. Attributes that are read, as a number of any kind or a text where the
// table says so:
// | attribute    | of         | meaning                                                    |
// | is_cpu_op    | any        | 1: on the host; default 0                                  |
// | num_ops      | compute    | FLOPs                                                      |
// | tensor_size  | compute, memory | bytes                                                 |
// | tensor_loc   | memory     | 0: local (default), else remote                            |
// | in_switch    | memory     | 1: gathered or scattered by switches on the way (our own)  |
// | comm_type    | collective | 0 … 9, numbers of the schema                               |
// | comm_size    | messages, collectives | bytes                                           |
// | comm_src, comm_dst, comm_tag | messages | NPUs and tag                                 |
// | root_rank    | collective | member number of the root; default 0                       |
// | comm_priority | collective | default 0                                                 |
// | pg_name      | collective | communicator, a text or number; absent: all NPUs           |
// | involved_dim | collective | list of bools                                              |
// | comm_sizes   | all-to-all | list of bytes, to each member; takes the place of comm_size |
// |              |            | (our own)                                                  |
// Others are kept out of the graph without a word, as they describe, and so are start times and
// names of tensors. `duration_micros` is the recorded time of a node, 0 for none.
//
// Communicators: metadata nodes whose inputs hold a list of {pg_name, ranks}, as PyTorch writes
// them, or a JSON file {"name": [npu, …], …}. Other metadata nodes do nothing and are counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/workload/graph.hpp"

namespace tessera::workload {

// Reads one file from begin to end, or from a place in it.
class ChakraFile {
 public:
  // Opens it and, at its begin, reads its metadata. Throws ConfigError when that cannot be.
  explicit ChakraFile(const std::string& path, GraphPosition from = {});
  ~ChakraFile();
  ChakraFile(ChakraFile&&) noexcept;

  // False at the end. Throws ConfigError naming file, node and byte for a message that ends early
  // or is none, an id that is given twice in a row, a negative number, an unknown type or kind.
  bool next(GraphNode& node);
  // Where the next node begins.
  GraphPosition position() const;
  // Byte at which the node read last begins.
  std::uint64_t node_offset() const;
  // "" for none.
  const std::string& version() const;
  // Communicators of metadata nodes read so far.
  const GraphGroups& groups() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "{"1": [0, 1], …}". Throws ConfigError with a place.
GraphGroups read_groups(const std::string& path, const config::TextLoader& load);

// Writes one file: metadata with `version`, then nodes in the order given. Appears under its name
// when closed, whole. Throws IoError.
class ChakraWriter {
 public:
  explicit ChakraWriter(const std::string& path);
  ~ChakraWriter();  // without close: nothing is left
  ChakraWriter(const ChakraWriter&) = delete;
  ChakraWriter& operator=(const ChakraWriter&) = delete;

  void write(const GraphNode& node);
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Writes the graphs of all NPUs as `<prefix>.<npu>.et`, and their communicators, if there are any,
// to `<prefix>.json`. Throws IoError.
void write_chakra(const GraphSource& source, const std::string& prefix);

// `<prefix>.<npu>.et`.
std::string chakra_path(const std::string& prefix, std::uint32_t npu);

}  // namespace tessera::workload
