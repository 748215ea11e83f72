#include "tessera/collective/turns.hpp"

#include <algorithm>
#include <deque>
#include <queue>
#include <tuple>
#include <utility>

#include "tessera/collective/conventions.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::collective {
namespace {

// An addition reads both operands and writes the sum.
constexpr int passes_of_an_addition = 3;

class ListSchedule {
 public:
  // `bytes` gives the vector of a turn, `time` how long it takes.
  ListSchedule(Turns& turns, std::size_t queues, const TurnOptions& options,
               const Conventions& conventions, std::function<Bytes(const Turn&)> bytes,
               std::function<SimTime(const Turn&)> time)
      : turns_(turns),
        options_(options),
        conventions_(conventions),
        bytes_(std::move(bytes)),
        time_(std::move(time)),
        queues_(queues),
        under_way_(queues) {
    turns_.of.resize(queues);
  }

  void run() {
    for (std::uint32_t chunk = 0; chunk < turns_.chunks.size(); ++chunk) {
      enqueue({chunk, 0});
      begin_turns(SimTime::zero());
    }
    while (!ends_.empty()) {
      const End end = ends_.top();
      ends_.pop();
      --under_way_[queue_of(end.turn)];
      enqueue({end.turn.chunk, end.turn.phase + 1});
      begin_turns(end.time);
    }
  }

 private:
  struct End {
    SimTime time;
    std::uint32_t dimension = 0;
    std::uint64_t number = 0;  // in the order of begins
    Turn turn;
    friend bool operator>(const End& a, const End& b) {
      return std::tie(a.time, a.dimension, a.number) > std::tie(b.time, b.dimension, b.number);
    }
  };

  const Phase& phase_of(const Turn& turn) const {
    return turns_.chunks[turn.chunk].phases[turn.phase];
  }
  std::uint32_t queue_of(const Turn& turn) const { return turns_.queue_of(phase_of(turn)); }

  void enqueue(const Turn& turn) {
    const std::size_t phases = turns_.chunks[turn.chunk].phases.size();
    if (turn.phase >= phases) {
      return;
    }
    std::deque<Turn>& queue = queues_[queue_of(turn)];
    auto place = queue.end();
    if (options_.queue == ChunkQueue::smallest_first) {
      const Bytes bytes = bytes_(turn);
      const std::size_t to_go = phases - turn.phase - 1;
      place = std::find_if(queue.begin(), queue.end(), [&](const Turn& other) {
        return conventions_.goes_before(bytes, bytes_(other), to_go);
      });
    } else if (options_.queue == ChunkQueue::lifo) {
      place = queue.begin();
    }
    queue.insert(place, turn);
  }

  void begin_turns(SimTime now) {
    for (std::size_t number = 0; number < queues_.size(); ++number) {
      std::deque<Turn>& queue = queues_[number];
      while (!queue.empty() && under_way_[number] < options_.at_a_time) {
        const Turn turn = queue.front();
        queue.pop_front();
        ++under_way_[number];
        turns_.of[number].push_back(turn);
        ends_.push({now + time_(turn), phase_of(turn).dimension, begun_++, turn});
      }
    }
  }

  Turns& turns_;
  TurnOptions options_;
  const Conventions& conventions_;
  std::function<Bytes(const Turn&)> bytes_;
  std::function<SimTime(const Turn&)> time_;
  std::vector<std::deque<Turn>> queues_;
  std::vector<std::uint32_t> under_way_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::uint64_t begun_ = 0;
};

}  // namespace

Bytes StepCosts::on_wire(Bytes data) const {
  if (data_ppm == whole_ppm) {
    return data;
  }
  const Wide scaled = static_cast<Wide>(data.count()) * whole_ppm;
  return Bytes(static_cast<std::uint64_t>((scaled + data_ppm - 1) / data_ppm));
}

SimTime StepCosts::after_message(const Step& step, std::uint32_t number) const {
  SimTime time = endpoint;
  if (step.reduces && number >= free_additions && local_memory > Bandwidth()) {
    time +=
        cut_to(tick, serialization_time(step.receive_bytes, local_memory)) * passes_of_an_addition;
  }
  return time;
}

Turns plan_turns(Kind kind, Bytes bytes, std::span<const StackedDimension> dimensions,
                 const StackedOptions& options, const TurnOptions& turn_options,
                 const PhaseTime& time) {
  ensure(turn_options.at_a_time > 0, "a dimension that nothing may go through");
  Turns turns;
  turns.chunks = plan_chunks(kind, bytes, dimensions, options);
  std::uint32_t queues = 0;
  for (const StackedDimension& dimension : dimensions) {
    turns.first_queue.push_back(queues);
    queues += dimension.queues;
  }
  const std::vector<std::uint32_t> origin(dimensions.size());
  const auto bytes_of = [&](const Turn& turn) {
    const ChunkPlan& chunk = turns.chunks[turn.chunk];
    return phase_bytes(chunk, chunk.phases[turn.phase],
                       chunk_bytes(bytes, options.chunks, turn.chunk), dimensions, origin);
  };
  ListSchedule(turns, queues, turn_options, *options.conventions, bytes_of, [&](const Turn& turn) {
    return time(turns.chunks[turn.chunk].phases[turn.phase], bytes_of(turn));
  }).run();
  return turns;
}

SimTime phase_time(const Algorithm& algorithm, Kind kind, std::uint32_t size, Bytes bytes,
                   const MessageTime& message, const StepCosts& costs) {
  const std::uint32_t lanes = algorithm.lanes(kind);
  const std::uint32_t steps = algorithm.steps(kind, size);
  SimTime end = costs.endpoint;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    const Bytes of_lane = chunk_bytes(bytes, lanes, lane);
    std::vector<SimTime> all_over(steps + std::size_t{1});  // those below
    all_over[0] = costs.endpoint;
    for (std::uint32_t number = 0; number < steps; ++number) {
      const Step step = algorithm.step(kind, size, 0, of_lane, number, lane);
      SimTime over = all_over[step.after];
      if (step.receive_from != nobody) {
        over += message(step.receive_from, 0, costs.on_wire(step.receive_bytes)) +
                costs.after_message(step, number);
      }
      all_over[number + std::size_t{1}] = std::max(all_over[number], over);
    }
    end = std::max(end, all_over[steps]);
  }
  return end;
}

SimTime barrier_time(const Algorithm& algorithm, std::uint32_t size, const MessageTime& message) {
  std::vector<SimTime> reached(size);
  const std::uint32_t steps = algorithm.steps(Kind::barrier, size);
  for (std::uint32_t number = 0; number < steps; ++number) {
    std::vector<SimTime> next = reached;
    for (Member member = 0; member < size; ++member) {
      const Step step = algorithm.step(Kind::barrier, size, member, Bytes(0), number, 0);
      if (step.receive_from != nobody) {
        const SimTime there =
            reached[step.receive_from] + message(step.receive_from, member, Bytes(0));
        next[member] = std::max(next[member], there);
      }
    }
    reached = std::move(next);
  }
  return *std::max_element(reached.begin(), reached.end());
}

}  // namespace tessera::collective
