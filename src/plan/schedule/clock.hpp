// Follows the passes of a plan's schedule through one iteration, given how long each takes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/plan/plan.hpp"

namespace tessera::plan {

class ScheduleClock {
 public:
  // `times` [stages][pieces]; `boundary` of what a stage sends to the next one (after a forward
  // pass) or to the one before. The update counts where `updates`.
  struct Times {
    std::vector<std::vector<SimTime>> pieces;
    std::function<SimTime(std::uint32_t from, std::uint32_t to)> boundary;
    bool updates = false;
  };
  // The plan must outlive the clock.
  ScheduleClock(const Plan& plan, Times times);

  // Of one iteration.
  SimTime end() const;
  // Of `iterations` one after the other, on average: the first stage begins each after its own part
  // of the one before, and no stage does its passes in less time than they take.
  SimTime iteration(std::int64_t iterations) const;

 private:
  bool advance(std::uint32_t stage);
  void note_done(std::uint32_t stage, const Pass& pass);
  std::optional<SimTime> ready_at(const Pass& pass, std::uint32_t part) const;
  std::optional<SimTime> sent_at(std::size_t direction, std::uint32_t from, std::uint32_t to,
                                 const Pass& pass) const;
  std::size_t place(std::uint32_t part, const Pass& pass) const {
    return std::size_t{part} * plan_.strategy.micro_batches + pass.micro_batch;
  }

  const Plan& plan_;
  Times times_;
  std::uint32_t stages_;
  PipelineShape shape_;
  std::uint32_t parts_;
  std::array<std::vector<std::optional<SimTime>>, 2> done_;  // forward, backward [parts][batches]
  std::vector<std::size_t> next_;                            // [stages] in the schedule
  std::vector<SimTime> clock_;                               // [stages] end of what has been done
  std::vector<SimTime> busy_;
  std::vector<SimTime> begin_;
};

}  // namespace tessera::plan
