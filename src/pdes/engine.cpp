#include "tessera/pdes/engine.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "tessera/core/cache.hpp"

namespace tessera::pdes {
namespace {

// Events from other ranks ahead of the one being put in whose place is called into cache.
constexpr std::size_t load_distance = 8;
// An event sent for one of so many windows after the next one finds its state called for at once:
// so long it stays in cache.
constexpr std::int64_t soon_windows = 2;
// From one look for news from other ranks to the next: ten microseconds of work or so.
constexpr std::uint64_t events_between_looks = 128;

// What a rank brings into a round. Once agreed on, a request is not made again: ranks would meet
// for it until its pause is reached.
RoundSums sums_of(const EngineHooks& hooks, bool stopping, bool is_pause_requested,
                  std::uint64_t events) {
  const auto ask = [](const std::function<bool()>& question) {
    return question && question() ? std::int64_t{1} : std::int64_t{0};
  };
  RoundSums sums;
  sums.stop_requests = stopping ? 0 : ask(hooks.stop_requested);
  sums.checkpoint_requests = is_pause_requested ? 0 : ask(hooks.checkpoint_requested);
  sums.events = static_cast<std::int64_t>(events);
  sums.work_done = hooks.work_done ? hooks.work_done() : 0;
  return sums;
}

}  // namespace

Engine::Engine(comm::Communicator& communicator, Regions regions, SimTime lookahead)
    : Engine(communicator, regions, lookahead, make_window_policy(communicator, regions.delays)) {}

Engine::Engine(comm::Communicator& communicator, Regions regions, SimTime lookahead,
               std::unique_ptr<SyncPolicy> policy)
    : communicator_(communicator),
      locator_(regions.owner.size()),
      calendar_(lookahead, static_cast<std::uint32_t>(regions.members.size())),
      policy_(std::move(policy)),
      outboxes_(static_cast<std::size_t>(communicator.size())),
      context_(*this),
      places_(std::size_t{1} << calendar_.block_bits()) {
  const auto self = static_cast<std::size_t>(communicator.rank());
  delay_to_ = std::move(regions.delays.to);
  ensure(delay_to_.size() == outboxes_.size(), "a delay to each rank");
  for (std::size_t entity = 0; entity < regions.owner.size(); ++entity) {
    locator_[entity] = ~static_cast<std::int32_t>(regions.owner[entity]);
  }
  processes_.reserve(regions.members.size());
  for (const EntityId entity : regions.members) {
    ensure(entity.value() < locator_.size() && regions.owner[entity.value()] == self,
           "a rank's members are the entities it owns");
    locator_[entity.value()] = static_cast<std::int32_t>(processes_.size());
    processes_.push_back({entity});
  }
}

unsigned Engine::attach(Component& component) {
  ensure(components_.size() < Port::max_components, "too many components for a port");
  components_.push_back(&component);
  return static_cast<unsigned>(components_.size() - 1);
}

void Engine::set_boundaries(SimTime period, std::uint32_t doubling) {
  const std::int64_t width = calendar_.width().ps();
  const std::int64_t windows = std::max<std::int64_t>(1, (period.ps() + width - 1) / width);
  boundary_period_ = calendar_.width() * windows;
  next_boundary_ = boundary_period_;
  boundary_doubling_ = doubling;
}

void Engine::set_pauses(SimTime period) {
  const std::int64_t width = calendar_.width().ps();
  pause_period_ = calendar_.width() * std::max<std::int64_t>(1, (period.ps() + width - 1) / width);
  periodic_pause_ = pause_period_;
  pause_ = std::min(pause_, periodic_pause_);
}

Event& Engine::enqueue_remote(std::size_t rank, EntityId target, SimTime time) {
  Outbox& outbox = outboxes_[rank];
  outbox.earliest = std::min(outbox.earliest, time);
  ++statistics_.remote_events;
  Event& event = outbox.events.emplace_back();
  event.target = target.value();
  return event;
}

void Engine::refuse(EntityId target, SimTime delay, SimTime required) const {
  throw ModelError("causality: entity " + std::to_string(context_.self_.value()) +
                       " sends to entity " + std::to_string(target.value()) + " with a delay of " +
                       to_string(delay) + ", below the lookahead of " + to_string(required) +
                       " between them",
                   context_.now_, context_.self_);
}

void Engine::start() {
  window_end_ = SimTime::zero();  // events to itself go through the calendar
  context_.now_ = SimTime::zero();
  for (std::uint32_t index = 0; index < local_entities(); ++index) {
    enter(index);
    for (Component* component : components_) {
      component->start(context_);
    }
    processes_[index].sequence = context_.sequence_;
  }
}

void Engine::arrive(std::span<const Event> events) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i + load_distance < events.size()) {
      call_into_cache(&locator_[events[i + load_distance].target]);
    }
    Event event = events[i];
    const std::int32_t place = locator_[event.target];
    ensure(place >= 0, "an event came to a rank that does not own its target");
    ensure(event.time >= window_end_, "an event came after its time: regions are closer than said");
    const auto index = static_cast<std::uint32_t>(place);
    components_[event.port.component()]->take_in(event);
    calendar_.insert(event.time, index, [&](Event& slot) {
      slot = event;
      slot.target = index;
    });
  }
}

