#include <string>

#include "tessera/drawing/drawing.hpp"

namespace tessera::drawing {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      result += '\\';
    }
    result += letter;
  }
  return result + "\"";
}

const char* style_of(machine::NodeRole role) {
  switch (role) {
    case machine::NodeRole::tile:
      return "shape=box, style=\"rounded,filled\", fillcolor=\"#cfe2f3\"";
    case machine::NodeRole::switching:
      return "shape=ellipse, style=filled, fillcolor=\"#fce5cd\"";
    case machine::NodeRole::memory:
      break;
  }
  return "shape=cylinder, style=filled, fillcolor=\"#d9ead3\"";
}

class DotWriter {
 public:
  explicit DotWriter(const Drawing& drawing) : drawing_(drawing) {}

  std::string write() && {
    text_ = "// tessera show --topology\ndigraph machine {\n  label=" + quoted(drawing_.title) +
            ";\n  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=9];\n";
    write_inside(Drawing::no_box, "  ");
    for (const Drawing::Line& line : drawing_.lines) {
      const bool one_way = line.backward && line.backward->empty();
      text_ += "  n" + std::to_string(line.from) + " -> n" + std::to_string(line.to) +
               " [label=" + quoted(line.label()) + (one_way ? ", dir=forward" : ", dir=none") +
               "];\n";
    }
    return text_ + "}\n";
  }

 private:
  void write_inside(std::uint32_t box, const std::string& indent) {
    for (std::uint32_t number = 0; number < drawing_.boxes.size(); ++number) {
      if (drawing_.boxes[number].outer == box) {
        text_ += indent + "subgraph cluster_" + std::to_string(number) + " {\n" + indent +
                 "  label=" + quoted(drawing_.boxes[number].name) + ";\n";
        write_inside(number, indent + "  ");
        text_ += indent + "}\n";
      }
    }
    for (std::uint32_t number = 0; number < drawing_.nodes.size(); ++number) {
      const Drawing::Node& node = drawing_.nodes[number];
      if (node.box == box) {
        const std::string name = quoted(node.name);
        const std::string label = node.note.empty() ? name
                                                    : name.substr(0, name.size() - 1) + "\\n" +
                                                          quoted(node.note).substr(1);
        text_ += indent + "n" + std::to_string(number) + " [label=" + label + ", " +
                 style_of(node.role) + "];\n";
      }
    }
  }

  const Drawing& drawing_;
  std::string text_;
};

}  // namespace

std::string to_dot(const Drawing& drawing) {
  return DotWriter(drawing).write();
}

}  // namespace tessera::drawing
