// Pipeline schedules: the order of forward and backward passes in each stage.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/core/registry.hpp"
#include "tessera/plan/program.hpp"

namespace tessera::plan {

// What is to be ordered: `stages` stages, each holding `chunks` chunks of layers; chunk c of stage
// s is part c * stages + s of the model, whose parts a micro-batch passes in order.
struct PipelineShape {
  std::uint32_t stages = 1;
  std::uint32_t chunks = 1;
  std::uint32_t micro_batches = 1;
  bool training = true;
};

// A schedule as a pure function of the stage: every chunk's forward pass of every micro-batch once,
// and in training its backward pass, whole or as input and weight gradient, after it. The update is
// added by the caller.
struct Schedule {
  std::function<std::vector<Pass>(const PipelineShape& shape, std::uint32_t stage)> passes;
  // Why the shape does not suit the schedule; empty when it does.
  std::function<std::string(const PipelineShape& shape)> objection;
};

// Schedules by name:
//   gpipe        all forward passes, then all backward passes, last micro-batch first (Huang et
//                al., "GPipe", arXiv:1811.06965); keeps the activations of every micro-batch
//   1f1b         stage s runs stages - s - 1 forward passes ahead, then one backward for each
//                forward (Narayanan et al., "PipeDream", SOSP 2019, doi:10.1145/3341301.3359646);
//                keeps those of stages - s micro-batches. A backward pass goes before a forward
//                pass wherever both could run (PALM, section IV-A)
//   interleaved  1F1B over `chunks` chunks a stage (Narayanan et al., arXiv:2104.04473, section
//                2.2), micro-batches in groups of `stages`; the bubble shrinks by `chunks`
//   zb-h1        1F1B with the weight gradient taken apart and done `stage` micro-batches later,
//                which fills the end (Qi et al., "Zero bubble", arXiv:2401.10241, section 2)
//   layer-wise   each micro-batch forward and backward before the next one; a pipeline of depth 1
//                (PALM, section IV-A)
//   streaming    forward passes only; the only one for inference, and for nothing else
Registry<Schedule>& schedules();

// The most micro-batches times chunks that have gone forward and not yet wholly backward.
std::uint32_t most_in_flight(const std::vector<Pass>& passes);

// Reads a stage's passes written as text: F3 the forward pass of micro-batch 3, B its backward
// pass, I and W its input and weight gradient apart; F3.1 of chunk 1. Separated by blanks. Throws
// ConfigError naming the word.
std::vector<Pass> passes_from(const std::string& text);

// Why the passes of all stages [stages] cannot be run: one missing or double, or each stage waiting
// for another. Empty when they can.
std::string fault_of(const PipelineShape& shape, const std::vector<std::vector<Pass>>& passes);

}  // namespace tessera::plan
