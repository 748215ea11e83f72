#include "ring.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::network {
namespace {

// Of what was over before rows were looked at; far below all times, and from overflow.
constexpr std::int64_t long_ago = std::numeric_limits<std::int64_t>::min() / 4;
constexpr std::uint32_t least_ahead = 8;
constexpr std::uint32_t most_ahead = 256;

}  // namespace

Ring::Ring(std::uint32_t members, std::uint32_t steps, bool in_turn)
    : steps_(steps),
      in_turn_(in_turn),
      nodes_(members, EntityId::none()),
      chains_(members),
      over_(members),
      told_(members),
      used_{std::vector<std::uint64_t>(members), std::vector<std::uint64_t>(members)},
      sent_{std::vector<std::uint64_t>(members), std::vector<std::uint64_t>(members)} {
  ensure(members > 1 && steps > 0, "a ring of several, with steps");
}

std::uint32_t Ring::member_at(EntityId node) const {
  const auto found = member_at_.find(node.value());
  ensure(found != member_at_.end(), "a message of a member of its ring");
  return found->second;
}

void Ring::join(std::uint32_t member, EntityId node) {
  ensure(member < members() && !nodes_[member].valid(), "a member that joins once");
  nodes_[member] = node;
  member_at_[node.value()] = member;
  ++joined_;
}

void Ring::comes(std::uint32_t chain, std::uint64_t bytes) {
  Chain& its = chains_[chain];
  ensure(its.is_coming && bytes > 0 && (its.bytes == 0 || its.bytes == bytes),
         "a ring whose members send what they received");
  begun_ += its.bytes == 0 ? 1 : 0;
  its.bytes = bytes;
  its.is_coming = false;
}

void Ring::begins(std::uint32_t chain, std::uint32_t flow, SimTime now) {
  Chain& its = chains_[chain];
  its.flow = flow;
  its.begun_at = now;
  its.is_flowing = true;
}

void Ring::ends(std::uint32_t chain, SimTime now) {
  Chain& its = chains_[chain];
  std::uint32_t& over = over_[edge_of(chain, its.steps_over)];
  is_in_order_ = is_in_order_ && over == its.steps_over;
  ++over;
  ++its.steps_over;
  its.over_at = now;
  its.is_flowing = false;
  its.is_coming = its.steps_over < steps_;
}

std::uint32_t Ring::tell(std::uint32_t edge, std::uint32_t step) {
  const std::uint32_t before = (is_lumped_ ? step : over_[edge] - 1) - told_[edge];
  told_[edge] += before + 1;
  told_steps_ += before + 1;
  if (is_lumped_ && is_over()) {
    note_use(std::vector<std::uint32_t>(members(), steps_));
  }
  return before;
}

std::array<std::uint64_t, 2> Ring::sizes() const {
  const auto [least, most] =
      std::minmax_element(chains_.begin(), chains_.end(),
                          [](const Chain& a, const Chain& b) { return a.bytes < b.bytes; });
  return {least->bytes, most->bytes};
}

void Ring::set_edges(std::vector<Edge> edges) {
  sizes_ = sizes();
  const bool are_two = std::all_of(chains_.begin(), chains_.end(), [this](const Chain& chain) {
    return chain.bytes == sizes_[0] || chain.bytes == sizes_[1];
  });
  const bool take_time = std::all_of(
      edges.begin(), edges.end(), [](const Edge& edge) { return edge.flow[0] > SimTime::zero(); });
  if (!are_two || !take_time) {
    return;
  }
  edges_ = std::move(edges);
  for (const Edge& edge : edges_) {
    wait_ps_.push_back(edge.wait.ps());
    flow_ps_.push_back(edge.flow[0].ps());
    more_ps_.push_back((edge.flow[1] - edge.flow[0]).ps());
  }
  large_before_.push_back(0);
  for (std::uint32_t place = 0; place < 2 * members(); ++place) {
    const bool is_large = size_of(place % members()) == 1;
    is_large_.push_back(is_large ? -1 : 0);
    large_before_.push_back(large_before_.back() + (is_large ? 1 : 0));
  }
}

SimTime Ring::end_alone(std::uint32_t chain) const {
  const std::uint32_t edge = edge_of(chain, chains_[chain].steps_over);
  return chains_[chain].begun_at + edges_[edge].flow[size_of(chain)];
}

std::vector<std::uint32_t> Ring::flowing() const {
  std::vector<std::uint32_t> counts(members());
  for (std::uint32_t number = 0; number < members(); ++number) {
    if (chains_[number].is_flowing) {
      ++counts[edge_of(number, chains_[number].steps_over)];
    }
  }
  return counts;
}

