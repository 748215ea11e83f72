// A machine as a picture: Graphviz text, or SVG.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/machine/machine.hpp"

namespace tessera::drawing {

struct Drawing {
  static constexpr std::uint32_t no_box = 0xFFFFFFFFU;

  struct Node {
    std::string name;  // of the last part of its path, with "x 128" when it stands for others
    std::string note;  // type of a tile, capacity of a memory
    machine::NodeRole role = machine::NodeRole::tile;
    std::uint32_t box = no_box;  // that it is directly in
    machine::Position position;  // of its topology
  };
  // An instance of a template.
  struct Box {
    std::string name;  // with "x 32" when it stands for others
    std::uint32_t outer = no_box;
  };
  // Links between the same two nodes, side by side.
  struct Line {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t count = 1;
    std::string forward;                  // bandwidth and latency
    std::optional<std::string> backward;  // the same where it differs; empty: there is no way back
    std::string label() const;
  };

  std::string title;
  std::vector<Node> nodes;
  std::vector<Box> boxes;  // outer ones first
  std::vector<Line> lines;
  bool placed = false;  // by the positions of the topology rather than by levels
};

// Machines of more nodes are drawn in part: of alike instances of a template one, of groups of more
// than 16 nodes one, of a grid a corner.
inline constexpr std::uint32_t most_drawn = 64;

// O(links · log links).
Drawing draw(const machine::Machine& machine, bool everything);

// Graphviz, for `dot`; begins with "// tessera".
std::string to_dot(const Drawing& drawing);
// A layered drawing of our own; begins with "<svg" and a comment that names tessera.
std::string to_svg(const Drawing& drawing);

}  // namespace tessera::drawing
