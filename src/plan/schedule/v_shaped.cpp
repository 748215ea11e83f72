// Schedules of two chunks a stage that lie in a V: the first and the last part of the model in the
// first stage, the two in the middle in the last one; or the first part of one copy and the last of
// another.
//
// The orders are the published ones: of zb-v for passes of equal times, as in the authors' figure
// and in PyTorch's torch.distributed.pipelining; of dualpipe and dualpipe-v DeepSeek's. Passes that
// run beside each other there, a forward one and a backward one, come one after the other here:
// what they hide of each other's messages is not followed.

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "tessera/plan/schedule/schedule.hpp"

namespace tessera::plan {
namespace {

// Chunk 0 goes to the last stage, chunk 1 comes back.
constexpr std::uint16_t there = 0;
constexpr std::uint16_t back = 1;

// The passes of a stage; each kind goes through micro-batches in order.
class PassList {
 public:
  // Those of micro-batches from `count` on are left out.
  explicit PassList(std::uint32_t count) : count_(count) {}

  void forward(std::uint16_t chunk) { add(Phase::forward, chunk, forward_[chunk]++); }
  void inputs(std::uint16_t chunk) {
    put_off_.push_back({Phase::weight_gradient, chunk, backward_[chunk]});
    add(Phase::input_gradient, chunk, backward_[chunk]++);
  }
  void whole(std::uint16_t chunk) { add(Phase::backward, chunk, backward_[chunk]++); }
  // The gradients of weights that were put off first, of any chunk or of one.
  void weights() {
    if (!put_off_.empty()) {
      take(put_off_.begin());
    }
  }
  void weights(std::uint16_t chunk) {
    const auto found = std::find_if(put_off_.begin(), put_off_.end(),
                                    [&](const Pass& pass) { return pass.chunk == chunk; });
    if (found != put_off_.end()) {
      take(found);
    }
  }

  std::uint32_t forward_done(std::uint16_t chunk) const { return forward_[chunk]; }
  bool puts_off(std::uint16_t chunk) const {
    return std::any_of(put_off_.begin(), put_off_.end(),
                       [&](const Pass& pass) { return pass.chunk == chunk; });
  }
  std::vector<Pass> list() { return std::move(passes_); }

 private:
  void add(Phase phase, std::uint16_t chunk, std::uint32_t micro_batch) {
    if (micro_batch < count_) {
      passes_.push_back({phase, chunk, micro_batch});
    }
  }
  void take(std::deque<Pass>::iterator place) {
    add(place->phase, place->chunk, place->micro_batch);
    put_off_.erase(place);
  }