// Of a step that is not over on every edge: rows say what is not known of its messages yet.
bool Ring::add_first_row(std::uint32_t step) {
  Row row(members(), long_ago);
  for (std::uint32_t edge = 0; edge < members(); ++edge) {
    const std::uint32_t number = chain_on(edge, step);
    const Chain& chain = chains_[number];
    if (step < over_[edge]) {
      row[edge] = chain.steps_over == step + 1 ? chain.over_at.ps() : long_ago;
    } else if (chain.is_flowing && chain.steps_over == step) {
      row[edge] = end_alone(number).ps();
    } else {
      if (step == 0) {
        return false;  // it waits for somebody else
      }
      const Row& before = rows_.back();
      const std::int64_t free = before[edge];
      const std::int64_t there = before[edge == 0 ? members() - 1 : edge - 1] + wait_ps_[edge];
      if (!in_turn_ && free > there) {
        return false;
      }
      row[edge] = std::max(free, there) + flow_ps(edge, step);
    }
  }
  rows_.push_back(std::move(row));
  return true;
}

bool Ring::add_row() {
  const std::uint32_t edges = members();
  const Row& before = rows_.back();
  const std::int64_t* const more = &is_large_[edges - (last_row() + 1) % edges];
  Row row(edges);
  bool meet = false;
  std::int64_t from = before[edges - 1];
  for (std::uint32_t edge = 0; edge < edges; ++edge) {
    const std::int64_t there = from + wait_ps_[edge];
    from = before[edge];
    meet |= from > there;
    row[edge] = std::max(from, there) + flow_ps_[edge] + (more[edge] & more_ps_[edge]);
  }
  if (meet && !in_turn_) {
    return false;
  }
  rows_.push_back(std::move(row));
  return true;
}

bool Ring::lump(SimTime now) {
  const auto [least, most] = std::minmax_element(over_.begin(), over_.end());
  rows_.clear();
  ahead_ = least_ahead;
  first_row_ = *least;
  if (first_row_ == 0) {
    rows_.emplace_back(members(), long_ago);
  } else {
    add_first_row(first_row_ - 1);
  }
  const std::uint32_t last = std::min(steps_ - 1, *most + ahead_);
  for (std::uint32_t step = first_row_; step <= last; ++step) {
    if (!(step <= *most ? add_first_row(step) : add_row())) {
      rows_.clear();
      return false;
    }
  }
  for (Chain& chain : chains_) {
    chain.is_flowing = false;
  }
  is_lumped_ = true;
  ++lumps_;
  ensure(known_until() > now, "rows that go on from now");
  return true;
}

SimTime Ring::known_until() const {
  return last_row() + 1 == steps_
             ? SimTime::never()
             : SimTime::from_ps(*std::min_element(rows_.back().begin(), rows_.back().end()));
}

bool Ring::look_ahead() {
  const std::int64_t now = known_until().ps();
  const auto is_past = [now](const Row& row) {
    return std::all_of(row.begin(), row.end(), [now](std::int64_t end) { return end <= now; });
  };
  while (rows_.size() > 2 && is_past(rows_[1])) {
    rows_.pop_front();
    ++first_row_;
  }
  ahead_ = std::min(2 * ahead_, most_ahead);
  for (std::uint32_t count = 0; count < ahead_ && last_row() + 1 < steps_; ++count) {
    if (!add_row()) {
      return false;
    }
  }
  return true;
}

SimTime Ring::last_end(std::uint32_t edge) const {
  return SimTime::from_ps(row(steps_ - 1)[edge]);
}

// Steps over on each edge.
std::vector<std::uint32_t> Ring::over_by(SimTime now) const {
  std::vector<std::uint32_t> over(members(), first_row_);
  for (std::uint32_t step = first_row_; step <= last_row(); ++step) {
    const Row& ends = row(step);
    for (std::uint32_t edge = 0; edge < members(); ++edge) {
      over[edge] += over[edge] == step && ends[edge] <= now.ps() ? 1 : 0;
    }
  }
  return over;
}

void Ring::disband(SimTime now, const std::function<void(const Resumed&)>& resume) {
  const std::vector<std::uint32_t> over = over_by(now);
  std::vector<Resumed> all;
  for (std::uint32_t edge = 0; edge < members(); ++edge) {
    const std::uint32_t before = (edge + members() - 1) % members();
    if (over[edge] == steps_ && told_[edge] < steps_) {
      all.push_back({chain_on(edge, steps_ - 1), steps_ - 1, Resumed::State::over, now, now});
    }
    bool is_taken = false;
    for (std::uint32_t step = over[edge]; step <= over[before] && step < steps_; ++step) {
      const std::uint32_t number = chain_on(edge, step);
      Chain& chain = chains_[number];
      if (step > chain.steps_over) {
        chain.steps_over = step;
        chain.over_at = SimTime::from_ps(row(step - 1)[before]);
      }
      if (chain.is_coming) {
        continue;
      }
      Resumed one{number, step, Resumed::State::comes, now, SimTime::never()};
      const SimTime there =
          step == 0 ? SimTime::zero() : chain.over_at + SimTime::from_ps(wait_ps_[edge]);
      if (step == over[edge] && step <= last_row()) {
        one.end = SimTime::from_ps(row(step)[edge]);
        one.begin = one.end - SimTime::from_ps(flow_ps(edge, step));
        is_taken = one.begin < now;
      }
      if (step == over[edge] && is_taken) {
        one.state = Resumed::State::flows;
      } else if (is_taken && there < now) {
        one.state = Resumed::State::waits;
      } else {
        one.begin = std::max(now, there);
        chain.is_coming = true;
      }
      all.push_back(one);
    }
    if (over[edge] == steps_) {
      chains_[chain_on(edge, steps_ - 1)].steps_over = steps_;
    }
  }
  note_use(over);
  rows_.clear();
  is_lumped_ = false;
  std::for_each(all.begin(), all.end(), resume);
}

