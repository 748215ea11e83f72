#include "store/run_map.hpp"

#include <algorithm>

#include "chrome/writer.hpp"

namespace tessera::trace {
namespace {

template <class Value>
void keep_different(std::vector<Value>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  values.shrink_to_fit();
}

}  // namespace

void NumberedNames::set_list(std::string_view comma_separated) {
  std::uint32_t number = 0;
  while (!comma_separated.empty()) {
    const std::size_t comma = std::min(comma_separated.find(','), comma_separated.size());
    set(number++, comma_separated.substr(0, comma));
    comma_separated.remove_prefix(std::min(comma + 1, comma_separated.size()));
  }
}

void NumberedNames::set(std::uint32_t number, std::string_view name) {
  names_.try_emplace(number, Name{std::string(name), json_text(name)});
}

const std::string& NumberedNames::json(std::uint32_t number) {
  auto found = names_.find(number);
  if (found == names_.end()) {
    Name name{"", json_text(what_ + " " + std::to_string(number))};
    found = names_.emplace(number, std::move(name)).first;
  }
  return found->second.json;
}

std::string NumberedNames::plain(std::uint32_t number) const {
  const auto found = names_.find(number);
  return found == names_.end() ? "" : found->second.plain;
}

void RunMap::gather(const RankTrace& trace) {
  trace.for_each<NodeRow>(nodes, [this](const NodeRow& row) {
    nodes_.push_back({row.node, {row.tenant, std::max(row.stage, no_stage)}});
  });
  trace.for_each<NameRow>(names, [this](const NameRow& row) {
    const auto end = std::find(row.text.begin(), row.text.end(), '\0');
    operators.set(row.name, std::string(row.text.begin(), end));
  });
  phases.set_list(trace.attribute("phases"));
  activities.set_list(trace.attribute("activities"));
  traffic.set_list(trace.attribute("traffic"));
  tenants.set_list(trace.attribute("tenants"));
}

void RunMap::settle() {
  std::sort(nodes_.begin(), nodes_.end(),
            [](const Node& a, const Node& b) { return a.number < b.number; });
  for (const Node& node : nodes_) {
    if (node.group.stage > no_stage) {
      stages_.push_back(node.group.stage);
      groups_.push_back(node.group);
    }
  }
  keep_different(stages_);
  keep_different(groups_);
}

const RunMap::Node* RunMap::find(std::uint32_t node) const {
  const auto found =
      std::lower_bound(nodes_.begin(), nodes_.end(), node,
                       [](const Node& a, std::uint32_t number) { return a.number < number; });
  return found == nodes_.end() || found->number != node ? nullptr : &*found;
}

std::int64_t RunMap::stage_of(std::uint32_t node) const {
  return group_of(node).stage;
}

RunMap::Group RunMap::group_of(std::uint32_t node) const {
  const Node* found = find(node);
  return found == nullptr ? Group{} : found->group;
}

}  // namespace tessera::trace