  std::uint32_t count_;
  std::array<std::uint32_t, 2> forward_{};   // micro-batches, by chunk
  std::array<std::uint32_t, 2> backward_{};  // whole, or inputs
  std::deque<Pass> put_off_;
  std::vector<Pass> passes_;
};

// Fewer micro-batches than fill it run in the order of as many as do.
std::vector<Pass> zero_bubble_v(const PipelineShape& shape, std::uint32_t stage) {
  const std::uint32_t stages = shape.stages;
  const std::uint32_t count = std::max(2 * stages - 1, shape.micro_batches);
  PassList passes(shape.micro_batches);
  const auto backward = [&](std::uint16_t chunk) {
    passes.inputs(chunk);
    passes.weights(chunk);
  };
  for (std::uint32_t i = 0; i < 2 * (stages - stage) - 1; ++i) {
    passes.forward(there);
  }
  for (std::uint32_t i = 0; i < stage; ++i) {
    passes.forward(back);
    passes.forward(there);
  }
  for (std::uint32_t i = 0; i < stages - stage; ++i) {
    passes.forward(back);
    backward(back);
  }
  while (passes.forward_done(back) < count) {
    if (passes.forward_done(there) < count) {
      passes.forward(there);
    }
    backward(there);
    passes.forward(back);
    backward(back);
  }
  // Nothing is put off up to here; now gradients of inputs go first, for the stages before.
  for (std::uint32_t i = 0; i < stage; ++i) {
    passes.inputs(there);
    passes.inputs(back);
  }
  for (std::uint32_t i = 0; i < stages - stage; ++i) {
    passes.inputs(there);
    passes.weights(there);
  }
  for (const std::uint16_t chunk : {back, there}) {
    while (passes.puts_off(chunk)) {
      passes.weights(chunk);
    }
  }
  return passes.list();
}

std::vector<Pass> dual_pipe_v(const PipelineShape& shape, std::uint32_t stage) {
  const std::uint32_t behind = shape.stages - stage - 1;  // stages
  PassList passes(shape.micro_batches);
  for (std::uint32_t i = 0; i < 2 * behind; ++i) {
    passes.forward(there);
  }
  for (std::uint32_t i = 0; i < stage + 1; ++i) {
    passes.forward(there);
    passes.forward(back);
  }
  for (std::uint32_t i = 0; i < behind; ++i) {
    passes.inputs(back);
    passes.weights();
    passes.forward(back);
  }
  for (std::uint32_t i = 0; i < shape.micro_batches - 2 * shape.stages + stage + 1; ++i) {
    passes.forward(there);
    passes.whole(back);
    passes.forward(back);
    passes.whole(there);
  }
  for (std::uint32_t i = 0; i < behind; ++i) {
    passes.whole(back);
    passes.forward(back);
    passes.whole(there);
  }
  // In the second half gradients of weights are put off.
  for (std::uint32_t i = 0; i < 2 * (stage + 1); ++i) {
    const std::uint16_t chunk = i % 2 == 0 ? back : there;
    if (i < stage + 1) {
      passes.whole(chunk);
    } else {
      passes.inputs(chunk);
    }
  }
  for (std::uint32_t i = 0; i < behind; ++i) {
    passes.weights();
    passes.inputs(there);
  }
  for (std::uint32_t i = 0; i < stage + 1; ++i) {
    passes.weights();
  }
  return passes.list();
}

// The same order in both halves of the stages, whose first micro-batches come from their own end.
std::vector<Pass> dual_pipe(const PipelineShape& shape, std::uint32_t stage) {
  const bool first_half = stage < shape.stages / 2;
  const std::uint32_t each_way = shape.micro_batches / 2;
  PipelineShape half = shape;
  half.stages = shape.stages / 2;
  half.micro_batches = each_way;
  std::vector<Pass> passes = dual_pipe_v(half, first_half ? stage : shape.stages - 1 - stage);
  for (Pass& pass : passes) {
    pass.chunk = first_half == (pass.chunk == there) ? there : back;
    pass.micro_batch += pass.chunk == back ? each_way : 0;
  }
  return passes;
}

std::string two_chunks(const PipelineShape& shape) {
  return shape.chunks == 2 ? "" : "takes two chunks a stage: give 'chunks: 2'";
}

std::string many_micro_batches(const PipelineShape& shape) {
  return shape.chunks != 2 ? two_chunks(shape)
         : shape.micro_batches >= 2 * shape.stages
             ? ""
             : "needs twice as many micro-batches as stages, and there are " +
                   std::to_string(shape.micro_batches) + " for " + std::to_string(shape.stages);
}

std::string even_numbers(const PipelineShape& shape) {
  return shape.stages % 2 != 0 || shape.micro_batches % 2 != 0
             ? "needs an even number of stages, and of micro-batches, and there are " +
                   std::to_string(shape.stages) + " and " + std::to_string(shape.micro_batches)
             : many_micro_batches(shape);
}

const Registration registered_zero_bubble_v(
    schedules(),
    {"zb-v",
     "two chunks per stage in a V, with separate weight gradients: as much memory as 1f1b",
     {}},
    Schedule{zero_bubble_v, two_chunks, true, false});
const Registration registered_dual_pipe_v(
    schedules(),
    {"dualpipe-v",
     "two chunks per stage in a V, with a forward pass beside each backward pass",
     {}},
    Schedule{dual_pipe_v, many_micro_batches, true, false});
const Registration registered_dual_pipe(
    schedules(),
    {"dualpipe",
     "dualpipe-v with two copies of the model, one for each direction through the stages",
     {}},
    Schedule{dual_pipe, even_numbers, true, true});

}  // namespace
}  // namespace tessera::plan
