#include "placement/moves.hpp"

#include <algorithm>
#include <utility>

namespace tessera::plan {
namespace {

constexpr std::uint32_t longest_run = 16;  // of stages that are reversed

}  // namespace

PlacementMoves::PlacementMoves(const machine::Machine& machine, const PlacementRequest& request,
                               const PlacementCost& cost, RandomStream& random)
    : topology_(machine.topology.get()),
      degrees_(request.degrees),
      cost_(&cost),
      random_(&random),
      usable_(usable_nodes(*topology_, request).listed()),
      is_usable_(topology_->nodes()) {
  for (const EntityId node : usable_) {
    is_usable_[node.value()] = true;
  }
  const Degrees& degrees = degrees_;
  // Each kind gets its share of the tiles moved: the more it moves, the rarer it is.
  const std::uint64_t group = degrees.tensor;
  const std::uint64_t stage = group * degrees.data;
  const std::uint64_t run = stage * std::min(degrees.pipeline, longest_run);
  const auto add = [&](Kind kind, std::uint64_t share, std::uint64_t moved, bool useful) {
    if (useful) {
      const std::uint64_t weight = std::max<std::uint64_t>(1, share * 4 * run / moved);
      chances_.push_back({kind, weight});
    }
  };
  const bool groups = degrees.tensor > 1 && degrees.pipeline * degrees.data > 1;
  const bool stages = stage > 1 && degrees.pipeline > 1;
  add(Kind::tile_near, 4, 2, true);
  add(Kind::tile_anywhere, 1, 2, true);
  add(Kind::group_near, 4, 2 * group, groups);
  add(Kind::group_anywhere, 1, 2 * group, groups);
  add(Kind::group_turn, 4, group, degrees.tensor > 2);
  add(Kind::stage_exchange, 1, 2 * stage, stages);
  add(Kind::stage_turn, 1, stage, degrees.data > 1);
  add(Kind::stage_run, 1, run, degrees.pipeline > 1);
  keep_groups(false);
}

bool PlacementMoves::keep_groups(bool keep) {
  constexpr std::size_t tile_kinds = 2;  // the first ones
  first_chance_ = keep ? tile_kinds : 0;
  all_weights_ = 0;
  for (std::size_t i = first_chance_; i < chances_.size(); ++i) {
    all_weights_ += chances_[i].weight;
  }
  return all_weights_ > 0;
}

void PlacementMoves::set(std::vector<EntityId> tiles) {
  tiles_ = std::move(tiles);
  role_at_.assign(topology_->nodes(), Placement::unused);
  for (std::uint32_t role = 0; role < tiles_.size(); ++role) {
    role_at_[tiles_[role].value()] = role;
  }
}

PlacementMoves::Kind PlacementMoves::choose_kind() {
  std::uint64_t drawn = random_->next_below(all_weights_);
  std::size_t chosen = first_chance_;
  while (drawn >= chances_[chosen].weight) {
    drawn -= chances_[chosen++].weight;
  }
  return chances_[chosen].kind;
}

const std::vector<std::uint32_t>& PlacementMoves::propose() {
  roles_.clear();
  nodes_.clear();
  switch (choose_kind()) {
    case Kind::tile_near:
      exchange_tile(true);
      break;
    case Kind::tile_anywhere:
      exchange_tile(false);
      break;
    case Kind::group_near:
      exchange_group(true);
      break;
    case Kind::group_anywhere:
      exchange_group(false);
      break;
    case Kind::group_turn:
      turn(first_role(below(std::uint64_t{degrees_.pipeline} * degrees_.data)), degrees_.tensor, 1);
      break;
    case Kind::stage_exchange:
      exchange_stages();
      break;
    case Kind::stage_turn:
      turn(first_role(below(degrees_.pipeline) * degrees_.data), degrees_.data, degrees_.tensor);
      break;
    case Kind::stage_run:
      reverse_stages();
      break;
  }
  return roles_;
}

void PlacementMoves::swap() {
  for (const std::uint32_t role : roles_) {
    role_at_[tiles_[role].value()] = Placement::unused;
  }
  for (std::size_t i = 0; i < roles_.size(); ++i) {
    std::swap(tiles_[roles_[i]], nodes_[i]);
    role_at_[tiles_[roles_[i]].value()] = roles_[i];
  }
}

void PlacementMoves::move_to(std::uint32_t role, EntityId node) {
  if (tiles_[role] != node) {
    roles_.push_back(role);
    nodes_.push_back(node);
  }
}

// A usable node one link from a partner of the role, or one switch further; none by chance.
EntityId PlacementMoves::near_partner(std::uint32_t role) {
  const auto partners = cost_->partners(role);
  if (partners.empty()) {
    return EntityId::none();
  }
  EntityId node = tiles_[partners[below(partners.size())].role];
  constexpr int most_switches = 3;
  for (int i = 0; i < most_switches; ++i) {
    const unsigned ports = topology_->ports(node);
    node = ports > 0 ? topology_->link(node, below(ports)).to : EntityId::none();
    if (!node.valid() || is_usable_[node.value()]) {
      return node;
    }
  }
  return EntityId::none();
}

void PlacementMoves::exchange_tile(bool near) {
  const std::uint32_t role = below(tiles_.size());
  const EntityId node = near ? near_partner(role) : usable_[below(usable_.size())];
  if (!node.valid() || node == tiles_[role]) {
    return;
  }
  move_to(role, node);
  if (const std::uint32_t other = role_at_[node.value()]; other != Placement::unused) {
    move_to(other, tiles_[role]);
  }
}

void PlacementMoves::exchange_group(bool near) {
  const std::uint32_t role = below(tiles_.size());
  const EntityId node = near ? near_partner(role) : tiles_[below(tiles_.size())];
  const std::uint32_t other = node.valid() ? role_at_[node.value()] : Placement::unused;
  if (other == Placement::unused || other / degrees_.tensor == role / degrees_.tensor) {
    return;
  }
  exchange(first_role(role / degrees_.tensor), first_role(other / degrees_.tensor),
           degrees_.tensor);
}

void PlacementMoves::exchange(std::uint32_t first, std::uint32_t second, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    move_to(first + i, tiles_[second + i]);
    move_to(second + i, tiles_[first + i]);
  }
}

// Members of a ring, each of `size` consecutive roles, take the places of others, so many further
// around the ring, or mirrored.
void PlacementMoves::turn(std::uint32_t first, std::uint32_t members, std::uint32_t size) {
  const bool mirrored = below(2) == 1;
  const std::uint32_t by = below(members);
  for (std::uint32_t member = 0; member < members; ++member) {
    const std::uint32_t place = ((mirrored ? members - member : member) + by) % members;
    for (std::uint32_t i = 0; i < size; ++i) {
      move_to(first + member * size + i, tiles_[first + place * size + i]);
    }
  }
}

void PlacementMoves::exchange_stages() {
  const std::uint32_t first = below(degrees_.pipeline);
  const std::uint32_t second = below(degrees_.pipeline);
  const std::uint32_t size = degrees_.data * degrees_.tensor;
  if (first != second) {
    exchange(first * size, second * size, size);
  }
}

void PlacementMoves::reverse_stages() {
  const std::uint32_t size = degrees_.data * degrees_.tensor;
  const std::uint32_t length =
      2 + below(std::max<std::uint64_t>(1, std::min(degrees_.pipeline, longest_run) - 1));
  const std::uint32_t first = below(degrees_.pipeline - length + 1);
  for (std::uint32_t i = 0; i < length / 2; ++i) {
    exchange((first + i) * size, (first + length - 1 - i) * size, size);
  }
}

}  // namespace tessera::plan
