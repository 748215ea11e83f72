// Schedules that a user writes.

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <string_view>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/plan/schedule/schedule.hpp"

namespace tessera::plan {
namespace {

constexpr std::array<std::pair<char, Phase>, 4> letters{{{'F', Phase::forward},
                                                         {'B', Phase::backward},
                                                         {'I', Phase::input_gradient},
                                                         {'W', Phase::weight_gradient}}};

std::string word_of(const Pass& pass) {
  const auto letter = std::find_if(letters.begin(), letters.end(),
                                   [&](const auto& entry) { return entry.second == pass.phase; });
  return std::string(1, letter->first) + std::to_string(pass.micro_batch) +
         (pass.chunk == 0 ? "" : "." + std::to_string(pass.chunk));
}

// Reads a number from the front of `text`; false when there is none.
template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

Pass pass_from(const std::string& word) {
  Pass pass;
  std::string_view rest = word;
  const auto letter = std::find_if(letters.begin(), letters.end(),
                                   [&](const auto& entry) { return entry.first == rest.front(); });
  bool good = letter != letters.end();
  if (good) {
    pass.phase = letter->second;
    rest.remove_prefix(1);
    good = take_number(rest, pass.micro_batch);
    if (good && !rest.empty() && rest.front() == '.') {
      rest.remove_prefix(1);
      good = take_number(rest, pass.chunk);
    }
  }
  if (!good || !rest.empty()) {
    throw ConfigError("'" + word +
                      "' is no pass; expected F, B, I or W and a micro-batch, as in F3, or F3.1 "
                      "for chunk 1");
  }
  return pass;
}

// What has been done of each part of the model, by micro-batch.
class Progress {
 public:
  explicit Progress(const PipelineShape& shape) : shape_(shape), parts_(shape.parts()) {
    for (auto& done : done_) {
      done.resize(std::size_t{parts_} * shape.micro_batches);
    }
  }

  bool is_done(Phase phase, std::uint32_t part, std::uint32_t micro_batch) const {
    return done_[kind(phase)][place(part, micro_batch)];
  }
  void note(Phase phase, std::uint32_t part, std::uint32_t micro_batch) {
    if (phase == Phase::backward) {
      note(Phase::input_gradient, part, micro_batch);
      phase = Phase::weight_gradient;
    }
    done_[kind(phase)][place(part, micro_batch)] = true;
  }
  // Whether what the pass needs is there.
  bool can_run(const Pass& pass, std::uint32_t stage) const {
    const std::uint32_t part = shape_.part_of(stage, pass.chunk);
    switch (pass.phase) {
      case Phase::forward:
        return shape_.begins(part) || is_done(Phase::forward, part - 1, pass.micro_batch);
      case Phase::weight_gradient:
        return is_done(Phase::input_gradient, part, pass.micro_batch);
      default:
        return is_done(Phase::forward, part, pass.micro_batch) &&
               (shape_.ends(part) || is_done(Phase::input_gradient, part + 1, pass.micro_batch));
    }
  }
  bool twice(const Pass& pass, std::uint32_t stage) const {
    const std::uint32_t part = shape_.part_of(stage, pass.chunk);
    const Phase first = pass.phase == Phase::backward ? Phase::input_gradient : pass.phase;
    return is_done(first, part, pass.micro_batch) ||
           (pass.phase == Phase::backward &&
            is_done(Phase::weight_gradient, part, pass.micro_batch));
  }

 private:
  static std::size_t kind(Phase phase) {
    return phase == Phase::forward ? 0 : phase == Phase::input_gradient ? 1 : 2;
  }
  std::size_t place(std::uint32_t part, std::uint32_t micro_batch) const {
    return std::size_t{part} * shape_.micro_batches + micro_batch;
  }

  PipelineShape shape_;
  std::uint32_t parts_;
  std::array<std::vector<bool>, 3> done_;  // forward, input and weight gradient
};

std::string fault_of_list(const PipelineShape& shape, std::uint32_t stage,
                          const std::vector<Pass>& passes) {
  std::size_t wanted = std::size_t{shape.mirrored ? 1 : shape.chunks} * shape.micro_batches;
  std::size_t weight = 0;  // twice for a whole backward pass
  const std::string where = "stage " + std::to_string(stage) + ": ";
  Progress seen(shape);
  for (const Pass& pass : passes) {
    if (pass.chunk >= shape.chunks || pass.micro_batch >= shape.micro_batches) {
      return where + word_of(pass) + " is none of " + std::to_string(shape.micro_batches) +
             " micro-batches and " + std::to_string(shape.chunks) + " chunks";
    }
    if (shape.mirrored &&
        (pass.micro_batch < shape.micro_batches / 2) == shape.turns_back(pass.chunk)) {
      return where + word_of(pass) + " goes the other way";
    }
    if (!shape.training && pass.phase != Phase::forward) {
      return where + word_of(pass) + ": inference has forward passes only";
    }
    if (seen.twice(pass, stage)) {
      return where + word_of(pass) + " comes twice";
    }
    seen.note(pass.phase, shape.part_of(stage, pass.chunk), pass.micro_batch);
    weight += pass.phase == Phase::forward || pass.phase == Phase::backward ? 2 : 1;
  }
  wanted *= shape.training ? 4 : 2;
  return weight == wanted ? "" : where + "not every pass of every micro-batch is there";
}

}  // namespace

std::vector<Pass> passes_from(const std::string& text) {
  std::vector<Pass> passes;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    passes.push_back(pass_from(word));
  }
  return passes;
}

std::string fault_of(const PipelineShape& shape, const std::vector<std::vector<Pass>>& passes) {
  if (passes.size() != shape.stages) {
    return std::to_string(passes.size()) + " lists for " + std::to_string(shape.stages) + " stages";
  }
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    if (std::string fault = fault_of_list(shape, stage, passes[stage]); !fault.empty()) {
      return fault;
    }
  }
  Progress progress(shape);
  std::vector<std::size_t> next(shape.stages);
  bool moved = true;
  while (moved) {
    moved = false;
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      for (; next[stage] < passes[stage].size() &&
             progress.can_run(passes[stage][next[stage]], stage);
           ++next[stage]) {
        const Pass& pass = passes[stage][next[stage]];
        progress.note(pass.phase, shape.part_of(stage, pass.chunk), pass.micro_batch);
        moved = true;
      }
    }
  }
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    if (next[stage] < passes[stage].size()) {
      return "stage " + std::to_string(stage) + ": " + word_of(passes[stage][next[stage]]) +
             " waits for ever";
    }
  }
  return "";
}

}  // namespace tessera::plan
