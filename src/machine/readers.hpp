// What the makers of topologies read alike.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/config/key.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

// Reads `bandwidth` and `latency` of a link, both above zero.
LinkClass read_link_class(config::Section& section, std::string name);

// Whether both values of a class were read; else the section has complained.
bool was_read(const LinkClass& link_class);

// The sequence at `key`; empty when absent or empty, nullopt when the section has complained
// itself.
template <class T>
std::optional<std::vector<T>> read_list(config::Section& section, std::string_view key) {
  const config::Value value = section.raw(key);
  const bool given = value.kind != config::Value::Kind::null &&
                     (value.kind != config::Value::Kind::sequence || !value.items.empty());
  auto list = section.get_list<T>(key);
  if (given && list.empty()) {
    return std::nullopt;
  }
  return list;
}

// The nodes listed at `nodes`, by numbers or names, in the order given.
std::vector<EntityId> read_listed_nodes(config::Section& section, const Topology& topology);

// The two parameters that read_link_class reads; `prefix` is that of the section ("intra_tile.").
std::vector<ParameterInfo> link_parameters(const std::string& prefix);
// `own` and behind them those of links; `prefixes` is any range of text.
template <class Prefixes>
std::vector<ParameterInfo> with_links(std::vector<ParameterInfo> own, const Prefixes& prefixes) {
  for (const auto& prefix : prefixes) {
    for (ParameterInfo& parameter : link_parameters(prefix)) {
      own.push_back(std::move(parameter));
    }
  }
  return own;
}

// A number of things that a machine has: from 1 on, fewer than the nodes it may have.
config::RequiredKey<std::uint32_t> count_key(std::string_view name, std::string_view help);

// Complains at `key` when a machine of rows × columns nodes would be too large.
bool fits_node_limit(config::Section& section, const std::string& key, std::uint64_t rows,
                     std::uint64_t columns);

// A mesh, or a torus if it wraps, of {rows, columns, bandwidth, latency}.
std::unique_ptr<Topology> read_grid(config::Section& section, bool wraps);
std::vector<ParameterInfo> grid_parameters();

}  // namespace tessera::machine
