// A served model on units that are single tiles, whose time is that of operations: what each unit
// goes through in a step, by itself, one after the other.
//
// A step is told whole, as a driver queues the kernels of a GPU ahead: a unit does its operators,
// adds up with the other shards, hands on to the next stage and waits for the stage before.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/core/units.hpp"
#include "tessera/serving/step_sizes.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::serving {

struct Batch;

// Of the operation's bytes, those in memory that a tile may be too small to hold.
struct TileOperation {
  workload::Operation operation;
  // The same in several, one after the other, where kernels do not take sequences of different
  // kinds together; empty: there is but one kind.
  std::vector<workload::Operation> apart;
  // The kernels that it is made of, one after the other in any case; empty: it is one.
  std::vector<workload::Operation> kernels;
  Bytes weights;
  Bytes cached;    // keys and values that are read
  Bytes appended;  // and written
};

struct WalkPart {
  enum class Kind : std::uint8_t {
    operation,
    collective,  // Exchange of the same op
    hand_on,     // the same
    await,       // what the stage before hands on
  };
  std::uint32_t op = 0;
  Kind kind = Kind::operation;
};
using Walk = std::vector<WalkPart>;

class TileModel {
 public:
  virtual ~TileModel() = default;
  virtual StepSizes sizes_of(const Batch& batch) const = 0;
  // What a unit does in a step of these sizes; stays where it is as long as the model does.
  virtual const Walk& walk(std::uint32_t unit, const StepSizes& sizes) const = 0;
  // What an operator's operation depends on, of these; the others are zero.
  virtual StepSizes needed(std::uint32_t op, const StepSizes& sizes) const = 0;
  virtual TileOperation operation(std::uint32_t op, const StepSizes& sizes) const = 0;
  // Words of StepSizes::more that tiles are told, a bit for each.
  virtual unsigned more_words() const { return 0; }
  // Whether a layer's keys and values, or its state, are in the cache once this operator is over;
  // and what of it is handed over of a prompt of so many tokens, by a unit.
  virtual bool fills_cache(std::uint32_t /*op*/) const { return false; }
  virtual Bytes handed_over(std::uint32_t /*op*/, std::uint64_t /*tokens*/) const {
    return Bytes();
  }
  // Layers that have caches.
  std::uint32_t layers_in(const Walk& walk) const;
  // By a unit, of all of them.
  Bytes all_handed_over(const Walk& walk, std::uint64_t tokens) const;
};

}  // namespace tessera::serving
