#include <algorithm>
#include <fstream>
#include <limits>
#include <utility>

#include "chakra/attributes.hpp"
#include "chakra/collectives.hpp"
#include "chakra/groups.hpp"
#include "tessera/core/file.hpp"
#include "tessera/workload/chakra/chakra.hpp"

namespace tessera::workload {
namespace {

// What a message may be long: protobuf itself reads no more at a time.
constexpr std::uint64_t longest_message = std::uint64_t{1} << 31;
constexpr std::uint64_t most_flops = std::uint64_t{1} << 62U;
constexpr std::uint64_t ps_a_microsecond = 1'000'000;

// Numbers of the schema.
enum NodeType : std::uint32_t {
  invalid_node,
  metadata_node,
  load_node,
  store_node,
  compute_node,
  send_node,
  receive_node,
  collective_node
};

GraphAction action_of(NodeType type) {
  switch (type) {
    case load_node:
      return GraphAction::load;
    case store_node:
      return GraphAction::store;
    case compute_node:
      return GraphAction::compute;
    case send_node:
      return GraphAction::send;
    case receive_node:
      return GraphAction::receive;
    case collective_node:
      return GraphAction::collective;
    default:
      return GraphAction::nothing;
  }
}

}  // namespace

struct ChakraFile::State {
  std::string path;
  std::ifstream file;
  std::uint64_t size = 0;
  GraphPosition at;
  std::uint64_t node_offset = 0;
  std::string buffer;
  chakra::Node message;
  std::string version;
  GraphGroups groups;

  [[noreturn]] void fail(const std::string& what, const std::string& problem) const {
    throw ConfigError(
        Diagnostic{path, 0, 0, what + " at byte " + std::to_string(node_offset) + ": " + problem});
  }
  // "node 17", or by its place while its id is not known.
  std::string node_name() const { return "message " + std::to_string(at.nodes + 1); }

  bool read_message() {
    node_offset = at.offset;
    if (at.offset == size) {
      return false;
    }
    std::uint64_t length = 0;
    unsigned shift = 0;
    while (true) {
      const int byte = file.get();
      if (byte == std::ifstream::traits_type::eof()) {
        fail(node_name(), "the file ends within its length");
      }
      ++at.offset;
      if (shift > 28) {
        fail(node_name(), "its length is no varint of 32 bits");
      }
      length |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      shift += 7;
      if ((byte & 0x80) == 0) {
        break;
      }
    }
    if (length > size - at.offset || length >= longest_message) {
      fail(node_name(), "it should have " + std::to_string(length) + " bytes, and " +
                            std::to_string(size - at.offset) + " are left in the file");
    }
    buffer.resize(length);
    file.read(buffer.data(), static_cast<std::streamsize>(length));
    if (!file) {
      fail(node_name(), "cannot be read");
    }
    at.offset += length;
    return true;
  }

