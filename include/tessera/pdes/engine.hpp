// The conservative parallel discrete-event engine of one rank.
//
// Method: time is cut into windows of the lookahead L, the smallest delay between two different
// entities. Inside a window no event of one entity can cause an event of another, so the rank takes
// a whole window from its calendar, groups it by entity and runs each entity's events together, in
// the order (time, source entity, source sequence); only an entity's events to itself can fall into
// the window being run. Between ranks the sync policy says how many windows may be run. The order
// does not depend on the partition, so results are bit-identical on any number of ranks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/core/cache.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/core/region_delays.hpp"
#include "tessera/core/time.hpp"
#include "tessera/pdes/calendar.hpp"
#include "tessera/pdes/component.hpp"
#include "tessera/pdes/event.hpp"
#include "tessera/pdes/self_queue.hpp"
#include "tessera/pdes/sync_policy.hpp"

namespace tessera::pdes {

// Who owns which entity, and how far apart the regions are.
struct Regions {
  std::vector<std::uint32_t> owner;  // [entities] rank
  std::vector<EntityId> members;     // of this rank, in storage order
  RegionDelays delays;               // of this rank's
};

struct EngineStatistics {
  std::uint64_t events = 0;
  std::uint64_t windows = 0;  // windows that held an event
  std::uint64_t rounds = 0;   // of synchronisation
  std::uint64_t remote_events = 0;
  std::uint64_t batches = 0;
  std::uint64_t waits = 0;  // times that this rank had work, and had to wait for others
  double waiting_s = 0;     // wall time in synchronisation
  std::uint64_t largest_pending = 0;
};

// Bytes the engine holds beyond the models' state.
struct EngineMemory {
  std::size_t process_bytes = 0;  // tables with an entry a logical process
  std::size_t event_bytes = 0;    // the pending-event set at its largest, and work space
};

class Engine;

// What a component may do while it handles an event of one entity.
class Context {
 public:
  SimTime now() const { return now_; }
  EntityId self() const { return self_; }
  // Index of the entity in this rank's arrays.
  std::uint32_t index() const { return index_; }

  // The event is nothing that a run lasts for, as one that was planned for what has happened since.
  void pass() { counted_ = before_; }

  // An event to the entity itself, after any delay ≥ 0. Same instant: handled after this one.
  template <class Payload>
  void send_self(SimTime delay, Port port, const Payload& payload, std::uint16_t tag = 0,
                 std::uint8_t flags = 0);
  // An event to any entity. A delay below the lookahead (or, to another rank, below the distance of
  // the regions) throws ModelError naming both.
  template <class Payload>
  void send(EntityId target, SimTime delay, Port port, const Payload& payload,
            std::uint16_t tag = 0, std::uint8_t flags = 0);
  // The component of `event.port` handles it now, at this entity, in the place of the event that is
  // being handled; it counts as none of its own.
  void hand_on(const Event& event);

 private:
  friend class Engine;
  explicit Context(Engine& engine) : engine_(&engine) {}

  Engine* engine_;
  SimTime now_;
  SimTime counted_;  // of the last event that a run lasts for
  SimTime before_;   // the same, before this event
  EntityId self_;
  std::uint32_t index_ = 0;
  std::uint32_t sequence_ = 0;
};

// Called between rounds.
struct EngineHooks {
  std::function<bool()> stop_requested;        // true on any rank: end all ranks
  std::function<bool()> checkpoint_requested;  // true on any rank: a pause on all ranks, then go on
  std::function<std::int64_t()> work_done;     // the models' measure of progress, this rank
  std::function<void(const RoundResult&)> on_round;
  // Called on every rank at a pause: every event before `pause` was handled on all ranks, none
  // after it, and none is in flight. A requested stop makes a pause first when this is set.
  std::function<void(SimTime pause)> on_pause;
};

// Hears of every event as it is handled; for measuring a model's load.
class EventObserver {
 public:
  virtual ~EventObserver() = default;
  // `window` never falls on one rank. `target` holds the index of the entity on this rank.
  virtual void on_event(WindowNumber window, const Event& event) = 0;
  // An event that the entity whose event is being handled (or that starts) sends to another one.
  // Source and sequence say which it is when it is handled.
  virtual void on_send(EntityId /*source*/, std::uint32_t /*sequence*/, EntityId /*target*/) {}
};

class Engine {
 public:
  // `lookahead` > 0. The communicator must outlive the engine.
  Engine(comm::Communicator& communicator, Regions regions, SimTime lookahead);
  Engine(comm::Communicator& communicator, Regions regions, SimTime lookahead,
         std::unique_ptr<SyncPolicy> policy);

