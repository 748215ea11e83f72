#include "flow/parts.hpp"

#include <algorithm>
#include <numeric>

namespace tessera::network {
namespace {

constexpr std::uint32_t none = EntityId::none().value();

// Sets of numbers, joined two by two. Roots are the lowest of their set.
class Sets {
 public:
  explicit Sets(std::size_t numbers) : parent_(numbers) {
    std::iota(parent_.begin(), parent_.end(), std::uint32_t{0});
  }
  std::uint32_t root(std::uint32_t number) {
    while (parent_[number] != number) {
      parent_[number] = parent_[parent_[number]];  // halves the way
      number = parent_[number];
    }
    return number;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = root(a);
    b = root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

// Gives parts whose lowest senders are close together one hub.
void bundle(std::vector<std::uint32_t>& hub_of_part, const machine::Topology& topology) {
  std::uint32_t domains = 0;
  for (const std::uint32_t hub : hub_of_part) {
    domains = hub == none ? domains : std::max(domains, topology.domain(EntityId(hub)) + 1);
  }
  const std::uint32_t bundles = std::min(domains, FlowParts::most_hubs);
  const auto bundle_of = [&](std::uint32_t hub) {
    return static_cast<std::size_t>(std::uint64_t{topology.domain(EntityId(hub))} * bundles /
                                    domains);
  };
  std::vector<std::uint32_t> first(bundles, none);
  for (const std::uint32_t hub : hub_of_part) {
    if (hub != none) {
      first[bundle_of(hub)] = std::min(first[bundle_of(hub)], hub);
    }
  }
  for (std::uint32_t& hub : hub_of_part) {
    hub = hub == none ? none : first[bundle_of(hub)];
  }
}

}  // namespace

FlowParts::FlowParts(const machine::Topology& topology) : topology_(topology), numbers_(topology) {}

void FlowParts::learn(const machine::Routing& routing, const PairVisit& pairs, bool with_nodes) {
  const std::uint32_t links = numbers_.count();
  const std::uint32_t nodes = topology_.nodes();
  Sets sets(links + (with_nodes ? nodes : 0));
  std::vector<std::uint32_t> sender(links, none);  // lowest whose route begins there
  std::vector<bool> is_used(links);
  pairs([&](EntityId from, EntityId to) {
    if (from == to) {
      return;
    }
    std::uint32_t first = none;
    for (const machine::Hop& hop : machine::hops_between(topology_, routing, from, to)) {
      const std::uint32_t link = numbers_.number(hop.node, hop.port);
      is_used[link] = true;
      if (first == none) {
        first = link;
        sender[link] = std::min(sender[link], from.value());
      } else {
        sets.join(first, link);
      }
    }
    if (with_nodes) {
      sets.join(first, links + from.value());
      sets.join(first, links + to.value());
    }
  });
  std::vector<std::uint32_t> hub_of_root(links, none);  // by the lowest link of a part
  for (std::uint32_t link = 0; link < links; ++link) {
    if (is_used[link]) {
      std::uint32_t& hub = hub_of_root[sets.root(link)];
      hub = std::min(hub, sender[link]);
    }
  }
  bundle(hub_of_root, topology_);
  hub_of_.assign(links, none);
  for (std::uint32_t link = 0; link < links; ++link) {
    if (is_used[link]) {
      hub_of_[link] = hub_of_root[sets.root(link)];
    }
  }
  hub_at_.assign(with_nodes ? nodes : 0, none);
  for (std::uint32_t node = 0; node < hub_at_.size(); ++node) {
    const std::uint32_t root = sets.root(links + node);
    hub_at_[node] = root < links ? hub_of_root[root] : none;  // else it sends nothing
  }
  give_places();
}

void FlowParts::give_places() {
  std::vector<std::uint32_t> count(topology_.nodes());  // of links, by hub
  place_of_.assign(hub_of_.size(), none);
  for (std::size_t link = 0; link < hub_of_.size(); ++link) {
    if (hub_of_[link] != none) {
      place_of_[link] = count[hub_of_[link]]++;
    }
  }
  hubs_.clear();
  first_.assign(1, 0);
  for (std::uint32_t node = 0; node < count.size(); ++node) {
    if (count[node] > 0) {
      hubs_.emplace_back(node);
      first_.push_back(first_.back() + count[node]);
      count[node] = first_[first_.size() - 2];  // from now on, where its links begin
    }
  }
  links_.resize(first_.back());
  for (std::uint32_t link = 0; link < hub_of_.size(); ++link) {
    if (hub_of_[link] != none) {
      links_[count[hub_of_[link]] + place_of_[link]] = link;
    }
  }
}

bool FlowParts::is_hub(EntityId node) const {
  return std::binary_search(hubs_.begin(), hubs_.end(), node);
}

std::vector<std::uint32_t> FlowParts::links_of(EntityId hub) const {
  if (hub_of_.empty()) {
    std::vector<std::uint32_t> all(numbers_.count());
    std::iota(all.begin(), all.end(), std::uint32_t{0});
    return all;
  }
  const auto place =
      static_cast<std::size_t>(std::lower_bound(hubs_.begin(), hubs_.end(), hub) - hubs_.begin());
  return {links_.begin() + first_[place], links_.begin() + first_[place + 1]};
}

}  // namespace tessera::network