void Ring::note_use(std::span<const std::uint32_t> over) {
  for (std::uint32_t edge = 0; edge < members(); ++edge) {
    const std::uint32_t before = (edge + members() - 1) % members();
    const BySize used = by_size(edge, over_[edge], over[edge]);
    const BySize sent =
        by_size(edge, std::min(steps_, over_[before] + 1), std::min(steps_, over[before] + 1));
    for (std::size_t size = 0; size < used.size(); ++size) {
      used_[size][edge] += used[size];
      sent_[size][edge] += sent[size];
    }
  }
  std::copy(over.begin(), over.end(), over_.begin());
}

// Of the messages of steps from `from` on, before `to`, over an edge.
Ring::BySize Ring::by_size(std::uint32_t edge, std::uint32_t from, std::uint32_t to) const {
  if (to <= from) {
    return {};
  }
  const std::uint32_t messages = to - from;
  const std::uint32_t rounds = messages / members();
  const std::uint32_t rest = messages % members();
  const std::uint32_t last = chain_on(edge, to - 1);
  const std::uint64_t large = std::uint64_t{rounds} * large_before_[members()] +
                              large_before_[last + rest] - large_before_[last];
  return {messages - large, large};
}

void Ring::take_use(const EdgeUse& use) {
  for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) {
    use(edges_[edge], {used_[0][edge], used_[1][edge]}, {sent_[0][edge], sent_[1][edge]});
    used_[0][edge] = used_[1][edge] = sent_[0][edge] = sent_[1][edge] = 0;
  }
}

void Ring::save(pdes::StateWriter& writer) const {
  writer.put(steps_);
  writer.put(static_cast<std::uint8_t>(in_turn_ ? 1 : 0));
  writer.put(static_cast<std::uint8_t>(is_in_order_ ? 1 : 0));
  writer.put(joined_);
  writer.put(begun_);
  writer.put(told_steps_);
  writer.put_all(nodes_);
  writer.put_all(chains_);
  writer.put_all(over_);
  writer.put_all(told_);
  writer.put_all(used_[0]);
  writer.put_all(used_[1]);
  writer.put_all(sent_[0]);
  writer.put_all(sent_[1]);
  writer.put(static_cast<std::uint8_t>(is_lumped_ ? 1 : 0));
  writer.put(lumps_);
  writer.put(ahead_);
  writer.put(first_row_);
  writer.put(static_cast<std::uint64_t>(rows_.size()));
  for (const Row& row : rows_) {
    writer.put_all(row);
  }
}

Ring Ring::restored(pdes::StateReader& reader) {
  Ring ring;
  ring.steps_ = reader.get<std::uint32_t>();
  ring.in_turn_ = reader.get<std::uint8_t>() != 0;
  ring.is_in_order_ = reader.get<std::uint8_t>() != 0;
  ring.joined_ = reader.get<std::uint32_t>();
  ring.begun_ = reader.get<std::uint32_t>();
  ring.told_steps_ = reader.get<std::uint64_t>();
  ring.nodes_ = reader.get_all<EntityId>();
  ring.chains_ = reader.get_all<Chain>();
  ring.over_ = reader.get_all<std::uint32_t>();
  ring.told_ = reader.get_all<std::uint32_t>();
  ring.used_[0] = reader.get_all<std::uint64_t>();
  ring.used_[1] = reader.get_all<std::uint64_t>();
  ring.sent_[0] = reader.get_all<std::uint64_t>();
  ring.sent_[1] = reader.get_all<std::uint64_t>();
  ring.is_lumped_ = reader.get<std::uint8_t>() != 0;
  ring.lumps_ = reader.get<std::uint32_t>();
  ring.ahead_ = reader.get<std::uint32_t>();
  ring.first_row_ = reader.get<std::uint32_t>();
  for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
    ring.rows_.push_back(reader.get_all<std::int64_t>());
  }
  for (std::uint32_t member = 0; member < ring.members(); ++member) {
    if (ring.nodes_[member].valid()) {
      ring.member_at_[ring.nodes_[member].value()] = member;
    }
  }
  return ring;
}

}  // namespace tessera::network
