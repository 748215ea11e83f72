// What a checkpoint holds of the engine.
#include <algorithm>

#include "tessera/pdes/engine.hpp"

namespace tessera::pdes {

void Engine::save(std::uint32_t index, StateWriter& writer) const {
  writer.put(processes_[index].sequence);
  for (const Component* component : components_) {
    component->save(index, writer);
  }
}

void Engine::restore(std::uint32_t index, StateReader& reader) {
  restored_ = true;
  processes_[index].sequence = reader.get<std::uint32_t>();
  for (Component* component : components_) {
    component->restore(index, reader);
  }
}

void Engine::save_totals(StateWriter& writer) const {
  writer.put(boundary_period_);
  writer.put(next_boundary_);
  writer.put(boundaries_passed_);
  writer.put(pause_);
  writer.put(last_time_);
  writer.put(statistics_.events);
  for (const Component* component : components_) {
    component->save_totals(writer);
  }
}

void Engine::restore_totals(StateReader& reader, bool count) {
  restored_ = true;
  boundary_period_ = reader.get<SimTime>();
  next_boundary_ = reader.get<SimTime>();
  boundaries_passed_ = reader.get<std::uint32_t>();
  window_end_ = reader.get<SimTime>();
  last_time_ = std::max(last_time_, reader.get<SimTime>());
  const auto events = reader.get<std::uint64_t>();
  if (count) {
    statistics_.events += events;
    for (Component* component : components_) {
      component->add_totals(reader);
    }
  }
}

void Engine::visit_pending(const std::function<void(const Event&)>& visit) const {
  calendar_.visit([&](const Event& pending) {
    Event event = pending;
    event.target = processes_[pending.target].entity.value();
    visit(event);
  });
}

void Engine::restore_pending(const Event& event) {
  restored_ = true;
  arrive({&event, 1});
}

}  // namespace tessera::pdes
