#include "readers.hpp"

#include <array>
#include <set>
#include <utility>

#include "tessera/machine/node_finder.hpp"
#include "topology/grid_topology.hpp"

namespace tessera::machine {
namespace {

using config::RequiredKey;

struct RateKeys {
  explicit RateKeys(const std::string& prefix)
      : bandwidth(prefix + "bandwidth", "bandwidth of one link in one direction, > 0",
                  config::at_least(Bandwidth::bytes_per_second(1))),
        latency(prefix + "latency", "time of a packet's head from node to node, > 0",
                config::at_least(SimTime::from_ps(1))) {}

  RequiredKey<Bandwidth> bandwidth;
  RequiredKey<SimTime> latency;
};

struct GridKeys {
  RequiredKey<std::int64_t> rows{"rows", "tiles from north to south",
                                 config::at_least<std::int64_t>(1)};
  RequiredKey<std::int64_t> columns{"columns", "tiles from west to east",
                                    config::at_least<std::int64_t>(1)};
};

const GridKeys& grid_keys() {
  static const GridKeys keys;
  return keys;
}

}  // namespace

LinkClass read_link_class(config::Section& section, std::string name) {
  static const RateKeys keys("");
  const Bandwidth bandwidth = keys.bandwidth.read(section);
  const SimTime latency = keys.latency.read(section);
  return {std::move(name), latency, bandwidth};
}

bool was_read(const LinkClass& link_class) {
  return link_class.bandwidth > Bandwidth() && link_class.latency > SimTime::zero();
}

std::vector<EntityId> read_listed_nodes(config::Section& section, const Topology& topology) {
  std::vector<EntityId> nodes;
  std::set<EntityId> listed;
  const auto given = read_list<std::string>(section, "nodes");
  const std::vector<std::string> texts = given.value_or(std::vector<std::string>());
  if (given && texts.empty()) {
    section.error("nodes", "must list at least one node");
  }
  NodeFinder find_node(topology);
  for (const std::string& text : texts) {
    const std::optional<EntityId> node = find_node(text);
    if (!node) {
      section.error("nodes", "there is no node '" + text + "'; nodes are numbered 0 to " +
                                 std::to_string(topology.nodes() - 1));
    } else if (!listed.insert(*node).second) {
      section.error("nodes", "node '" + text + "' is listed twice");
    } else {
      nodes.push_back(*node);
    }
  }
  return nodes;
}

std::vector<ParameterInfo> link_parameters(const std::string& prefix) {
  const RateKeys keys(prefix);
  return {keys.bandwidth, keys.latency};
}

RequiredKey<std::uint32_t> count_key(std::string_view name, std::string_view help) {
  return {name, help, config::between(1U, node_limit)};
}

bool fits_node_limit(config::Section& section, const std::string& key, std::uint64_t rows,
                     std::uint64_t columns) {
  std::uint64_t nodes = 0;
  if (!__builtin_mul_overflow(rows, columns, &nodes) && nodes < node_limit) {
    return true;
  }
  section.error(key, std::to_string(rows) + " x " + std::to_string(columns) +
                         " nodes are too many; there must be fewer than " +
                         std::to_string(node_limit));
  return false;
}

std::unique_ptr<Topology> read_grid(config::Section& section, bool wraps) {
  const std::int64_t rows = grid_keys().rows.read(section);
  const std::int64_t columns = grid_keys().columns.read(section);
  std::vector<LinkClass> classes{read_link_class(section, "link")};
  if (rows < 1 || columns < 1 || !was_read(classes.front()) ||
      !fits_node_limit(section, rows < columns ? "columns" : "rows",
                       static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns))) {
    return nullptr;
  }
  const Grid grid{.rows = static_cast<std::uint32_t>(rows),
                  .columns = static_cast<std::uint32_t>(columns),
                  .wraps = wraps};
  return std::make_unique<GridTopology>(grid, std::move(classes));
}

std::vector<ParameterInfo> grid_parameters() {
  return with_links({grid_keys().rows, grid_keys().columns}, std::array{""});
}

}  // namespace tessera::machine