// The engine as its policy sees it.
class Engine::EngineSite final : public Site {
 public:
  explicit EngineSite(Engine& engine) : engine_(engine) {}
  SimTime next() const override {
    return engine_.calendar_.start_of(engine_.calendar_.next_window());
  }
  SimTime width() const override { return engine_.calendar_.width(); }
  SimTime limit() const override { return engine_.pause_; }
  std::vector<Outbox>& outboxes() override { return engine_.outboxes_; }
  void arrive(std::span<const Event> events) override { engine_.arrive(events); }
  Outlook outlook(std::uint32_t rank, SimTime wanted) override {
    return engine_.outlook(rank, wanted);
  }
  std::string describe(const Event& event) const override {
    return std::string(engine_.components_[event.port.component()]->name()) + " at entity " +
           std::to_string(event.source.value());
  }

 private:
  Engine& engine_;
};

// Components that know nothing leave what holds for all: the least delay between the regions.
Outlook Engine::outlook(std::uint32_t rank, SimTime wanted) {
  const Moment moment{window_end_, calendar_.start_of(calendar_.next_window()), wanted,
                      lookahead()};
  Outlook all;
  for (Component* component : components_) {
    all.add(component->outlook(rank, moment)
                .value_or(Outlook{SimTime::never(), delay_to_[rank], delay_to_[rank]}));
  }
  return all;
}

bool Engine::run(const EngineHooks& hooks) {
  using WallClock = std::chrono::steady_clock;
  EngineSite site(*this);
  find_state_lines();
  if (restored_) {
    move_periodic_pause(window_end_);
  } else {
    start();
  }
  const bool has_others = communicator_.size() > 1;
  bool stopping = false;
  while (true) {
    const RoundSums sums =
        sums_of(hooks, stopping, !requested_pause_.is_never(), statistics_.events);
    // One rank waits for nobody, and may have millions of short rounds.
    const auto before = has_others ? WallClock::now() : WallClock::time_point();
    const RoundResult round = policy_->advance(site, sums);
    if (has_others) {
      statistics_.waiting_s += std::chrono::duration<double>(WallClock::now() - before).count();
    }
    if (hooks.on_round) {
      hooks.on_round(round);
    }
    if (round.global) {
      if (round.finished) {
        return true;
      }
      stopping = stopping || round.sums.stop_requests > 0;
      if (stopping && !hooks.on_pause) {
        return false;
      }
      if (round.sums.checkpoint_requests > 0 || stopping) {
        request_pause();
      }
      if (round.global_next >= pause_) {
        make_pause(hooks, round.global_next);
        if (stopping) {
          return false;
        }
      }
    }
    run_windows(std::min(round.bound, pause_));
  }
}

