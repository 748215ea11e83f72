#include "tessera/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <numeric>

namespace tessera {
namespace {

// Two neighbours that changed places are one edit.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);  // of two letters less of `a`
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

// Beside a suggestion: a user's own names, such as those of nodes, may be many.
constexpr std::size_t most_listed = 50;

bool looks_numeric(std::string_view cell) {
  return !cell.empty() &&
         (std::string_view("0123456789").find(cell.front()) != std::string_view::npos ||
          (cell.size() > 1 && (cell.front() == '-' || cell.front() == '+') &&
           std::string_view("0123456789").find(cell[1]) != std::string_view::npos));
}

// Characters a terminal shows, for text in UTF-8.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

std::string nearest_match(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance =
      std::max<std::size_t>(1, std::max<std::size_t>(name.size(), 3) / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < std::min(best_distance, name.size())) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string unknown_name(std::string_view kind, std::string_view name,
                         std::span<const std::string> candidates) {
  const std::string nearest = nearest_match(name, candidates);
  if (nearest.empty()) {
    return fmt::format("unknown {} '{}'; known: {}", kind, name, join(candidates));
  }
  const std::string text = fmt::format("unknown {} '{}'; did you mean '{}'?", kind, name, nearest);
  return candidates.size() > most_listed ? text : text + " known: " + join(candidates);
}

std::string join(std::span<const std::string> items, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) {
      text += separator;
    }
    text += items[i];
  }
  return text;
}

std::string format_number(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return error == std::errc() ? std::string(buffer, end) : fmt::format("{}", value);
}

std::string TextTable::to_string() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      line += i == 0 ? "" : "  ";
      line += looks_numeric(row[i]) ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace tessera
