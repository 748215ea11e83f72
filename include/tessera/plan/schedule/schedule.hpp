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

// What is to be ordered: `stages` stages, each holding `chunks` chunks of layers, which are parts
// of the model that a micro-batch passes in order. Chunk c of stage s is part c * stages + s; in a
// V every other chunk lies the other way round, part c * stages + stages - 1 - s, so that the parts
// go from the first stage to the last and back.
struct PipelineShape {
  std::uint32_t stages = 1;
  std::uint32_t chunks = 1;
  std::uint32_t micro_batches = 1;
  bool training = true;
  bool v_shaped = false;
  // The chunks that turn back hold the model once more, for micro-batches of their own, which begin
  // at the last stage; parts from `stages` on are the copy's.
  bool mirrored = false;

  std::uint32_t parts() const { return stages * chunks; }
  // Of the model alone, and which of them a part is.
  std::uint32_t model_parts() const { return mirrored ? stages : parts(); }
  std::uint32_t model_part(std::uint32_t part) const { return part % model_parts(); }
  // Whether samples go in, or the loss comes out.
  bool begins(std::uint32_t part) const { return model_part(part) == 0; }
  bool ends(std::uint32_t part) const { return model_part(part) + 1 == model_parts(); }
  bool turns_back(std::uint32_t chunk) const { return v_shaped && chunk % 2 == 1; }
  std::uint32_t part_of(std::uint32_t stage, std::uint32_t chunk) const {
    return chunk * stages + (turns_back(chunk) ? stages - 1 - stage : stage);
  }
  std::uint32_t stage_of(std::uint32_t part) const {
    const std::uint32_t place = part % stages;
    return turns_back(part / stages) ? stages - 1 - place : place;
  }
};

// A schedule as a pure function of the stage: every chunk's forward pass of every micro-batch once,
// and in training its backward pass, whole or as input and weight gradient, after it. The update is
// added by the caller.
struct Schedule {
  std::function<std::vector<Pass>(const PipelineShape& shape, std::uint32_t stage)> passes;
  // Why the shape does not suit the schedule; empty when it does.
  std::function<std::string(const PipelineShape& shape)> objection;
  bool v_shaped = false;  // how chunks lie, and what they hold: see PipelineShape
  bool mirrored = false;
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
//   zb-v         two chunks a stage in a V, as many activations as 1F1B keeps, gradients of weights
//                apart; without bubbles where passes of all three kinds take equally long and there
//                are 2 stages - 1 micro-batches or more (Qi et al., arXiv:2401.10241, section 6,
//                and arXiv:2405.15362, section 3.2)
//   dualpipe-v   two chunks a stage in a V, forward passes of one beside backward passes of the
//                other (DeepSeek-AI, DeepSeek-V3, arXiv:2412.19437, section 3.2.1, cut in half: the
//                file dualpipev of its published code); bubbles of stages - 1 times a forward pass
//                and twice that of gradients of inputs less one of weights
//   dualpipe     as published: half of the micro-batches each way through two copies of the model,
//   of
//                which stage s holds the parts s and stages - 1 - s; the same passes on twice the
//                stages, whose gradients pairs of stages sum up
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
