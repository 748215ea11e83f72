#include "graphs/library_choice.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "tessera/machine/topology/servers.hpp"

namespace tessera::sim {
namespace {

using Servers = std::map<std::uint32_t, std::vector<EntityId>>;

class Links {
 public:
  Links(const machine::Topology& topology, const machine::Routing& routing, Bytes bytes)
      : topology_(topology), routing_(routing), bytes_(bytes) {}

  // The vector once from each member to the next in its server.
  SimTime inside(const std::vector<EntityId>& members) const {
    SimTime longest;
    for (std::size_t i = 0; members.size() > 1 && i < members.size(); ++i) {
      const EntityId next = members[(i + 1) % members.size()];
      const machine::Path path = machine::path_between(topology_, routing_, members[i], next);
      longest = std::max(longest, serialization_time(bytes_, path.bottleneck));
    }
    return longest;
  }

  // The vector once from one server to the next, a part by each pair of members.
  SimTime between(const std::vector<EntityId>& from, const std::vector<EntityId>& to) const {
    const std::size_t pairs = std::min(from.size(), to.size());
    std::map<machine::Hop, std::uint64_t> loads;
    SimTime longest;
    for (std::size_t i = 0; i < pairs; ++i) {
      for (const machine::Hop& hop : machine::hops_between(topology_, routing_, from[i], to[i])) {
        const std::uint64_t load = ++loads[hop];
        const Bytes part((bytes_.count() * load + pairs - 1) / pairs);
        const machine::Link link = topology_.link(hop.node, hop.port);
        const Bandwidth bandwidth = topology_.link_classes()[link.link_class].bandwidth;
        longest = std::max(longest, serialization_time(part, bandwidth));
      }
    }
    return longest;
  }

 private:
  const machine::Topology& topology_;
  const machine::Routing& routing_;
  Bytes bytes_;
};

collective::LibraryLinks links_of(const Links& links, const Servers& servers, collective::Kind kind,
                                  std::size_t ranks) {
  collective::LibraryLinks all;
  for (auto server = servers.begin(); server != servers.end(); ++server) {
    all.inside = std::max(all.inside, links.inside(server->second));
    if (servers.size() > 1) {
      const auto next = std::next(server) == servers.end() ? servers.begin() : std::next(server);
      all.between = std::max(all.between, links.between(server->second, next->second));
    }
  }
  const double rounds = kind == collective::Kind::all_reduce ? 2 : 1;
  const double passed = rounds * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  const auto once = static_cast<double>(std::max(all.inside, all.between).ps());
  all.ring = SimTime::from_ps(static_cast<std::int64_t>(std::ceil(passed * once)));
  return all;
}

}  // namespace

LibraryOfGroups library_of_groups(const collective::LibrarySettings& settings,
                                  const machine::Machine& machine,
                                  std::shared_ptr<const machine::Routing> routing) {
  if (!settings.is_named()) {
    return {};
  }
  return [settings, &topology = *machine.topology, domains = machine::Servers(*machine.topology),
          routing = std::move(routing)](collective::Kind kind, const std::vector<EntityId>& nodes,
                                        Bytes bytes) -> std::optional<collective::LibraryChoice> {
    if (!collective::models(settings.library, kind)) {
      return std::nullopt;
    }
    Servers servers;
    for (const EntityId node : nodes) {
      servers[domains.of(node)].push_back(node);
    }
    return collective::choose(
        settings, kind,
        {static_cast<std::uint32_t>(nodes.size()), static_cast<std::uint32_t>(servers.size())},
        bytes, links_of(Links(topology, *routing, bytes), servers, kind, nodes.size()));
  };
}

}  // namespace tessera::sim
