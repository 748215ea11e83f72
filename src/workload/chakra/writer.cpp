#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "chakra.pb.h"
#include "chakra/collectives.hpp"
#include "tessera/core/error.hpp"
#include "tessera/workload/chakra/chakra.hpp"

namespace tessera::workload {
namespace {

constexpr const char* schema_version = "1.0.0";
constexpr std::int64_t microsecond_ps = 1'000'000;

std::uint32_t type_of(GraphAction action) {
  switch (action) {
    case GraphAction::nothing:
      return 1;
    case GraphAction::load:
      return 2;
    case GraphAction::store:
      return 3;
    case GraphAction::compute:
      return 4;
    case GraphAction::send:
      return 5;
    case GraphAction::receive:
      return 6;
    case GraphAction::collective:
      return 7;
  }
  throw InternalError("an action outside its enumeration");
}

// As the generators of traces write them: numbers are int64.
void add_count(chakra::Node& node, const char* name, std::uint64_t value) {
  chakra::Attribute& attribute = *node.add_attributes();
  attribute.set_name(name);
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    attribute.set_int64_value(static_cast<std::int64_t>(value));
  } else {
    attribute.set_uint64_value(value);
  }
}

// Whole microseconds, up, so that a time that was recorded stays recorded.
std::uint64_t micros(const std::optional<SimTime>& time) {
  return time ? static_cast<std::uint64_t>((time->ps() + microsecond_ps - 1) / microsecond_ps) : 0;
}

// Attributes of Tessera's own, which others pass over.
void add_shape(chakra::Node& message, const NodeShape& shape) {
  add_count(message, "product_count", shape.product.count);
  if (shape.product.count > 0) {
    add_count(message, "product_rows", shape.product.rows);
    add_count(message, "product_columns", shape.product.columns);
    add_count(message, "product_depth", shape.product.depth);
  }
  if (shape.added > Bytes()) {
    add_count(message, "added_size", shape.added.count());
  }
  if (shape.elements > 0) {
    add_count(message, "fused_elements", shape.elements);
  }
  if (shape.twice_keys > 0) {
    add_count(message, "twice_keys", shape.twice_keys);
  }
  if (shape.kernel != Kernel::plain) {
    add_count(message, "kernel_class", static_cast<std::uint64_t>(shape.kernel));
  }
  if (shape.stored_weights) {
    add_count(message, "stored_weights", shape.stored_weights->count());
  }
  if (shape.data_type) {
    chakra::Attribute& type = *message.add_attributes();
    type.set_name("data_type");
    type.set_string_value(to_string(*shape.data_type));
  }
}

chakra::Node message_of(const GraphNode& node) {
  chakra::Node message;
  message.set_id(node.id);
  message.set_name(node.name);
  message.set_type(type_of(node.action));
  for (const std::uint64_t id : node.control_dependencies) {
    message.add_control_dependencies(id);
  }
  for (const std::uint64_t id : node.data_dependencies) {
    message.add_data_dependencies(id);
  }
  message.set_start_time_micros(micros(node.recorded_start));
  message.set_duration_micros(micros(node.recorded_duration));
  chakra::Attribute& host = *message.add_attributes();
  host.set_name("is_cpu_op");
  host.set_bool_value(node.on_host);
  switch (node.action) {
    case GraphAction::compute:
      add_count(message, "num_ops", node.flops.count());
      add_count(message, "tensor_size", node.bytes.count());
      if (node.shape) {
        add_shape(message, *node.shape);
      }
      break;
    case GraphAction::load:
    case GraphAction::store:
      add_count(message, "tensor_size", node.bytes.count());
      add_count(message, "tensor_loc", node.in_remote ? 1 : 0);
      if (node.in_switch) {
        add_count(message, "in_switch", 1);
      }
      break;
    case GraphAction::send:
    case GraphAction::receive:
      add_count(message, "comm_size", node.bytes.count());
      add_count(message, node.action == GraphAction::send ? "comm_dst" : "comm_src", node.peer);
      add_count(message, "comm_tag", node.tag);
      break;
    case GraphAction::collective: {
      add_count(message, "comm_size", node.bytes.count());
      add_count(message, "comm_type", chakra_number(node.collective));
      if (node.root != 0) {
        add_count(message, "root_rank", node.root);
      }
      if (node.priority != 0) {
        add_count(message, "comm_priority", node.priority);
      }
      if (!node.group.empty()) {
        chakra::Attribute& group = *message.add_attributes();
        group.set_name("pg_name");
        group.set_string_value(node.group);
      }
      if (node.channels != 1) {
        add_count(message, "comm_channels", node.channels);  // Tessera's own
      }
      if (!node.parts.empty()) {
        chakra::Attribute& sizes = *message.add_attributes();
        sizes.set_name("comm_sizes");
        for (const Bytes part : node.parts) {
          sizes.mutable_uint64_list()->add_values(part.count());
        }
      }
      if (!node.dimensions.empty()) {
        chakra::Attribute& dimensions = *message.add_attributes();
        dimensions.set_name("involved_dim");
        for (const bool flag : node.dimensions) {
          dimensions.mutable_bool_list()->add_values(flag);
        }
      }
      break;
    }
    default:
      break;
  }
  return message;
}

}  // namespace

struct ChakraWriter::State {
  std::string path;
  std::string aside;  // until it is whole
  std::ofstream file;
  std::string buffer;

  [[noreturn]] void fail() const {
    throw IoError(path + ": error: cannot be written: " + std::strerror(errno));
  }
  template <class Message>
  void put(const Message& message) {
    message.SerializeToString(&buffer);
    std::uint64_t length = buffer.size();
    std::string head;
    while (length >= 0x80) {
      head.push_back(static_cast<char>(length | 0x80));
      length >>= 7;
    }
    head.push_back(static_cast<char>(length));
    file.write(head.data(), static_cast<std::streamsize>(head.size()));
    file.write(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    if (!file) {
      fail();
    }
  }
};

ChakraWriter::ChakraWriter(const std::string& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  state_->aside = path + ".part";
  state_->file.open(state_->aside, std::ios::binary | std::ios::trunc);
  if (!state_->file) {
    state_->fail();
  }
  chakra::GlobalMetadata metadata;
  metadata.set_version(schema_version);
  state_->put(metadata);
}

ChakraWriter::~ChakraWriter() {
  if (state_->file.is_open()) {
    state_->file.close();
    std::remove(state_->aside.c_str());
  }
}

void ChakraWriter::write(const GraphNode& node) {
  state_->put(message_of(node));
}

void ChakraWriter::close() {
  state_->file.close();
  if (!state_->file || std::rename(state_->aside.c_str(), state_->path.c_str()) != 0) {
    state_->fail();
  }
}

}  // namespace tessera::workload