// Whole windows only: floor(bound) is still past the earliest window of all ranks, because no
// distance between regions is below the lookahead.
void Engine::run_windows(SimTime bound) {
  const WindowNumber end = bound.is_never() ? no_window : calendar_.window_of(bound);
  const std::uint64_t stretch_end = statistics_.events + policy_->stretch();
  std::uint64_t look = statistics_.events + events_between_looks;
  for (WindowNumber window = calendar_.next_window(); window < end && window != no_window;
       window = calendar_.next_window()) {
    try {
      run_window(window);
    } catch (const ModelError& error) {
      error.throw_placed(context_.now_, context_.self_);
    }
    if (statistics_.events >= stretch_end) {
      break;
    }
    if (statistics_.events >= look) {
      if (policy_->has_news()) {
        break;
      }
      look = statistics_.events + events_between_looks;
    }
  }
}

// The earliest pause that no rank has passed. The ranks agree on it in a reduction of its own.
void Engine::request_pause() {
  if (!requested_pause_.is_never()) {
    return;
  }
  std::array<std::uint64_t, 1> latest{static_cast<std::uint64_t>(window_end_.ps())};
  communicator_.reduce_max(latest);
  requested_pause_ = SimTime::from_ps(static_cast<std::int64_t>(latest[0]));
  pause_ = std::min(pause_, requested_pause_);
}

void Engine::make_pause(const EngineHooks& hooks, SimTime global_next) {
  pass_boundaries(pause_);
  if (hooks.on_pause) {
    hooks.on_pause(pause_);
  }
  if (requested_pause_ <= pause_) {
    requested_pause_ = SimTime::never();
  }
  move_periodic_pause(global_next);
}

// To the first one after `time`.
void Engine::move_periodic_pause(SimTime time) {
  if (!pause_period_.is_never() && periodic_pause_ <= time) {
    periodic_pause_ += pause_period_ * ((time - periodic_pause_).ps() / pause_period_.ps() + 1);
  }
  pause_ = std::min(requested_pause_, periodic_pause_);
}

void Engine::pass_boundaries(SimTime window_end) {
  while (window_end > next_boundary_) {
    for (Component* component : components_) {
      component->pass_boundary(next_boundary_);
    }
    if (++boundaries_passed_ == boundary_doubling_) {
      boundaries_passed_ = 0;
      boundary_period_ = boundary_period_ * 2;
    }
    next_boundary_ += boundary_period_;
  }
}

void Engine::finish_boundaries(SimTime end) {
  if (!boundary_period_.is_never()) {
    pass_boundaries(end);
  }
}

void Engine::run_window(WindowNumber window) {
  window_ = window;
  window_end_ = calendar_.start_of(window) + calendar_.width();
  soon_ = is_large_ ? window_end_ + calendar_.width() * soon_windows : SimTime::zero();
  if (window_end_ > next_boundary_) [[unlikely]] {
    pass_boundaries(window_end_);
  }
  ++statistics_.windows;
  // Most windows of a sparse machine hold one event: there is nothing to sort.
  if (calendar_.take_lone(window, [this](const Event& event) { run_lone(event); })) {
    return;
  }
  calendar_.take(window);
  if (calendar_.takes_blocks()) {
    soon_ = SimTime::zero();  // whole windows do not fit the cache
  }
  for (Calendar::List list = calendar_.next_list(); list.chunks != nullptr;
       list = calendar_.next_list()) {
    EventChunk* const last = run_list(list);
    calendar_.release(list, last);
  }
}

EngineStatistics Engine::statistics() const {
  EngineStatistics statistics = statistics_;
  const SyncCounts& counts = policy_->counts();
  statistics.batches = counts.batches;
  statistics.rounds = counts.rounds;
  statistics.waits = counts.waits;
  statistics.largest_pending = calendar_.largest_size();
  return statistics;
}

EngineMemory Engine::memory() const {
  EngineMemory memory;
  memory.process_bytes =
      processes_.capacity() * sizeof(Process) + locator_.capacity() * sizeof(std::int32_t);
  memory.event_bytes =
      calendar_.resident_bytes() + (keys_.capacity() + scratch_.capacity()) * sizeof(Key) +
      sorted_.capacity() * sizeof(Event*) + places_.capacity() * sizeof(std::uint32_t) +
      chunks_.capacity() * sizeof(EventChunk*) + linked_.capacity() * sizeof(Linked) +
      slots_.capacity() * sizeof(std::uint16_t) + self_events_.resident_bytes();
  return memory;
}

}  // namespace tessera::pdes