  const chakra::Attribute* attribute(const char* name) const {
    return find_attribute(message, name);
  }
  std::optional<std::uint64_t> count(const char* name) const {
    const chakra::Attribute* const found = attribute(name);
    if (found == nullptr) {
      return std::nullopt;
    }
    const auto value = as_count(*found);
    if (!value) {
      fail("node " + std::to_string(message.id()),
           std::string("attribute ") + name + " is no whole number from 0 on");
    }
    return value;
  }
  std::uint64_t needed(const char* name) const {
    const auto value = count(name);
    if (!value) {
      fail("node " + std::to_string(message.id()),
           std::string("attribute ") + name + " is missing");
    }
    return *value;
  }
  // Of a node that computes, as Tessera writes it; none: it does not say.
  std::optional<NodeShape> shape(Bytes bytes) const {
    const auto products = count("product_count");
    if (!products) {
      return std::nullopt;
    }
    NodeShape result{{0, 0, 0, *products}, Bytes(count("added_size").value_or(0))};
    std::uint64_t flops = 1;
    if (*products > 0) {
      result.product.rows = needed("product_rows");
      result.product.columns = needed("product_columns");
      result.product.depth = needed("product_depth");
      const MatrixProduct& p = result.product;
      for (const std::uint64_t side : {std::uint64_t{2}, p.rows, p.columns, p.depth, p.count}) {
        if (side == 0 || flops > most_flops / side) {
          fail("node " + std::to_string(message.id()),
               "its matrix product has a side of 0, or more than 2^62 FLOP");
        }
        flops *= side;
      }
    }
    if (result.added > bytes) {
      fail("node " + std::to_string(message.id()), "added_size is more than tensor_size");
    }
    const std::uint64_t kernel = count("kernel_class").value_or(0);
    if (kernel > static_cast<std::uint64_t>(Kernel::lookup)) {
      fail("node " + std::to_string(message.id()),
           "kernel_class is none of Tessera's: " + std::to_string(kernel));
    }
    result.kernel = static_cast<Kernel>(kernel);
    result.elements = count("fused_elements").value_or(0);
    result.twice_keys = count("twice_keys").value_or(0);
    if (const auto stored = count("stored_weights")) {
      if (*stored > bytes.count()) {
        fail("node " + std::to_string(message.id()), "stored_weights is more than tensor_size");
      }
      result.stored_weights = Bytes(*stored);
    }
    result.data_type = data_type();
    return result;
  }
  std::optional<DataType> data_type() const {
    const chakra::Attribute* const name = attribute("data_type");
    if (name == nullptr) {
      return std::nullopt;
    }
    const auto text = as_text(*name);
    const auto type = text ? data_type_from(*text) : std::nullopt;
    if (!type) {
      fail("node " + std::to_string(message.id()), "attribute data_type is no data type");
    }
    return type;
  }
  std::uint32_t small(const char* name, std::uint64_t value) const {
    if (value > std::numeric_limits<std::uint32_t>::max()) {
      fail("node " + std::to_string(message.id()),
           std::string("attribute ") + name + " is too large: " + std::to_string(value));
    }
    return static_cast<std::uint32_t>(value);
  }

  void describe(GraphNode& node) const;
  void describe_collective(GraphNode& node) const;
  void take_groups();
};

ChakraFile::ChakraFile(const std::string& path, GraphPosition from)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.path = path;
  try {
    state.size = regular_file_size(path);
  } catch (const FileError& error) {
    throw ConfigError(Diagnostic{path, 0, 0, "cannot be read: " + error.reason()});
  }
  state.file.open(path, std::ios::binary);
  if (!state.file) {
    throw ConfigError(Diagnostic{path, 0, 0, "cannot be read"});
  }
  state.file.seekg(static_cast<std::streamoff>(from.offset));
  state.at = from;
  if (from.offset > 0) {
    return;
  }
  if (!state.read_message()) {
    throw ConfigError(Diagnostic{path, 0, 0, "is empty; a trace begins with its metadata"});
  }
  chakra::GlobalMetadata metadata;
  if (!metadata.ParseFromString(state.buffer)) {
    state.fail("metadata", "is no message of a Chakra trace");
  }
  state.version = metadata.version();
}

ChakraFile::~ChakraFile() = default;
ChakraFile::ChakraFile(ChakraFile&&) noexcept = default;

GraphPosition ChakraFile::position() const {
  return state_->at;
}
std::uint64_t ChakraFile::node_offset() const {
  return state_->node_offset;
}
const std::string& ChakraFile::version() const {
  return state_->version;
}
const GraphGroups& ChakraFile::groups() const {
  return state_->groups;
}

bool ChakraFile::next(GraphNode& node) {
  State& state = *state_;
  if (!state.read_message()) {
    return false;
  }
  if (!state.message.ParseFromString(state.buffer)) {
    state.fail(state.node_name(), "is no message of a Chakra trace");
  }
  ++state.at.nodes;
  node = {};
  state.describe(node);
  state.take_groups();
  return true;
}

void ChakraFile::State::take_groups() {
  if (message.type() != metadata_node ||
      message.inputs().values().find("pg_name") == std::string::npos) {
    return;
  }
  std::string problem;
  if (!add_groups(message.inputs().values(), groups, problem)) {
    fail("node " + std::to_string(message.id()), "its communicators cannot be read: " + problem);
  }
}

