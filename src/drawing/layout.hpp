// Where things of a drawing go.
#pragma once

#include <vector>

#include "tessera/drawing/drawing.hpp"

namespace tessera::drawing {

// Of a node or a box: its upper left corner and its size, in pixels.
struct Area {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  double center_x() const { return x + width / 2; }
  double center_y() const { return y + height / 2; }
};

struct Layout {
  std::vector<Area> nodes;
  std::vector<Area> boxes;
  double width = 0;
  double height = 0;
};

// As the topology places its nodes, or in layers: in a box, nodes and inner boxes with a link that
// leaves it (in the machine, the switches with most links) are the first layer, and the others
// follow by their steps from there; rows are ordered by the mean place of what they are linked to
// in the row above (the barycentre heuristic of K. Sugiyama et al., IEEE Trans. SMC 11(2), 1981).
Layout lay_out(const Drawing& drawing);

}  // namespace tessera::drawing
