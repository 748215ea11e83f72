// A kind of logical process: one model, all its entities of this rank in arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tessera/pdes/event.hpp"
#include "tessera/pdes/outlook.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::pdes {

class Context;

// Where a component keeps what most of its events touch, one piece after the other in the order of
// the entities.
struct StateArray {
  const void* first = nullptr;
  std::size_t bytes = 0;  // of an entity
};

// A model attached to the engine. It owns its state for every entity of this rank, indexed by
// Context::index(), and changes only the state of the entity whose event it handles. Several
// components live at the same entity (the router, the core, the memory of one tile) and talk by
// events without delay; entities talk by events with a delay of at least the lookahead.
class Component {
 public:
  virtual ~Component() = default;

  // Called once for every entity of this rank, at time zero, before any event.
  virtual void start(Context&) {}
  // Called for every event on a port of this component, in the entity's order of handling.
  virtual void handle(Context& context, const Event& event) = 0;
  // Called when every event before `boundary` was handled on this rank (see
  // Engine::set_boundaries).
  virtual void pass_boundary(SimTime /*boundary*/) {}
  // What this component knows of the events that will reach `rank` because of it: those that it
  // sends itself, and those that others send when it hands them something at the same entity,
  // unless they say so. None: it knows nothing, and whatever is handled here may matter there one
  // least delay later. Not const: it may keep what it has looked up.
  virtual std::optional<Outlook> outlook(std::uint32_t /*rank*/, const Moment& /*moment*/) {
    return std::nullopt;
  }
  // An event for this component that came from another rank, or from a checkpoint, before it waits
  // for its time. It may be marked for the component's own use; its order stays. `target` holds the
  // entity number.
  virtual void take_in(Event& /*event*/) {}
  // On a large machine an event finds its entity's state in memory, not in cache: the engine loads
  // this state some events ahead, its first 128 bytes, also for events of components attached
  // later. It must stay in place from the run's beginning to its end.
  virtual StateArray state_array() const { return {}; }
  // For messages about defects.
  virtual const char* name() const { return "a model"; }
  // Bytes of state held, for reports.
  virtual std::size_t resident_bytes() const { return 0; }

  // Checkpoints. `save` writes the state of the entity at `index` of this rank; `restore` reads it
  // back, instead of `start`, perhaps on another rank and at another index. What belongs to no
  // entity (counters of the rank) goes through the totals: each rank's are saved, and those of all
  // are added up on one rank. Both are called at a pause: every event before it was handled, none
  // after it. A component without these cannot take part in checkpoints (InternalError).
  virtual void save(std::uint32_t index, StateWriter& writer) const;
  virtual void restore(std::uint32_t index, StateReader& reader);
  virtual void save_totals(StateWriter& /*writer*/) const {}
  virtual void add_totals(StateReader& /*reader*/) {}
};

}  // namespace tessera::pdes
