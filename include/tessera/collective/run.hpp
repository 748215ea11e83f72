// One member's part in a collective, step by step: a state machine without a clock, which says what
// to send and is told what has arrived.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"

namespace tessera::collective {

// A step of a collective, the same name at both ends of its message.
struct StepName {
  std::uint32_t chunk = 0;
  std::uint16_t phase = 0;
  std::uint16_t lane = 0;
  std::uint32_t step = 0;
  friend auto operator<=>(const StepName&, const StepName&) = default;
};

// What a run asks for. Called from within its member functions, which it must not call back.
class RunActions {
 public:
  virtual ~RunActions() = default;
  // To the member with this coordinate in the dimension, the other coordinates being the same; the
  // receiver takes it in the step `name`.
  virtual void send(std::uint32_t dimension, std::uint32_t coordinate, const StepName& name,
                    Bytes bytes) = 0;
  // Whether the message of the step is here already; it is taken then.
  virtual bool take_early(const StepName& name) = 0;
  // A message has been taken, of so many bytes on the wire; none: only its sender knows how many.
  virtual void taken(std::optional<Bytes> /*bytes*/) {}
  // A phase of a chunk (StackedCollective::turns) begins and ends here.
  virtual void phase_begins(std::uint32_t /*chunk*/, std::uint16_t /*phase*/) {}
  virtual void phase_ends(std::uint32_t /*chunk*/, std::uint16_t /*phase*/) {}
  // After this time, which is not zero, calls CollectiveRun::elapsed.
  virtual void wait(SimTime time, const StepName& name) = 0;
};

class CollectiveRun {
 public:
  virtual ~CollectiveRun() = default;
  virtual void begin(RunActions& actions) = 0;
  // A message has come for a step. False when that step has not begun yet: the caller keeps the
  // message until take_early.
  virtual bool arrived(const StepName& name, RunActions& actions) = 0;
  virtual void elapsed(const StepName& name, RunActions& actions) = 0;
  // Of an algorithm that passes on (Algorithm::is_passed_on): the messages of so many steps have
  // come, one by one, before that of the step `name`, which follows; all that they called for has
  // been done.
  virtual void passed_on(const StepName& /*name*/, std::uint32_t /*steps*/) {
    throw InternalError("messages that nobody was told of, in a collective that is no ring");
  }
  virtual bool is_over() const = 0;
  // A message that the member waits for, or a wait of its own (RunActions::wait), by the step's
  // name.
  struct Awaited {
    std::uint32_t dimension = 0;
    std::uint32_t coordinate = 0;  // of its sender there
    StepName name;
    Bytes bytes;
  };
  using AwaitedVisit = std::function<void(const Awaited&)>;
  // Calls `visit` such that it neither sends nor is over until one of those visited is here. False
  // where that is not known, or where they are many.
  virtual bool visit_awaited(const AwaitedVisit& /*visit*/) const { return false; }
  // What it waits for, for reports: "dimension 2".
  virtual std::string waits_in() const = 0;

  // The state as numbers, for checkpoints; `restore` takes what `save` gave, on a new run.
  virtual std::vector<std::uint32_t> save() const = 0;
  virtual void restore(const std::vector<std::uint32_t>& state) = 0;
};

}  // namespace tessera::collective
