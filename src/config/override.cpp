#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "excerpt.hpp"
#include "parse.hpp"

namespace tessera::config {
namespace {

constexpr std::size_t most_segments = 64;

struct Segment {
  std::string_view text;
  std::size_t offset;
};

std::vector<Segment> split(std::string_view path) {
  std::vector<Segment> segments;
  std::size_t start = 0;
  while (true) {
    const std::size_t dot = std::min(path.find('.', start), path.size());
    segments.push_back({path.substr(start, dot - start), start});
    if (dot == path.size()) {
      return segments;
    }
    start = dot + 1;
  }
}

Value::Member& member(Value& mapping, const Segment& segment, const std::string& file) {
  const auto found = std::find_if(mapping.members.begin(), mapping.members.end(),
                                  [&](const Value::Member& m) { return m.key == segment.text; });
  if (found != mapping.members.end()) {
    return *found;
  }
  const Place place{file, 1, static_cast<int>(segment.offset) + 1};
  mapping.members.push_back({std::string(segment.text), place, Value{}});
  mapping.members.back().value.place = place;
  return mapping.members.back();
}

// The item of a list that a segment names: a number from 0 on.
std::optional<std::size_t> item_of(const Value& list, const Segment& segment) {
  std::size_t number = 0;
  const char* const end = segment.text.data() + segment.text.size();
  const std::from_chars_result read = std::from_chars(segment.text.data(), end, number);
  const bool is_there = read.ec == std::errc() && read.ptr == end && number < list.items.size();
  return is_there ? std::optional(number) : std::nullopt;
}

bool is_number(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string what_is(const Value& at, const Segment& segment) {
  if (at.kind == Value::Kind::scalar) {
    return "single value";
  }
  return is_number(segment.text) ? "list of " + std::to_string(at.items.size()) + ", from 0 on"
                                 : "list";
}

bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F && c != '[' && c != ']';
}

}  // namespace

void apply_override(Value& root, const std::string& assignment, Diagnostics& diagnostics) {
  const std::string file = "--set " + assignment;
  const auto refuse = [&](std::size_t offset, const std::string& message) {
    diagnostics.error({file, 1, static_cast<int>(offset) + 1}, message);
  };
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) {
    return refuse(0, "expected key.path=value");
  }
  const std::string path = assignment.substr(0, equals);
  const std::vector<Segment> segments = split(path);
  if (segments.size() > most_segments) {
    return refuse(0, "more than " + std::to_string(most_segments) + " levels");
  }
  for (const Segment& segment : segments) {
    if (segment.text.empty()) {
      return refuse(segment.offset, "a key is missing in the path " + excerpt(path));
    }
    if (!std::all_of(segment.text.begin(), segment.text.end(), is_plain)) {
      return refuse(segment.offset,
                    excerpt(segment.text) + " cannot stand in a path; a list is replaced whole");
    }
  }
  // Checked before anything changes: a refused override leaves the document as it was.
  const Value* at = &root;
  for (const Segment& segment : segments) {
    if (at->kind == Value::Kind::sequence) {
      if (const auto item = item_of(*at, segment)) {
        at = &at->items[*item];
        continue;
      }
    }
    if (at->kind == Value::Kind::scalar || at->kind == Value::Kind::sequence) {
      const std::string above =
          segment.offset == 0 ? "the document" : path.substr(0, segment.offset - 1);
      return refuse(segment.offset, above + " is a " + what_is(*at, segment) + "; " +
                                        excerpt(segment.text) + " cannot be set in it");
    }
    const Value::Member* next = at->find(segment.text);
    if (next == nullptr) {
      break;
    }
    at = &next->value;
  }
  Diagnostics problems;
  Value value =
      parse_at({file, path, static_cast<int>(equals) + 1}, assignment.substr(equals + 1), problems);
  if (!problems.empty()) {
    for (const Diagnostic& problem : problems.list()) {
      diagnostics.error({problem.file, problem.line, problem.column}, problem.message);
    }
    return;
  }
  Value* target = &root;
  for (const Segment& segment : segments) {
    if (target->kind == Value::Kind::null) {
      target->kind = Value::Kind::mapping;
    }
    if (target->kind == Value::Kind::sequence) {
      target = &target->items[*item_of(*target, segment)];
      continue;
    }
    Value::Member& next = member(*target, segment, file);
    if (&segment == &segments.back()) {
      next.key_place = {file, 1, static_cast<int>(segment.offset) + 1};
    }
    target = &next.value;
  }
  *target = std::move(value);
}

}  // namespace tessera::config
