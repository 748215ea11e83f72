#include "max_min.hpp"

#include <algorithm>
#include <queue>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::network {

MaxMin::MaxMin(std::vector<double> capacities) : links_(capacities.size()) {
  for (std::size_t link = 0; link < links_.size(); ++link) {
    links_[link].capacity = capacities[link];
  }
}

void MaxMin::add(Flow number, std::span<const Link> route, double weight, double limit) {
  ensure(weight > 0 && limit > 0, "a flow that could not go on");
  if (number >= flows_.size()) {
    flows_.resize(number + std::size_t{1});
  }
  FlowState& flow = flows_[number];
  ensure(!flow.active, "a number that is free");
  flow.route.clear();
  flow.weight = weight;
  flow.limit = limit;
  flow.rate = 0;
  flow.active = true;
  for (const Link link : route) {
    std::vector<Entry>& others = links_[link].flows;
    flow.route.push_back({link, static_cast<std::uint32_t>(others.size())});
    others.push_back({number, static_cast<std::uint32_t>(flow.route.size() - 1)});
    touch(link);
  }
  if (route.empty()) {
    alone_.push_back(number);
  }
}

void MaxMin::remove(Flow number) {
  FlowState& flow = flows_[number];
  ensure(flow.active, "a flow that ends once");
  for (const Hop& hop : flow.route) {
    std::vector<Entry>& others = links_[hop.link].flows;
    others[hop.place] = others.back();
    flows_[others[hop.place].flow].route[others[hop.place].hop].place = hop.place;
    others.pop_back();
    touch(hop.link);
  }
  flow.active = false;
  flow.route.clear();
}

void MaxMin::touch(Link link) {
  if (!links_[link].dirty) {
    links_[link].dirty = true;
    dirty_.push_back(link);
  }
}

double MaxMin::load(Link link) const {
  double sum = 0;
  for (const Entry& entry : links_[link].flows) {
    sum += flows_[entry.flow].rate;
  }
  return sum;
}

// All links and flows that the touched links are joined to by flows.
void MaxMin::reach() {
  ++round_;
  part_links_.clear();
  part_flows_.clear();
  for (const Link link : dirty_) {
    links_[link].dirty = false;
    if (links_[link].seen != round_) {
      links_[link].seen = round_;
      part_links_.push_back(link);
    }
  }
  dirty_.clear();
  for (std::size_t at = 0; at < part_links_.size(); ++at) {
    for (const Entry& entry : links_[part_links_[at]].flows) {
      FlowState& flow = flows_[entry.flow];
      if (flow.seen == round_) {
        continue;
      }
      flow.seen = round_;
      part_flows_.push_back(entry.flow);
      for (const Hop& hop : flow.route) {
        if (links_[hop.link].seen != round_) {
          links_[hop.link].seen = round_;
          part_links_.push_back(hop.link);
        }
      }
    }
  }
  // In order of numbers, so that sums do not depend on the way here.
  std::sort(part_links_.begin(), part_links_.end());
  std::sort(part_flows_.begin(), part_flows_.end());
}

void MaxMin::fix(Flow number, double rate) {
  FlowState& flow = flows_[number];
  flow.fixed = true;
  flow.rate = rate;
  for (const Hop& hop : flow.route) {
    LinkState& link = links_[hop.link];
    link.left = std::max(0.0, link.left - rate);
    link.weight -= flow.weight;
    --link.open;
  }
}

// The level is the rate of a flow of weight one. Links fill at left / weight, which only grows as
// flows are fixed below it: what the queue says is checked when it comes up.
void MaxMin::fill() {
  struct Candidate {
    double level = 0;
    bool is_flow = false;
    std::uint32_t number = 0;
    bool operator>(const Candidate& other) const {
      if (level != other.level) {
        return level > other.level;
      }
      return is_flow != other.is_flow ? is_flow : number > other.number;
    }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  for (const Link number : part_links_) {
    LinkState& link = links_[number];
    link.left = link.capacity;
    link.weight = 0;
    link.open = static_cast<std::uint32_t>(link.flows.size());
  }
  for (const Flow number : part_flows_) {
    FlowState& flow = flows_[number];
    flow.fixed = false;
    for (const Hop& hop : flow.route) {
      links_[hop.link].weight += flow.weight;
    }
    if (flow.limit < no_limit) {
      queue.push({flow.limit / flow.weight, true, number});
    }
  }
  for (const Link number : part_links_) {
    if (links_[number].open > 0) {
      queue.push({links_[number].left / links_[number].weight, false, number});
    }
  }
  while (!queue.empty()) {
    const Candidate next = queue.top();
    queue.pop();
    if (next.is_flow) {
      if (!flows_[next.number].fixed) {
        fix(next.number, flows_[next.number].limit);
      }
      continue;
    }
    const LinkState& link = links_[next.number];
    if (link.open == 0) {
      continue;
    }
    const double level = link.left / link.weight;
    if (level > next.level) {
      queue.push({level, false, next.number});
      continue;
    }
    // In order of numbers: sums must not depend on the order in which flows came and went.
    stopped_.clear();
    for (const Entry& entry : link.flows) {
      if (!flows_[entry.flow].fixed) {
        stopped_.push_back(entry.flow);
      }
    }
    std::sort(stopped_.begin(), stopped_.end());
    for (const Flow number : stopped_) {
      fix(number, level * flows_[number].weight);
    }
  }
}

void MaxMin::solve(const std::function<void(Flow, double rate)>& changed) {
  reach();
  std::vector<double> before;
  before.reserve(part_flows_.size());
  for (const Flow flow : part_flows_) {
    before.push_back(flows_[flow].rate);
  }
  fill();
  for (const Flow flow : alone_) {
    if (flows_[flow].active && flows_[flow].route.empty()) {
      flows_[flow].rate = flows_[flow].limit;
      changed(flow, flows_[flow].rate);
    }
  }
  alone_.clear();
  for (std::size_t at = 0; at < part_flows_.size(); ++at) {
    const Flow flow = part_flows_[at];
    if (flows_[flow].rate != before[at]) {
      changed(flow, flows_[flow].rate);
    }
  }
}

}  // namespace tessera::network
