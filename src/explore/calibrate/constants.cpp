#include "calibrate/constants.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <string_view>

#include "tessera/core/error.hpp"

namespace tessera::explore {
namespace {

// Digits behind the point that a quantity may have, which is a whole number of its base unit:
// powers of ten of a picosecond, of a byte, of a FLOP; and a share of a millionth.
int most_behind(const std::string& unit) {
  static const std::map<std::string, int> times{
      {" ps", 0}, {" ns", 3}, {" us", 6}, {" ms", 9}, {" s", 12}};
  static const std::map<char, int> prefixes{{'k', 3}, {'M', 6}, {'G', 9}, {'T', 12}, {'P', 15}};
  if (const auto time = times.find(unit); time != times.end()) {
    return time->second;
  }
  constexpr int of_numbers = 6;  // as shares have at most
  constexpr int of_percent = 4;
  if (unit.find('%') != std::string::npos) {
    return of_percent;
  }
  if (unit.size() < 2) {
    return of_numbers;
  }
  const auto prefix = prefixes.find(unit[1]);
  return prefix == prefixes.end() || unit.find('i') != std::string::npos ? 0 : prefix->second;
}

// Of a mapping the value of a key, of a list the item of a number from 0 on; null: there is none.
const config::Value* inside(const config::Value& value, std::string_view name) {
  if (value.kind != config::Value::Kind::sequence) {
    const config::Value::Member* const member = value.find(name);
    return member == nullptr ? nullptr : &member->value;
  }
  std::size_t number = 0;
  const auto [rest, fault] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_there =
      fault == std::errc() && rest == name.data() + name.size() && number < value.items.size();
  return is_there ? &value.items[number] : nullptr;
}

const config::Value* find(const config::Value& root, std::string_view key) {
  const config::Value* at = &root;
  while (at != nullptr && !key.empty()) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    at = inside(*at, key.substr(0, dot));
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  return at;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string without_blanks(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(" \t\r"), text.size()));
  text.erase(text.find_last_not_of(" \t\r") + 1);
  return text;
}

}  // namespace

std::string NumberInFile::text_of(double number, int digits) const {
  if (is_whole) {
    return std::to_string(std::max<long long>(0, std::llround(number))) + unit;
  }
  // Digits behind the point, so that `digits` count; times have whole picoseconds.
  int behind = std::max(0, digits - 1 - static_cast<int>(std::floor(std::log10(number))));
  behind = std::min(behind, most_behind(unit));
  std::vector<char> text(400);
  const int digits_written = std::snprintf(text.data(), text.size(), "%.*f", behind, number);
  std::string written(text.data(), static_cast<std::size_t>(digits_written));
  if (written.find('.') != std::string::npos) {
    written.erase(written.find_last_not_of('0') + 1);
    if (written.back() == '.') {
      written.pop_back();
    }
  }
  return written + unit;
}

std::vector<NumberInFile> find_numbers(const std::string& path, const std::string& text,
                                       const std::vector<std::string>& keys,
                                       config::Diagnostics& diagnostics) {
  const config::Value root = config::parse(path, text, diagnostics);
  std::vector<NumberInFile> numbers;
  if (!diagnostics.empty()) {
    return numbers;
  }
  for (const std::string& key : keys) {
    const config::Value* const value = find(root, key);
    if (value == nullptr) {
      diagnostics.error({path, 1, 1},
                        key + ": is not in the file; write it there with a first value");
      continue;
    }
    NumberInFile number;
    number.key = key;
    number.place = value->place;
    number.length = value->text.size() + (value->quoted ? 2 : 0);
    const char* const end = value->text.data() + value->text.size();
    const auto [rest, fault] = std::from_chars(value->text.data(), end, number.value);
    if (value->kind != config::Value::Kind::scalar || fault != std::errc() || !(number.value > 0) ||
        !std::isfinite(number.value)) {
      diagnostics.error(value->place, key + ": only a number above 0 can be fitted");
      continue;
    }
    number.unit = std::string(rest, end);
    numbers.push_back(number);
  }
  return numbers;
}

std::string with_numbers(const std::string& text, const std::vector<NumberInFile>& numbers,
                         const std::vector<std::string>& texts,
                         const std::vector<std::string>& comments) {
  std::vector<std::string> lines = lines_of(text);
  // From the end of the file to its begin, so that places stay right.
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const config::Place& one = numbers[a].place;
    const config::Place& other = numbers[b].place;
    return std::pair(one.line, one.column) > std::pair(other.line, other.column);
  });
  std::vector<std::string> above;  // comments of the line, of what is on its right
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::size_t i = order[place];
    const NumberInFile& number = numbers[i];
    const auto at = static_cast<std::size_t>(number.place.line) - 1;
    ensure(at < lines.size(), "a number behind the end of its file");
    std::string& line = lines[at];
    const auto begin = static_cast<std::size_t>(number.place.column) - 1;
    const std::string behind = line.substr(std::min(begin + number.length, line.size()));
    const std::string rest = without_blanks(behind);
    const bool is_alone = rest.empty() || rest.front() == '#';
    const std::string told =
        is_alone && !rest.empty() ? "; before: " + without_blanks(rest.substr(1)) : "";
    line = line.substr(0, begin) + texts[i] + (is_alone ? "  # " + comments[i] + told : behind);
    if (!is_alone) {
      const std::string margin(std::min(line.find_first_not_of(' '), line.size()), ' ');
      above.push_back(margin + "# " + number.key + ": " + comments[i]);
    }
    const bool is_first =
        place + 1 == order.size() || numbers[order[place + 1]].place.line != number.place.line;
    if (is_first) {
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), above.rbegin(), above.rend());
      above.clear();
    }
  }
  std::string joined;
  for (const std::string& line : lines) {
    joined += line + "\n";
  }
  return joined;
}

}  // namespace tessera::explore