  // Attaches a component (not owned) and gives its number, for ports. At most
  // Port::max_components.
  unsigned attach(Component& component);

  // Calls every component's pass_boundary each time the run has passed another `period`; after each
  // `doubling` boundaries the period doubles, so that a run of unknown length has few. The period
  // is rounded up to whole windows, so that boundaries do not depend on the partition.
  void set_boundaries(SimTime period, std::uint32_t doubling);

  // Makes a pause (see EngineHooks::on_pause) each time simulated time has passed another `period`,
  // rounded up to whole windows. The same on all ranks.
  void set_pauses(SimTime period);

  // Not owned; null for none.
  void observe(EventObserver* observer) { observer_ = observer; }

  // Runs to the end: until no rank has an event (returns true) or a stop was requested (false).
  bool run(const EngineHooks& hooks = {});

  // The engine's part of a checkpoint, during on_pause: the entity at `index` with its components'
  // state, what belongs to the rank as a whole, and the pending events with entity numbers as
  // targets.
  void save(std::uint32_t index, StateWriter& writer) const;
  void save_totals(StateWriter& writer) const;
  void visit_pending(const std::function<void(const Event&)>& visit) const;
  // Before `run`, to go on from a checkpoint: every entity of this rank, the totals of one rank
  // that wrote or more, and the pending events of this rank's entities, in any order. With `count`
  // the totals' counters are added to this rank's: each rank that wrote counts on one that reads.
  void restore(std::uint32_t index, StateReader& reader);
  void restore_totals(StateReader& reader, bool count);
  void restore_pending(const Event& event);

  // Passes the boundaries up to `end` that no event of this rank has reached; call after `run`,
  // with the same `end` on all ranks.
  void finish_boundaries(SimTime end);

  SimTime lookahead() const { return calendar_.width(); }
  std::uint32_t local_entities() const { return static_cast<std::uint32_t>(processes_.size()); }
  EntityId entity_of(std::uint32_t index) const { return processes_[index].entity; }
  // Time of the last event handled on this rank that a run lasts for, and of the last one at all
  // that this process has handled.
  SimTime last_event_time() const { return last_time_; }
  SimTime last_handled_time() const { return std::max(last_time_, last_handled_); }
  EngineStatistics statistics() const;
  EngineMemory memory() const;
  // Events that an entity of this rank has sent so far: a measure of its load.
  std::uint32_t events_sent(std::uint32_t index) const { return processes_[index].sequence; }

 private:
  friend class Context;
  // A logical process: an entity of this rank.
  struct Process {
    EntityId entity;
    std::uint32_t sequence = 0;  // of the next event that it sends
  };
  // A cache line of every entity's state.
  struct StateLine {
    const unsigned char* first = nullptr;
    std::size_t stride = 0;
  };
  // An event of a sparse list: its target in the upper half, its chunk and place in the lower.
  using Key = std::uint64_t;
  // An event of a scattered list, and where the next one of its entity is.
  struct Linked {
    const Event* event = nullptr;
    std::uint32_t next = 0;
    std::uint32_t last = 0;  // of the entity's first event only: its last one
  };

  class EngineSite;

  void find_state_lines();
  void start();
  void arrive(std::span<const Event> events);
  Outlook outlook(std::uint32_t rank, SimTime wanted);
  void run_windows(SimTime bound);
  void request_pause();
  void make_pause(const EngineHooks& hooks, SimTime global_next);
  void move_periodic_pause(SimTime time);
  void run_window(WindowNumber window);
  EventChunk* run_list(const Calendar::List& list);
  void run_dense(const Calendar::List& list, std::size_t events);
  void run_sparse(const Calendar::List& list, std::size_t events);
  void run_scattered(std::size_t events);
  void link(std::uint32_t at, unsigned bits);
  void run_linked(std::uint32_t first);
  void sort_keys(unsigned bits);
  void run_self_events(const Event* limit);
  void enter(std::uint32_t index);
  void leave(std::uint32_t index);
  void run_lone(const Event& event);
  void run_entity(std::uint32_t index, const Event** next, const Event** end);
  const Event& event_of(Key key) const;
  void load_ahead(const Event& event);
  // As load_ahead, for an event that is to be handled in a microsecond.
  void prefetch_state(std::uint32_t index, Port port) const {
    prefetch(&processes_[index]);
    for (const StateLine& line : state_lines_[port.component()]) {
      prefetch(line.first + index * line.stride);
    }
  }
  void handle(const Event& event);
  void pass_boundaries(SimTime window_end);
  Event& enqueue_remote(std::size_t rank, EntityId target, SimTime time);
  [[noreturn]] void refuse(EntityId target, SimTime delay, SimTime required) const;

