#include <filesystem>
#include <set>
#include <string_view>

#include "experiment/parts.hpp"
#include "serving/experiment.hpp"
#include "tessera/core/error.hpp"
#include "tessera/serving/trace_time.hpp"

namespace tessera::sim {
namespace {

using config::Diagnostics;
using config::Value;

struct Field {
  std::string text;
  int column = 1;
};

std::vector<Field> fields_of(std::string_view whole) {
  std::vector<Field> fields;
  std::string_view line = whole;
  while (true) {
    const std::size_t end = std::min(line.find(','), line.size());
    std::string_view field = line.substr(0, end);
    while (!field.empty() && field.front() == ' ') {
      field.remove_prefix(1);
    }
    while (!field.empty() && (field.back() == ' ' || field.back() == '\r')) {
      field.remove_suffix(1);
    }
    fields.push_back({std::string(field), static_cast<int>(field.data() - whole.data()) + 1});
    if (end == line.size()) {
      return fields;
    }
    line.remove_prefix(end + 1);
  }
}

constexpr std::string_view in_seconds = "at [s]";

// Whether each column of a head is there once; complains of the first one that is not. Two columns
// of times are one twice.
bool names_columns_once(const std::vector<Field>& head, const config::Place& line,
                        Diagnostics& diagnostics) {
  const auto key = [](const Field& field) { return field.text == in_seconds ? "at" : field.text; };
  std::set<std::string> seen;
  for (const Field& field : head) {
    if (!seen.insert(key(field)).second) {
      diagnostics.error({line.file, line.line, field.column},
                        "a column '" + key(field) + "' is there already");
      return false;
    }
  }
  return true;
}

// A list of requests; "at [s]" is `at` in seconds.
Value parse_requests(const std::string& path, std::string_view text, Diagnostics& diagnostics) {
  Value list;
  list.kind = Value::Kind::sequence;
  list.place = {path, 1, 1};
  std::vector<Field> head;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::vector<Field> fields = fields_of(line);
    if ((fields.size() == 1 && fields[0].text.empty()) || line.front() == '#') {
      continue;
    }
    if (head.empty()) {
      head = fields;
      if (!names_columns_once(head, {path, number, 1}, diagnostics)) {
        return {};
      }
      continue;
    }
    const config::Place place{path, number, 1};
    if (fields.size() != head.size()) {
      diagnostics.error(place, "expected " + std::to_string(head.size()) + " fields, not " +
                                   std::to_string(fields.size()));
      return {};
    }
    Value entry;
    entry.kind = Value::Kind::mapping;
    entry.place = place;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string& written = fields[i].text;
      if (written.empty()) {
        continue;
      }
      Value value;
      value.kind = Value::Kind::scalar;
      value.place = {path, number, fields[i].column};
      const bool timed = head[i].text == in_seconds;
      const auto ps =
          timed ? serving::ps_from(written, 1) : std::optional<std::int64_t>();  // rounded
      value.text = ps ? std::to_string(*ps) + " ps" : timed ? written + " s" : written;
      entry.members.push_back({timed ? "at" : head[i].text, value.place, std::move(value)});
    }
    list.items.push_back(std::move(entry));
  }
  return list;
}

void include(Value* value, const std::string& what, bool lists, const config::TextLoader& load,
             Diagnostics& diagnostics) {
  if (value == nullptr || value->kind != Value::Kind::scalar) {
    return;
  }
  const std::string path = config::path_beside(value->place, value->text);
  std::string text;
  try {
    text = load(path);
  } catch (const IoError& error) {
    diagnostics.error(value->place, what + ": " + error.what());
    return;
  }
  const bool is_csv = lists && std::filesystem::path(path).extension() == ".csv";
  *value =
      is_csv ? parse_requests(path, text, diagnostics) : config::parse(path, text, diagnostics);
}

}  // namespace

void include_served(Value& root, const config::TextLoader& load, Diagnostics& diagnostics) {
  Value* const workload = value_of(&root, "workload");
  Value* const tenants = value_of(workload, "tenants");
  if (tenants == nullptr) {
    return;
  }
  for (Value& tenant : tenants->items) {
    include(value_of(&tenant, "language_model"), "language_model", false, load, diagnostics);
    include(value_of(value_of(&tenant, "requests"), "list"), "requests.list", true, load,
            diagnostics);
  }
}

}  // namespace tessera::sim
