// The wire format: protobuf.dev/programming-guides/encoding. Field numbers: onnx.proto, IR
// version 8.
#include "wire.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "tessera/core/error.hpp"

namespace tessera::onnx {
namespace {

constexpr int deepest_message = 60;

// What stands within the length-delimited fields of a message, as far as it can be wrong.
enum class Form : std::uint8_t {
  bytes,
  numbers,  // packed varints
  words4,
  words8,
  model,
  graph,
  node,
  attribute,
  tensor,
  sparse,
  value,
  type,
  tensor_type,
  holder_type,  // sequence, optional: a type in field 1
  map_type,
  shape,
  dimension,
  function,
  training,
  annotation,
  plain  // a message without messages in it
};

struct Field {
  Form parent;
  std::uint32_t number;
  Form child;
};

constexpr std::array fields{
    Field{Form::model, 7, Form::graph},       Field{Form::model, 8, Form::plain},
    Field{Form::model, 14, Form::plain},      Field{Form::model, 20, Form::training},
    Field{Form::model, 25, Form::function},   Field{Form::graph, 1, Form::node},
    Field{Form::graph, 5, Form::tensor},      Field{Form::graph, 11, Form::value},
    Field{Form::graph, 12, Form::value},      Field{Form::graph, 13, Form::value},
    Field{Form::graph, 14, Form::annotation}, Field{Form::graph, 15, Form::sparse},
    Field{Form::node, 5, Form::attribute},    Field{Form::attribute, 5, Form::tensor},
    Field{Form::attribute, 6, Form::graph},   Field{Form::attribute, 7, Form::words4},
    Field{Form::attribute, 8, Form::numbers}, Field{Form::attribute, 10, Form::tensor},
    Field{Form::attribute, 11, Form::graph},  Field{Form::attribute, 14, Form::type},
    Field{Form::attribute, 15, Form::type},   Field{Form::attribute, 22, Form::sparse},
    Field{Form::attribute, 23, Form::sparse}, Field{Form::tensor, 1, Form::numbers},
    Field{Form::tensor, 3, Form::plain},      Field{Form::tensor, 4, Form::words4},
    Field{Form::tensor, 5, Form::numbers},    Field{Form::tensor, 7, Form::numbers},
    Field{Form::tensor, 10, Form::words8},    Field{Form::tensor, 11, Form::numbers},
    Field{Form::tensor, 13, Form::plain},     Field{Form::sparse, 1, Form::tensor},
    Field{Form::sparse, 2, Form::tensor},     Field{Form::sparse, 3, Form::numbers},
    Field{Form::value, 2, Form::type},        Field{Form::type, 1, Form::tensor_type},
    Field{Form::type, 4, Form::holder_type},  Field{Form::type, 5, Form::map_type},
    Field{Form::type, 7, Form::plain},        Field{Form::type, 8, Form::tensor_type},
    Field{Form::type, 9, Form::holder_type},  Field{Form::tensor_type, 2, Form::shape},
    Field{Form::holder_type, 1, Form::type},  Field{Form::map_type, 2, Form::type},
    Field{Form::shape, 1, Form::dimension},   Field{Form::function, 7, Form::node},
    Field{Form::function, 9, Form::plain},    Field{Form::training, 1, Form::graph},
    Field{Form::training, 2, Form::graph},    Field{Form::training, 3, Form::plain},
    Field{Form::training, 4, Form::plain},    Field{Form::annotation, 2, Form::plain},
};

Form form_of(Form parent, std::uint32_t number) {
  const auto* const found = std::find_if(fields.begin(), fields.end(), [&](const Field& field) {
    return field.parent == parent && field.number == number;
  });
  return found == fields.end() ? Form::bytes : found->child;
}

bool is_message(Form form) {
  return form != Form::bytes && form != Form::numbers && form != Form::words4 &&
         form != Form::words8;
}

class Scanner {
 public:
  Scanner(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  ModelPlaces scan() {
    message(Form::model, 0, bytes_.size(), 0, nullptr, nullptr);
    return std::move(places_);
  }

 private:
  // The node that is being looked through, for messages.
  struct Open {
    std::uint64_t offset = 0;
    std::size_t index = 0;
    std::string_view name;
    std::string_view op;
  };

  [[noreturn]] void fail(std::uint64_t at, const std::string& problem) const {
    std::string where;
    if (!open_.empty()) {
      const Open& node = open_.back();
      where = "node " + std::to_string(node.index);
      if (!node.name.empty()) {
        where += " '" + std::string(node.name.substr(0, 200)) + "'";
      }
      if (!node.op.empty()) {
        where += " (" + std::string(node.op.substr(0, 200)) + ")";
      }
      where += " at byte " + std::to_string(node.offset) + ": ";
    }
    throw ConfigError(Diagnostic{path_, 0, 0, where + problem + " at byte " + std::to_string(at)});
  }

  std::uint64_t varint(std::uint64_t& at, std::uint64_t end) const {
    const std::uint64_t begin = at;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (at == end) {
        fail(begin, end == bytes_.size() ? "the file ends within a number"
                                         : "a message ends within a number");
      }
      const auto byte = static_cast<unsigned char>(bytes_[at++]);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if ((byte & 0x80U) == 0) {
        return value;
      }
    }
    fail(begin, "a number of more than ten bytes");
  }

