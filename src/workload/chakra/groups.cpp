#include "chakra/groups.hpp"

#include <limits>
#include <utility>
#include <vector>

#include "tessera/workload/chakra/chakra.hpp"

namespace tessera::workload {
namespace {

using config::Value;

std::optional<std::vector<std::uint32_t>> members_of(const Value& list) {
  if (list.kind != Value::Kind::sequence) {
    return std::nullopt;
  }
  std::vector<std::uint32_t> members;
  for (const Value& item : list.items) {
    std::string problem;
    const auto number = item.kind == Value::Kind::scalar
                            ? config::parse_as<std::int64_t>(item.text, problem)
                            : std::nullopt;
    if (!number || *number < 0 || *number > std::numeric_limits<std::uint32_t>::max()) {
      return std::nullopt;
    }
    members.push_back(static_cast<std::uint32_t>(*number));
  }
  return members;
}

// JSON is YAML, but for the depth that is looked into here.
bool add(const Value& value, int depth, GraphGroups& groups, std::string& problem) {
  if (depth == 0) {
    problem = "too deep";
    return false;
  }
  if (value.kind == Value::Kind::sequence) {
    for (const Value& item : value.items) {
      if (!add(item, depth - 1, groups, problem)) {
        return false;
      }
    }
    return true;
  }
  if (value.kind == Value::Kind::mapping) {
    const Value::Member* const name = value.find("pg_name");
    const Value::Member* const ranks = value.find("ranks");
    const auto members = ranks == nullptr ? std::nullopt : members_of(ranks->value);
    if (name == nullptr || name->value.kind != Value::Kind::scalar || !members) {
      problem = "an entry without pg_name and a list of ranks";
      return false;
    }
    groups[name->value.text] = *members;
    return true;
  }
  if (value.kind == Value::Kind::scalar) {
    config::Diagnostics diagnostics;
    const Value inner = config::parse("communicators", value.text, diagnostics);
    if (!diagnostics.empty()) {
      problem = diagnostics.list().front().message;
      return false;
    }
    if (inner.kind != Value::Kind::scalar) {
      return add(inner, depth - 1, groups, problem);
    }
  }
  problem = "neither a list nor an entry";
  return false;
}

}  // namespace

bool add_groups(const std::string& text, GraphGroups& groups, std::string& problem) {
  Value whole;
  whole.kind = Value::Kind::scalar;
  whole.text = text;
  return add(whole, 5, groups, problem);
}

GraphGroups read_groups(const std::string& path, const config::TextLoader& load) {
  config::Diagnostics diagnostics;
  const Value value = config::parse(path, config::load_named(path, load), diagnostics);
  GraphGroups groups;
  if (diagnostics.empty() && value.kind != Value::Kind::mapping) {
    diagnostics.error({path, 1, 1}, "must be a mapping of communicators to lists of NPUs");
  }
  for (const Value::Member& member : value.members) {
    auto members = members_of(member.value);
    if (!members || members->empty()) {
      diagnostics.error(member.key_place,
                        "communicator " + member.key + " must be a list of NPUs, from 0 on");
      continue;
    }
    groups[member.key] = *std::move(members);
  }
  diagnostics.throw_if_any();
  return groups;
}

}  // namespace tessera::workload