void ChakraFile::State::describe(GraphNode& node) const {
  node.id = message.id();
  node.offset = node_offset;
  node.name = message.name();
  if (message.type() == invalid_node || message.type() > collective_node) {
    fail("node " + std::to_string(node.id),
         "type " + std::to_string(message.type()) + " is none from 1 to 7");
  }
  node.action = action_of(static_cast<NodeType>(message.type()));
  node.on_host = count("is_cpu_op").value_or(0) != 0;
  node.data_dependencies.assign(message.data_dependencies().begin(),
                                message.data_dependencies().end());
  node.control_dependencies.assign(message.control_dependencies().begin(),
                                   message.control_dependencies().end());
  const auto time = [this](std::uint64_t micros) -> std::optional<SimTime> {
    if (micros == 0) {
      return std::nullopt;
    }
    if (micros > static_cast<std::uint64_t>(SimTime::never().ps()) / ps_a_microsecond) {
      fail("node " + std::to_string(message.id()),
           std::to_string(micros) + " microseconds are too long");
    }
    return SimTime::from_ps(static_cast<std::int64_t>(micros * ps_a_microsecond));
  };
  node.recorded_start = time(message.start_time_micros());
  node.recorded_duration = time(message.duration_micros());
  switch (node.action) {
    case GraphAction::compute:
      node.flops = Flops(count("num_ops").value_or(0));
      node.bytes = Bytes(count("tensor_size").value_or(0));
      node.shape = shape(node.bytes);
      break;
    case GraphAction::load:
    case GraphAction::store:
      node.bytes = Bytes(needed("tensor_size"));
      node.in_remote = count("tensor_loc").value_or(0) != 0;
      node.in_switch = count("in_switch").value_or(0) != 0;
      break;
    case GraphAction::send:
      node.peer = small("comm_dst", needed("comm_dst"));
      break;
    case GraphAction::receive:
      node.peer = small("comm_src", needed("comm_src"));
      break;
    case GraphAction::collective:
      describe_collective(node);
      break;
    default:
      break;
  }
  if (node.action == GraphAction::send || node.action == GraphAction::receive) {
    node.bytes = Bytes(needed("comm_size"));
    node.tag = small("comm_tag", count("comm_tag").value_or(0));
  }
}

void ChakraFile::State::describe_collective(GraphNode& node) const {
  const std::uint64_t number = needed("comm_type");
  const std::optional<collective::Kind> kind = chakra_collective(number);
  if (!kind) {
    fail("node " + std::to_string(node.id), "comm_type " + std::to_string(number) +
                                                " is none from 0 to " +
                                                std::to_string(chakra_collectives - 1));
  }
  node.collective = *kind;
  const chakra::Attribute* const sizes =
      node.collective == collective::Kind::all_to_all ? attribute("comm_sizes") : nullptr;
  node.bytes = Bytes(node.collective == collective::Kind::barrier || sizes != nullptr
                         ? count("comm_size").value_or(0)
                         : needed("comm_size"));
  if (sizes != nullptr) {
    const auto counts = as_counts(*sizes);
    if (!counts || counts->empty()) {
      fail("node " + std::to_string(node.id), "attribute comm_sizes is no list of sizes");
    }
    for (const std::uint64_t bytes : *counts) {
      node.parts.emplace_back(bytes);
    }
  }
  node.root = small("root_rank", count("root_rank").value_or(0));
  node.priority = small("comm_priority", count("comm_priority").value_or(0));
  node.channels = small("comm_channels", count("comm_channels").value_or(1));
  if (const chakra::Attribute* const name = attribute("pg_name")) {
    const auto text = as_text(*name);
    if (!text) {
      fail("node " + std::to_string(node.id), "attribute pg_name is neither text nor number");
    }
    node.group = *text;
  }
  if (const chakra::Attribute* const flags = attribute("involved_dim")) {
    const auto dimensions = as_flags(*flags);
    if (!dimensions) {
      fail("node " + std::to_string(node.id), "attribute involved_dim is no list of bools");
    }
    node.dimensions = *dimensions;
  }
}

std::string chakra_path(const std::string& prefix, std::uint32_t npu) {
  return prefix + "." + std::to_string(npu) + ".et";
}

}  // namespace tessera::workload