  void skip(std::uint64_t& at, std::uint64_t end, std::uint64_t count) const {
    if (end - at < count) {
      fail(at, end == bytes_.size() ? "the file ends within a number"
                                    : "a message ends within a number");
    }
    at += count;
  }

  void packed(Form form, std::uint64_t at, std::uint64_t end) const {
    const std::uint64_t begin = at;
    if (form == Form::numbers) {
      while (at < end) {
        varint(at, end);
      }
    }
    const std::uint64_t size = form == Form::words4 ? 4 : form == Form::words8 ? 8 : 1;
    if ((end - begin) % size != 0) {
      fail(begin, "a list of numbers that does not end with one");
    }
  }

  // A field with a length, from behind its tag.
  void delimited(Form parent, std::uint32_t number, std::uint64_t& at, std::uint64_t end, int depth,
                 GraphPlace* graph, NodePlace* node) {
    const std::uint64_t begin = at;
    const std::uint64_t length = varint(at, end);
    const Form form = form_of(parent, number);
    const bool cut = length > end - at;
    // Where the file was cut off, what is left is looked through to say in which node.
    const std::uint64_t inner_end = cut ? end : at + length;
    if (parent == Form::node && (number == 3 || number == 4) && !cut) {
      (number == 3 ? open_.back().name : open_.back().op) = bytes_.substr(at, length);
    }
    if (is_message(form) && (!cut || end == bytes_.size())) {
      child(form, parent, at, inner_end, depth, graph, node);
    }
    if (cut) {
      fail(begin, std::to_string(length) + " bytes should follow, and " + std::to_string(end - at) +
                      " are left");
    }
    if (form == Form::numbers || form == Form::words4 || form == Form::words8) {
      packed(form, at, inner_end);
    }
    at = inner_end;
  }

  void child(Form form, Form parent, std::uint64_t at, std::uint64_t end, int depth,
             GraphPlace* graph, NodePlace* node) {
    if (depth == deepest_message) {
      fail(at, "messages are nested deeper than " + std::to_string(deepest_message));
    }
    if (form == Form::node) {
      graph->nodes.push_back({at, {}});
      open_.push_back({at, graph->nodes.size() - 1, {}, {}});
      // Nodes within it are in graphs of their own: this one stays where it is.
      message(form, at, end, depth + 1, nullptr, &graph->nodes.back());
      open_.pop_back();
    } else if (form == Form::graph) {
      GraphPlace* place = &ignored_;
      if (parent == Form::model) {
        place = &places_.graph;
      } else if (parent == Form::attribute && node != nullptr) {
        place = &node->graphs.emplace_back();
      }
      message(form, at, end, depth + 1, place, nullptr);
    } else if (form == Form::function) {
      message(form, at, end, depth + 1, &places_.functions.emplace_back(), nullptr);
    } else {
      message(form, at, end, depth + 1, nullptr, node);
    }
  }

  void message(Form form, std::uint64_t at, std::uint64_t end, int depth, GraphPlace* graph,
               NodePlace* node) {
    while (at < end) {
      const std::uint64_t begin = at;
      const std::uint64_t tag = varint(at, end);
      const std::uint64_t number = tag >> 3U;
      if (number == 0 || tag > 0xFFFF'FFFFU) {
        fail(begin, "a field with the number " + std::to_string(number));
      }
      switch (tag & 7U) {
        case 0:
          varint(at, end);
          break;
        case 1:
          skip(at, end, 8);
          break;
        case 2:
          delimited(form, static_cast<std::uint32_t>(number), at, end, depth, graph, node);
          break;
        case 5:
          skip(at, end, 4);
          break;
        default:
          fail(begin, "a field of wire type " + std::to_string(tag & 7U) + ", which ONNX has not");
      }
    }
  }

  std::string_view bytes_;
  const std::string& path_;
  std::vector<Open> open_;
  ModelPlaces places_;
  GraphPlace ignored_;
};

}  // namespace

ModelPlaces scan_model(std::string_view bytes, const std::string& path) {
  return Scanner(bytes, path).scan();
}

}  // namespace tessera::onnx
