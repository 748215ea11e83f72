#include "layout.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tessera::drawing {
namespace {

constexpr double letter = 7.2;
constexpr double node_height = 40;
constexpr double gap_x = 18;
constexpr double gap_y = 64;
constexpr double padding = 16;
constexpr double heading = 22;  // of a box
constexpr std::size_t most_in_a_row = 32;

Area size_of(const Drawing::Node& node) {
  const auto letters = static_cast<double>(std::max(node.name.size(), node.note.size()));
  return {0, 0, std::max(64.0, letters * letter + 16), node_height};
}

// A node or a box among those of one box.
struct Element {
  bool is_box = false;
  std::uint32_t number = 0;
  std::set<std::size_t> neighbours;  // elements
  std::size_t links_out = 0;         // of the box
  std::size_t layer = 0;
  double rank = 0;
};

class LayerLayout {
 public:
  explicit LayerLayout(const Drawing& drawing) : drawing_(drawing) {
    layout_.nodes.reserve(drawing.nodes.size());
    for (const Drawing::Node& node : drawing.nodes) {
      layout_.nodes.push_back(size_of(node));
    }
    layout_.boxes.resize(drawing.boxes.size());
  }

  Layout lay_out() && {
    // Inner boxes have higher numbers.
    for (auto box = static_cast<std::uint32_t>(drawing_.boxes.size()); box-- > 0;) {
      Area& area = layout_.boxes[box];
      fill(box, area.width, area.height);
    }
    fill(Drawing::no_box, layout_.width, layout_.height);
    for (std::uint32_t box = 0; box < drawing_.boxes.size(); ++box) {
      shift_inside(box);
    }
    return std::move(layout_);
  }

 private:
  Area& area_of(const Element& element) {
    return element.is_box ? layout_.boxes[element.number] : layout_.nodes[element.number];
  }

  // The element of `box` that holds a node; none when it is outside.
  std::optional<std::pair<bool, std::uint32_t>> holder(std::uint32_t node,
                                                       std::uint32_t box) const {
    std::pair<bool, std::uint32_t> inner{false, node};
    for (std::uint32_t outer = drawing_.nodes[node].box; outer != box;
         outer = drawing_.boxes[outer].outer) {
      if (outer == Drawing::no_box) {
        return std::nullopt;
      }
      inner = {true, outer};
    }
    return inner;
  }

  std::vector<Element> elements_of(std::uint32_t box) const {
    std::vector<Element> elements;
    std::map<std::pair<bool, std::uint32_t>, std::size_t> places;
    const auto add = [&](bool is_box, std::uint32_t number) {
      places[{is_box, number}] = elements.size();
      Element& element = elements.emplace_back();
      element.is_box = is_box;
      element.number = number;
    };
    for (std::uint32_t number = 0; number < drawing_.boxes.size(); ++number) {
      if (drawing_.boxes[number].outer == box) {
        add(true, number);
      }
    }
    for (std::uint32_t number = 0; number < drawing_.nodes.size(); ++number) {
      if (drawing_.nodes[number].box == box) {
        add(false, number);
      }
    }
    for (const Drawing::Line& line : drawing_.lines) {
      const auto from = holder(line.from, box);
      const auto to = holder(line.to, box);
      if (from && to && *from != *to) {
        elements[places.at(*from)].neighbours.insert(places.at(*to));
        elements[places.at(*to)].neighbours.insert(places.at(*from));
      } else if (from && !to) {
        ++elements[places.at(*from)].links_out;
      } else if (to && !from) {
        ++elements[places.at(*to)].links_out;
      }
    }
    return elements;
  }

  std::vector<std::size_t> first_layer(const std::vector<Element>& elements) const {
    std::vector<std::size_t> first;
    std::size_t most = 0;
    for (const Element& element : elements) {
      if (!element.is_box && drawing_.nodes[element.number].role == machine::NodeRole::switching) {
        most = std::max(most, element.neighbours.size());
      }
    }
    const bool has_gates = std::any_of(elements.begin(), elements.end(),
                                       [](const auto& element) { return element.links_out > 0; });
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const Element& element = elements[i];
      const bool is_switch =
          !element.is_box && drawing_.nodes[element.number].role == machine::NodeRole::switching;
      if (has_gates ? element.links_out > 0 && (element.is_box || is_switch)
                    : is_switch && most > 0 && element.neighbours.size() == most) {
        first.push_back(i);
      }
    }
    return first;
  }

