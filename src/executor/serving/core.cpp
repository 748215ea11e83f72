#include "serving/core.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::executor {

using serving::OperatorName;

const Told& ServingCore::tell(std::uint16_t slot, std::size_t word, std::uint64_t value) {
  auto known =
      std::find_if(told.begin(), told.end(), [slot](const Told& one) { return one.slot == slot; });
  if (known == told.end()) {
    told.push_back({slot, 0, {}});
    known = told.end() - 1;
  }
  known->words[word] = value;
  known->heard = static_cast<std::uint16_t>(known->heard | 1U << word);
  return *known;
}

Told ServingCore::take_told(std::uint16_t slot) {
  const auto known =
      std::find_if(told.begin(), told.end(), [slot](const Told& one) { return one.slot == slot; });
  const Told all = *known;
  told.erase(known);
  return all;
}

void ServingCore::begin(SimTime now, const Begun& part) {
  book(now);
  begun.push_back(part);
}

void ServingCore::end(pdes::Context& context, const ServingSetup& setup, std::uint16_t slot) {
  book(context.now());
  const auto part = std::find_if(begun.begin(), begun.end(),
                                 [slot](const Begun& one) { return one.slot == slot; });
  ensure(part != begun.end(), "a share that ends has begun");
  if (setup.observer != nullptr && part->time != context.now()) {
    const OperatorName name = OperatorName::from(part->number);
    setup.observer->on_operator({context.self(), setup.work.name_of(name),
                                 static_cast<plan::Phase>(name.tenant),
                                 part->exchanges ? Activity::tensor : Activity::compute, part->step,
                                 part->time, context.now()});
  }
  begun.erase(part);
}

Turn& ServingCore::turn_of(std::uint32_t tenant) {
  const auto known = std::find_if(turns.begin(), turns.end(),
                                  [tenant](const Turn& one) { return one.tenant == tenant; });
  return known != turns.end() ? *known : turns.emplace_back(Turn{tenant, 0});
}

Walking* ServingCore::next_walk() {
  const auto next = std::find_if(walks.begin(), walks.end(), [this](const Walking& one) {
    return !one.has_begun && turn_of(one.tenant).turn == one.turn;
  });
  return next == walks.end() ? nullptr : &*next;
}

void ServingCore::end_walk(std::uint16_t slot) {
  const auto over = std::find_if(walks.begin(), walks.end(),
                                 [slot](const Walking& one) { return one.slot == slot; });
  Turn& turn = turn_of(over->tenant);
  turn.turn = WalkOf::turn_after(turn.turn);
  walks.erase(over);
  layers.end_step(slot);
}

void ServingCore::learn_spent(SpentWord word, SimTime time) {
  switch (word) {
    case SpentWord::busy:
      busy_ps = time.ps();
      break;
    case SpentWord::exchanging:
      exchange_ps = time.ps();
      break;
    case SpentWord::end:
      since = time;
      break;
  }
}

void ServingCore::book(SimTime now) {
  const bool computes =
      std::any_of(begun.begin(), begun.end(), [](const Begun& one) { return !one.exchanges; });
  if (computes) {
    busy_ps += (now - since).ps();
  } else if (!begun.empty()) {
    exchange_ps += (now - since).ps();
  }
  since = now;
}

void ServingCore::save(pdes::StateWriter& writer) const {
  writer.put_all(told);
  writer.put_all(begun);
  writer.put_all(walks);
  writer.put_all(handed);
  writer.put(walked);
  writer.put_all(turns);
  writer.put(since);
  writer.put(busy_ps);
  writer.put(exchange_ps);
  writer.put(host_free);
  exchanges.save(writer);
}

void ServingCore::restore(pdes::StateReader& reader) {
  told = reader.get_all<Told>();
  begun = reader.get_all<Begun>();
  walks = reader.get_all<Walking>();
  handed = reader.get_all<std::uint16_t>();
  walked = reader.get<std::uint32_t>();
  turns = reader.get_all<Turn>();
  since = reader.get<SimTime>();
  busy_ps = reader.get<std::int64_t>();
  exchange_ps = reader.get<std::int64_t>();
  host_free = reader.get<std::array<SimTime, 2>>();
  exchanges.restore(reader);
}

}  // namespace tessera::executor
