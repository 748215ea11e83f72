#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "layout.hpp"
#include "tessera/core/text.hpp"
#include "tessera/drawing/drawing.hpp"

namespace tessera::drawing {
namespace {

// ColorBrewer's Dark2.
constexpr std::array<const char*, 8> colors{"#1b9e77", "#d95f02", "#7570b3", "#e7298a",
                                            "#66a61e", "#e6ab02", "#a6761d", "#666666"};
constexpr double legend_line = 18;

std::string number(double value) {
  return format_number(std::round(value * 10) / 10);
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:  // XML has no characters for most of what controls terminals
        result += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
    }
  }
  return result;
}

std::string text_at(double x, double y, const std::string& text, const std::string& more) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" " + more + ">" + escaped(text) +
         "</text>\n";
}

std::string rectangle(const Area& area, const std::string& more) {
  return "<rect x=\"" + number(area.x) + "\" y=\"" + number(area.y) + "\" width=\"" +
         number(area.width) + "\" height=\"" + number(area.height) + "\" " + more + "/>\n";
}

class SvgWriter {
 public:
  explicit SvgWriter(const Drawing& drawing) : drawing_(drawing), layout_(lay_out(drawing)) {
    for (const Drawing::Line& line : drawing.lines) {
      kinds_.try_emplace(kind_of(line), kinds_.size());
    }
  }

  std::string write() && {
    const double legend = legend_line * static_cast<double>(kinds_.size() + 1);
    const double width =
        std::max({layout_.width, 24 + 7.5 * static_cast<double>(drawing_.title.size()), 360.0});
    const double height = layout_.height + legend + 16;
    text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" +
            number(height) + "\" viewBox=\"0 0 " + number(width) + " " + number(height) +
            "\" font-family=\"sans-serif\" font-size=\"12\">\n<!-- tessera show, topology -->\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
            text_at(12, 18, drawing_.title, "font-weight=\"bold\"");
    for (std::size_t box = 0; box < drawing_.boxes.size(); ++box) {
      text_ += rectangle(layout_.boxes[box],
                         "rx=\"6\" fill=\"#000000\" fill-opacity=\"0.03\" stroke=\"#999999\"") +
               text_at(layout_.boxes[box].x + 8, layout_.boxes[box].y + 16,
                       drawing_.boxes[box].name, "font-weight=\"bold\" fill=\"#444444\"");
    }
    for (const Drawing::Line& line : drawing_.lines) {
      write_line(line);
    }
    for (std::size_t node = 0; node < drawing_.nodes.size(); ++node) {
      write_node(drawing_.nodes[node], layout_.nodes[node]);
    }
    text_ += labels_;
    write_legend();
    return text_ + "</svg>\n";
  }

 private:
  // What the legend tells apart: links without their number.
  static std::string kind_of(const Drawing::Line& line) {
    Drawing::Line one = line;
    one.count = 1;
    return one.label();
  }
  std::string color_of(const Drawing::Line& line) const {
    return colors[kinds_.at(kind_of(line)) % colors.size()];
  }

  // A label is written once for lines of one kind between nodes of the same rows.
  void write_label(const Drawing::Line& line, double x, double y) {
    const Area& from = layout_.nodes[line.from];
    const Area& to = layout_.nodes[line.to];
    if (labelled_.emplace(from.y, to.y, line.label()).second) {
      labels_ += text_at(x, y, line.label(),
                         "text-anchor=\"middle\" font-size=\"10\" fill=\"" + color_of(line) +
                             "\" stroke=\"white\" stroke-width=\"3\" paint-order=\"stroke\"");
    }
  }