  std::vector<std::vector<std::size_t>> layers_of(std::vector<Element>& elements) const {
    std::vector<bool> met(elements.size(), false);
    std::vector<std::vector<std::size_t>> layers;
    std::vector<std::size_t> layer = first_layer(elements);
    for (std::size_t next = 0; next < elements.size() || !layer.empty();) {
      if (layer.empty()) {  // what is not linked to anything before
        if (!met[next]) {
          layer.push_back(next);
        }
        ++next;
        continue;
      }
      for (const std::size_t place : layer) {
        met[place] = true;
      }
      std::set<std::size_t> below;
      for (const std::size_t place : layer) {
        elements[place].layer = layers.size();
        for (const std::size_t neighbour : elements[place].neighbours) {
          if (!met[neighbour]) {
            below.insert(neighbour);
          }
        }
      }
      layers.push_back(std::move(layer));
      layer.assign(below.begin(), below.end());
    }
    return layers;
  }

  static void order(std::vector<Element>& elements, std::vector<std::vector<std::size_t>>& layers) {
    for (std::size_t number = 0; number < layers.size(); ++number) {
      for (const std::size_t place : layers[number]) {
        double sum = 0;
        double count = 0;
        for (const std::size_t neighbour : elements[place].neighbours) {
          if (elements[neighbour].layer + 1 == number) {
            sum += elements[neighbour].rank;
            ++count;
          }
        }
        elements[place].rank = count > 0 ? sum / count : 0.5;
      }
      std::stable_sort(
          layers[number].begin(), layers[number].end(),
          [&](std::size_t a, std::size_t b) { return elements[a].rank < elements[b].rank; });
      for (std::size_t i = 0; i < layers[number].size(); ++i) {
        elements[layers[number][i]].rank =
            (static_cast<double>(i) + 0.5) / static_cast<double>(layers[number].size());
      }
    }
  }

  // Places what is directly in a box, as seen from its corner, and gives its size.
  void fill(std::uint32_t box, double& width, double& height) {
    std::vector<Element> elements = elements_of(box);
    std::vector<std::vector<std::size_t>> layers = layers_of(elements);
    order(elements, layers);
    std::vector<std::vector<std::size_t>> rows;
    for (const std::vector<std::size_t>& layer : layers) {
      for (std::size_t first = 0; first < layer.size(); first += most_in_a_row) {
        const std::size_t end = std::min(first + most_in_a_row, layer.size());
        rows.emplace_back(layer.begin() + static_cast<std::ptrdiff_t>(first),
                          layer.begin() + static_cast<std::ptrdiff_t>(end));
      }
    }
    std::vector<double> widths;
    for (const auto& row : rows) {
      double sum = gap_x * static_cast<double>(row.size() - 1);
      for (const std::size_t place : row) {
        sum += area_of(elements[place]).width;
      }
      widths.push_back(sum);
    }
    const double inner = widths.empty() ? 0 : *std::max_element(widths.begin(), widths.end());
    double y = heading + padding;
    for (std::size_t number = 0; number < rows.size(); ++number) {
      double x = padding + (inner - widths[number]) / 2;
      double tallest = 0;
      for (const std::size_t place : rows[number]) {
        Area& area = area_of(elements[place]);
        area.x = x;
        area.y = y;
        x += area.width + gap_x;
        tallest = std::max(tallest, area.height);
      }
      y += tallest + gap_y;
    }
    width = inner + 2 * padding;
    height = y - gap_y + padding;
  }

  // From the corner of a box to that of the picture; outer boxes first.
  void shift_inside(std::uint32_t box) {
    const Area& outer = layout_.boxes[box];
    const auto shift = [&outer](Area& area) {
      area.x += outer.x;
      area.y += outer.y;
    };
    for (std::uint32_t number = box + 1; number < drawing_.boxes.size(); ++number) {
      if (drawing_.boxes[number].outer == box) {
        shift(layout_.boxes[number]);
      }
    }
    for (std::uint32_t number = 0; number < drawing_.nodes.size(); ++number) {
      if (drawing_.nodes[number].box == box) {
        shift(layout_.nodes[number]);
      }
    }
  }

  const Drawing& drawing_;
  Layout layout_;
};

Layout as_placed(const Drawing& drawing) {
  Layout layout;
  double widest = 0;
  for (const Drawing::Node& node : drawing.nodes) {
    widest = std::max(widest, size_of(node).width);
  }
  for (const Drawing::Node& node : drawing.nodes) {
    Area area = size_of(node);
    area.x = padding + node.position.x * (widest + 6 * gap_x);
    area.y = heading + padding + node.position.y * (node_height + gap_y);
    layout.width = std::max(layout.width, area.x + area.width + padding);
    layout.height = std::max(layout.height, area.y + area.height + padding);
    layout.nodes.push_back(area);
  }
  return layout;
}

}  // namespace

Layout lay_out(const Drawing& drawing) {
  return drawing.placed ? as_placed(drawing) : LayerLayout(drawing).lay_out();
}

}  // namespace tessera::drawing