  comm::Communicator& communicator_;
  std::vector<Process> processes_;
  // [entities] index in this rank's arrays, or ~rank of the owner
  std::vector<std::int32_t> locator_;
  std::vector<SimTime> delay_to_;  // [ranks] from this rank
  std::vector<Component*> components_;
  // Of each component, what its events touch.
  std::array<std::array<StateLine, 4>, Port::max_components> state_lines_;
  Calendar calendar_;
  std::unique_ptr<SyncPolicy> policy_;
  std::vector<Outbox> outboxes_;
  Context context_;

  std::vector<std::uint32_t> places_;  // of the digits in a counting sort
  std::vector<const Event*> sorted_;
  std::vector<Key> keys_;
  std::vector<Key> scratch_;
  std::vector<EventChunk*> chunks_;  // of the list being run
  std::vector<Linked> linked_;
  std::vector<std::uint16_t> slots_;  // of a hash table: first event of an entity, from 1
  SelfQueue self_events_;             // of the entity to itself in this window
  WindowNumber window_ = 0;           // being run
  SimTime window_end_;
  std::size_t shortest_prefetched_ = 0;  // events of a list
  bool is_large_ = false;                // state fits no cache
  bool is_small_ = false;                // state fits the cache of a core
  SimTime soon_;  // events before it find their state called for when they are sent
  SimTime last_time_;
  SimTime last_handled_;
  SimTime boundary_period_ = SimTime::never();
  SimTime next_boundary_ = SimTime::never();
  std::uint32_t boundary_doubling_ = 0;
  std::uint32_t boundaries_passed_ = 0;  // since the last doubling
  SimTime pause_period_ = SimTime::never();
  SimTime periodic_pause_ = SimTime::never();
  SimTime requested_pause_ = SimTime::never();
  SimTime pause_ = SimTime::never();  // no event from here on is handled before the pause is made
  bool restored_ = false;
  EventObserver* observer_ = nullptr;
  EngineStatistics statistics_;
};

inline void Context::hand_on(const Event& event) {
  engine_->components_[event.port.component()]->handle(*this, event);
}

template <class Payload>
void Context::send_self(SimTime delay, Port port, const Payload& payload, std::uint16_t tag,
                        std::uint8_t flags) {
  Engine& engine = *engine_;
  const SimTime time = now_ + delay;
  const std::uint32_t index = index_;
  const auto fill = [&](Event& event) {
    event.time = time;
    event.target = index;
    event.source = self_;
    event.sequence = sequence_++;
    event.port = port;
    event.flags = flags;
    event.tag = tag;
    event.set_payload(payload);
  };
  if (time < engine.window_end_) {
    engine.self_events_.insert(time, fill);
  } else {
    engine.calendar_.insert(time, index, fill);
  }
}

template <class Payload>
void Context::send(EntityId target, SimTime delay, Port port, const Payload& payload,
                   std::uint16_t tag, std::uint8_t flags) {
  if (target == self_) {
    send_self(delay, port, payload, tag, flags);
    return;
  }
  Engine& engine = *engine_;
  if (engine.observer_ != nullptr) [[unlikely]] {
    engine.observer_->on_send(self_, sequence_, target);
  }
  if (delay < engine.lookahead()) [[unlikely]] {
    engine.refuse(target, delay, engine.lookahead());
  }
  const SimTime time = now_ + delay;
  const auto fill = [&](Event& event) {
    event.time = time;
    event.source = self_;
    event.sequence = sequence_++;
    event.port = port;
    event.flags = flags;
    event.tag = tag;
    event.set_payload(payload);
  };
  const std::int32_t place = engine.locator_[target.value()];
  if (place >= 0) [[likely]] {
    const auto index = static_cast<std::uint32_t>(place);
    engine.calendar_.insert(time, index, [&](Event& event) {
      fill(event);
      event.target = index;
    });
    if (time < engine.soon_) {
      engine.prefetch_state(index, port);
    }
  } else {
    const auto rank = static_cast<std::size_t>(~place);
    if (delay < engine.delay_to_[rank]) [[unlikely]] {
      engine.refuse(target, delay, engine.delay_to_[rank]);
    }
    fill(engine.enqueue_remote(rank, target, time));
  }
}

}  // namespace tessera::pdes
