// What the tiles of a job are, and what memories they have.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/sim/job.hpp"

namespace tessera::sim {

// What nodes are, each kind once.
std::vector<const machine::Tile*> kinds_of(const machine::Machine& machine,
                                           const machine::NodeOrder& nodes);
std::vector<const machine::Tile*> kinds_of(const machine::Machine& machine,
                                           const std::vector<EntityId>& nodes);

// Notes a key of tiles where it has no effect: that of `tile` unless one of those that have its
// value uses it, that of a type where it is the type's own. Zero is not given.
template <class Value, class IsUnused>
void note_key_of_tiles(const machine::Machine& machine, config::Section machine_section,
                       std::string_view key, Value machine::Tile::*value, IsUnused is_unused,
                       std::string_view with) {
  const Value usual =
      machine_section.has("tile") ? machine_section.section("tile").get_or(key, Value()) : Value();
  bool any_unused = false;  // of those that have the value of `tile`
  bool any_used = false;
  for (const machine::Tile& tile : machine.tiles()) {
    const bool unused = std::invoke(is_unused, tile);
    const bool is_own = !tile.name.empty() && (!tile.inherits_peak || tile.*value != usual);
    if (!is_own) {
      (unused ? any_unused : any_used) = true;
    } else if (tile.*value > Value() && unused) {
      config::Section type = machine_section.section("types").section(tile.name);
      config::note_without_effect(type, key, with);
    }
  }
  if (usual > Value() && any_unused && !any_used) {
    config::Section tile = machine_section.section("tile");
    config::note_without_effect(tile, key, with);
  }
}

// Throws ConfigError where a cutter has fewer parts than ranks.
void refuse_too_many_ranks(const std::string& cutter, std::size_t parts, const std::string& what,
                           int ranks);

// By the node of each channel; those that hold nothing are left out.
Job::BytesByNode bytes_by_node(const machine::Machine& machine, const plan::BytesByChannel& bytes);

}  // namespace tessera::sim
