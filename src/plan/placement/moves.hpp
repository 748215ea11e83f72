// Random changes of a placement that keep it a placement.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/cost.hpp"
#include "tessera/core/random.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/plan/placement/placement.hpp"

namespace tessera::plan {

// The node of each role, and moves on trial: tiles are exchanged, also with unused nodes; whole
// tensor groups and whole stages are exchanged, member by member; the members of a tensor group,
// and the groups of a stage, are turned around their ring or mirrored; a run of stages is reversed.
// Half of the tiles and groups are moved next to one they exchange messages with.
class PlacementMoves {
 public:
  // All kept by reference.
  PlacementMoves(const machine::Machine& machine, const PlacementRequest& request,
                 const PlacementCost& cost, RandomStream& random);

  void set(std::vector<EntityId> tiles);
  const std::vector<EntityId>& tiles() const { return tiles_; }

  // Whether tensor groups stay together: only they, and stages, are moved. False when there is
  // nothing to move then.
  bool keep_groups(bool keep);

  // Chooses a move; the roles that change their node, all different. Empty when the choice led
  // nowhere.
  const std::vector<std::uint32_t>& propose();
  // Makes the move, or takes it back: the second call undoes the first.
  void swap();

 private:
  enum class Kind : std::uint8_t {
    tile_near,
    tile_anywhere,
    group_near,
    group_anywhere,
    group_turn,
    stage_exchange,
    stage_turn,
    stage_run,
  };
  struct Chance {
    Kind kind;
    std::uint64_t weight;
  };

  std::uint32_t below(std::uint64_t bound) {
    return static_cast<std::uint32_t>(random_->next_below(bound));
  }
  std::uint32_t first_role(std::uint32_t group) const { return group * degrees_.tensor; }
  Kind choose_kind();
  EntityId near_partner(std::uint32_t role);
  void move_to(std::uint32_t role, EntityId node);
  void exchange_tile(bool near);
  void exchange_group(bool near);
  void exchange(std::uint32_t first, std::uint32_t second, std::uint32_t count);
  void turn(std::uint32_t first, std::uint32_t members, std::uint32_t size);
  void exchange_stages();
  void reverse_stages();

  const machine::Topology* topology_;
  Degrees degrees_;
  const PlacementCost* cost_;
  RandomStream* random_;
  std::vector<EntityId> usable_;
  std::vector<bool> is_usable_;  // by node
  std::vector<Chance> chances_;
  std::size_t first_chance_ = 0;        // of those there are at present
  std::uint64_t all_weights_ = 0;       // of the same
  std::vector<EntityId> tiles_;         // by role
  std::vector<std::uint32_t> role_at_;  // by node; Placement::unused
  std::vector<std::uint32_t> roles_;    // of the move
  std::vector<EntityId> nodes_;         // where they go, or came from
};

}  // namespace tessera::plan