  void write_line(const Drawing::Line& line) {
    const Area& from = layout_.nodes[line.from];
    const Area& to = layout_.nodes[line.to];
    double x1 = from.center_x();
    double x2 = to.center_x();
    const bool down = to.center_y() > from.center_y();
    double y1 = from.center_y() + (down ? 1 : -1) * from.height / 2;
    double y2 = to.center_y() - (down ? 1 : -1) * to.height / 2;
    double bend = 0;
    if (std::abs(to.center_y() - from.center_y()) < 1) {
      const double between = std::abs(x2 - x1) - (from.width + to.width) / 2;
      const bool next = drawing_.placed && between < 200;
      y1 = y2 = next && line.from != line.to ? from.center_y() : from.y + from.height;
      if (line.from == line.to) {
        x1 -= 16;
        x2 += 16;
        bend = 36;
      } else if (next) {
        x1 += (x2 > x1 ? 1 : -1) * from.width / 2;
        x2 -= (x2 > x1 ? 1 : -1) * to.width / 2;
      } else {
        bend = 30;
      }
    }
    const double middle_x = (x1 + x2) / 2;
    const double middle_y = (y1 + y2) / 2;
    // Labels of different kinds in one row of lines are at different heights.
    const double share = std::abs(y2 - y1) < 1
                             ? 0.5
                             : 0.36 + 0.14 * static_cast<double>(kinds_.at(kind_of(line)) % 3);
    const bool one_way = line.backward && line.backward->empty();
    text_ += "<path d=\"M " + number(x1) + " " + number(y1) + " Q " + number(middle_x) + " " +
             number(middle_y + 2 * bend) + " " + number(x2) + " " + number(y2) +
             "\" fill=\"none\" stroke=\"" + color_of(line) + "\" stroke-width=\"" +
             (line.count > 1 ? "3" : "1.4") + "\"><title>" +
             escaped(drawing_.nodes[line.from].name + (one_way ? " to " : " and ") +
                     drawing_.nodes[line.to].name + ": " + line.label()) +
             "</title></path>\n";
    if (one_way) {
      const double length = std::max(1.0, std::hypot(x2 - x1, y2 - y1));
      text_ += "<circle cx=\"" + number(x2 - 6 * (x2 - x1) / length) + "\" cy=\"" +
               number(y2 - 6 * (y2 - y1) / length) + "\" r=\"3.5\" fill=\"" + color_of(line) +
               "\"/>\n";
    }
    write_label(line, x1 + share * (x2 - x1), y1 + share * (y2 - y1) + bend + 3);
  }

  void write_node(const Drawing::Node& node, const Area& area) {
    switch (node.role) {
      case machine::NodeRole::tile:
        text_ += rectangle(area, "rx=\"8\" fill=\"#cfe2f3\" stroke=\"#3d6fa5\"");
        break;
      case machine::NodeRole::switching:
        text_ += "<ellipse cx=\"" + number(area.center_x()) + "\" cy=\"" + number(area.center_y()) +
                 "\" rx=\"" + number(area.width / 2) + "\" ry=\"" + number(area.height / 2) +
                 "\" fill=\"#fce5cd\" stroke=\"#b45f06\"/>\n";
        break;
      case machine::NodeRole::memory:
        write_cylinder(area);
        break;
    }
    const double up = node.note.empty() ? 0 : 6;
    text_ +=
        text_at(area.center_x(), area.center_y() + 4 - up, node.name, "text-anchor=\"middle\"");
    if (!node.note.empty()) {
      text_ += text_at(area.center_x(), area.center_y() + 14, node.note,
                       "text-anchor=\"middle\" font-size=\"10\" fill=\"#444444\"");
    }
  }

  void write_cylinder(const Area& area) {
    const std::string arc = number(area.width / 2) + " 6 0 0 ";
    const std::string left = number(area.x);
    const std::string right = number(area.x + area.width);
    const std::string top = number(area.y + 6);
    const std::string bottom = number(area.y + area.height - 6);
    text_ += "<path d=\"M " + left + " " + top + " A " + arc + "1 " + right + " " + top + " L " +
             right + " " + bottom + " A " + arc + "1 " + left + " " + bottom + " Z M " + left +
             " " + top + " A " + arc + "0 " + right + " " + top +
             "\" fill=\"#d9ead3\" stroke=\"#38761d\"/>\n";
  }

  void write_legend() {
    std::vector<std::string> by_number(kinds_.size());
    for (const auto& [kind, place] : kinds_) {
      by_number[place] = kind;
    }
    double y = layout_.height + legend_line;
    for (std::size_t i = 0; i < by_number.size(); ++i, y += legend_line) {
      text_ += "<line x1=\"16\" y1=\"" + number(y) + "\" x2=\"46\" y2=\"" + number(y) +
               "\" stroke=\"" + colors[i % colors.size()] + "\" stroke-width=\"3\"/>\n" +
               text_at(54, y + 4, by_number[i], "fill=\"#222222\"");
    }
  }

  const Drawing& drawing_;
  Layout layout_;
  std::map<std::string, std::size_t> kinds_;
  std::set<std::tuple<double, double, std::string>> labelled_;
  std::string text_;
  std::string labels_;  // above everything else
};

}  // namespace

std::string to_svg(const Drawing& drawing) {
  return SvgWriter(drawing).write();
}

}  // namespace tessera::drawing
