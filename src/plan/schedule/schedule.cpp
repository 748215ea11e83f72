#include "tessera/plan/schedule/schedule.hpp"

#include <algorithm>

namespace tessera::plan {
namespace {

using Passes = std::vector<Pass>;

Pass pass_of(Phase phase, std::uint32_t micro_batch, std::uint32_t chunk = 0) {
  return {phase, static_cast<std::uint16_t>(chunk), micro_batch};
}

std::string one_chunk(const PipelineShape& shape) {
  return shape.chunks == 1 ? "" : "takes one chunk a stage; 'interleaved' takes several";
}

Passes gpipe(const PipelineShape& shape, std::uint32_t) {
  Passes passes;
  for (std::uint32_t m = 0; m < shape.micro_batches; ++m) {
    passes.push_back(pass_of(Phase::forward, m));
  }
  for (std::uint32_t m = shape.micro_batches; m > 0; --m) {
    passes.push_back(pass_of(Phase::backward, m - 1));
  }
  return passes;
}

Passes layer_wise(const PipelineShape& shape, std::uint32_t) {
  Passes passes;
  for (std::uint32_t m = 0; m < shape.micro_batches; ++m) {
    passes.push_back(pass_of(Phase::forward, m));
    passes.push_back(pass_of(Phase::backward, m));
  }
  return passes;
}

std::string one_stage(const PipelineShape& shape) {
  return shape.stages == 1 ? one_chunk(shape) : "is for a pipeline of one stage";
}

Passes streaming(const PipelineShape& shape, std::uint32_t) {
  Passes passes;
  for (std::uint32_t m = 0; m < shape.micro_batches; ++m) {
    passes.push_back(pass_of(Phase::forward, m));
  }
  return passes;
}

// `ahead` forward passes, then one backward for each forward; the lists are in order of execution.
Passes alternated(const Passes& forward, const Passes& backward, std::size_t ahead) {
  Passes passes(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(ahead));
  for (std::size_t i = 0; i < backward.size(); ++i) {
    if (i + ahead < forward.size()) {
      passes.push_back(forward[i + ahead]);
    }
    passes.push_back(backward[i]);
  }
  return passes;
}

Passes one_forward_one_backward(const PipelineShape& shape, std::uint32_t stage) {
  Passes forward;
  Passes backward;
  for (std::uint32_t m = 0; m < shape.micro_batches; ++m) {
    forward.push_back(pass_of(Phase::forward, m));
    backward.push_back(pass_of(Phase::backward, m));
  }
  return alternated(forward, backward, std::min(shape.stages - stage - 1, shape.micro_batches));
}

// In groups of `stages` micro-batches, each group through one chunk after the other; backward
// through the chunks in the opposite order.
Passes interleaved(const PipelineShape& shape, std::uint32_t stage) {
  const std::uint32_t all = shape.micro_batches * shape.chunks;
  Passes forward;
  Passes backward;
  for (std::uint32_t i = 0; i < all; ++i) {
    const std::uint32_t group = i / (shape.stages * shape.chunks);
    const std::uint32_t chunk = i / shape.stages % shape.chunks;
    const std::uint32_t micro_batch = group * shape.stages + i % shape.stages;
    forward.push_back(pass_of(Phase::forward, micro_batch, chunk));
    backward.push_back(pass_of(Phase::backward, micro_batch, shape.chunks - 1 - chunk));
  }
  const std::uint32_t ahead = (shape.stages - stage - 1) * 2 + (shape.chunks - 1) * shape.stages;
  return alternated(forward, backward, std::min(ahead, all));
}

std::string in_groups(const PipelineShape& shape) {
  return shape.micro_batches % shape.stages == 0
             ? ""
             : "needs micro-batches in groups of one a stage: " +
                   std::to_string(shape.micro_batches) + " is not a multiple of " +
                   std::to_string(shape.stages);
}

// All stages keep as many micro-batches as the first one of 1F1B.
Passes zero_bubble_h1(const PipelineShape& shape, std::uint32_t stage) {
  const std::uint32_t count = shape.micro_batches;
  Passes passes;
  std::uint32_t weights = 0;
  for (const Pass& pass : one_forward_one_backward(shape, stage)) {
    if (pass.phase == Phase::forward) {
      passes.push_back(pass);
      continue;
    }
    passes.push_back(pass_of(Phase::input_gradient, pass.micro_batch));
    if (pass.micro_batch >= stage) {
      passes.push_back(pass_of(Phase::weight_gradient, weights++));
    }
  }
  while (weights < count) {
    passes.push_back(pass_of(Phase::weight_gradient, weights++));
  }
  return passes;
}

const Registration registered_gpipe(schedules(),
                                    {"gpipe", "all forward passes, then all backward passes", {}},
                                    Schedule{gpipe, one_chunk});
const Registration registered_1f1b(
    schedules(),
    {"1f1b", "after a warm-up, forward and backward passes alternate (the default)", {}},
    Schedule{one_forward_one_backward, one_chunk});
const Registration registered_interleaved(
    schedules(), {"interleaved", "1f1b over several chunks of layers per stage", {}},
    Schedule{interleaved, in_groups});
const Registration registered_zero_bubble(
    schedules(),
    {"zb-h1", "1f1b with weight gradients postponed to fill the bubble at the end", {}},
    Schedule{zero_bubble_h1, one_chunk});
const Registration registered_layer_wise(
    schedules(), {"layer-wise", "each micro-batch forward, then backward; one stage only", {}},
    Schedule{layer_wise, one_stage});
const Registration registered_streaming(schedules(),
                                        {"streaming", "forward passes only (inference)", {}},
                                        Schedule{streaming, one_chunk});

}  // namespace

Registry<Schedule>& schedules() {
  static Registry<Schedule> registry("schedule");
  return registry;
}

std::uint32_t most_in_flight(const Passes& passes) {
  std::uint32_t in_flight = 0;
  std::uint32_t most = 0;
  for (const Pass& pass : passes) {
    if (pass.phase == Phase::forward) {
      most = std::max(most, ++in_flight);
    } else if (pass.phase == Phase::backward || pass.phase == Phase::weight_gradient) {
      --in_flight;
    }
  }
  return most;
}

}  // namespace tessera::plan
