// One core of those that serve, or a tile that is an NPU by itself: what it was told of, what it is
// about, and how its time was spent.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "serving/exchange.hpp"
#include "serving/layer_carries.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::executor {

// A share of an operator or an exchange that has begun.
struct Begun {
  std::uint64_t number = 0;
  SimTime time;
  std::uint32_t step = 0;
  std::uint16_t slot = 0;
  bool exchanges = false;
};

// A step that a tile goes through by itself.
struct Walking {
  std::uint16_t slot = 0;
  std::uint8_t priority = 0;
  std::uint8_t outstanding = 0;  // of the operator under way: its time, and accesses
  std::uint32_t tenant = 0;
  std::uint32_t unit = 0;
  std::uint32_t step = 0;
  std::uint32_t order = 0;  // among those of the tile
  std::uint16_t turn = 0;   // among those of its tenant
  bool has_begun = false;
  std::uint32_t at = 0;         // part of its walk
  std::uint32_t exchanges = 0;  // all-reduces begun before
  serving::StepSizes::Words sizes{};
};

// Which step of a tenant a tile does, or the next one that it will do: one after the other.
struct Turn {
  std::uint32_t tenant = 0;
  std::uint16_t turn = 0;
};

struct ServingCore {
  ServingCore(const ServingSetup& setup, const CorePlace& the_place)
      : place(the_place), exchanges(setup) {}

  // One of the words of a part, and what is known of it so far; it stays until it is taken.
  const Told& tell(std::uint16_t slot, std::size_t word, std::uint64_t value);
  Told take_told(std::uint16_t slot);
  void begin(SimTime now, const Begun& part);
  // Of the part in that place, which is over; tells the observer.
  void end(pdes::Context& context, const ServingSetup& setup, std::uint16_t slot);

  // A step that has not begun and whose turn it is; null: there is none.
  Walking* next_walk();
  void end_walk(std::uint16_t slot);

  // Of whole steps, at the end.
  void learn_spent(SpentWord word, SimTime time);

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);

  CorePlace place;
  std::vector<Told> told;
  std::vector<Begun> begun;           // under way
  std::vector<Walking> walks;         // under way, on tiles
  std::vector<std::uint16_t> handed;  // slots of steps that the stage before has handed on
  std::uint32_t walked = 0;           // steps told of
  std::vector<Turn> turns;            // of tenants that had one
  ServingExchanges exchanges;
  LayerCarries layers;
  SimTime since;  // of the last change
  std::int64_t busy_ps = 0;
  std::int64_t exchange_ps = 0;  // in which nothing else went on
  // Each way of its link to the memory of its host, in and out, does one copy after the other.
  std::array<SimTime, 2> host_free{};

 private:
  void book(SimTime now);
  Turn& turn_of(std::uint32_t tenant);
};

}  // namespace tessera::executor
