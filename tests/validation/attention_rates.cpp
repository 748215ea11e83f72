// Times that the compute model of a machine file gives attention of steps of a served model, for
// scripts/tessera_validate/operators/attention.py.
//
//     attention_rates MACHINE.yaml [KEY=VALUE]... < STEPS
//
// STEPS has a line for each: "heads kv_heads width data_type generating keys queries all",
// sequences that generate and look at `keys` tokens each, beside one prompt of `queries` tokens
// that look at `all` (0: none). Prints the time of each [ps]. Settings are as of `tessera run
// --set`, without `machine.`. Ends with 2 at the first line that is no step.
#include <optional>
#include <sstream>
#include <string>

#include "rates.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/serving/language_model.hpp"

namespace tessera {
namespace {

struct AttentionStep {
  serving::LanguageSetup setup;
  serving::Batch batch;
};

std::optional<AttentionStep> step_of(const std::string& line) {
  std::istringstream words(line);
  AttentionStep step;
  workload::TransformerShape& shape = step.setup.shape;
  std::string type_name;
  serving::SequenceGroup generating{0, 1, 0};
  serving::SequenceGroup prompt{1, 0, 0};
  words >> shape.heads >> shape.kv_heads >> shape.head_width >> type_name >> generating.sequences >>
      generating.keys >> prompt.queries >> prompt.keys;
  const std::optional<DataType> type = data_type_from(type_name);
  if (!words || !type) {
    return std::nullopt;
  }
  shape.data_type = *type;
  shape.layers = 1;
  shape.hidden = shape.heads * shape.head_width;
  shape.ffn = shape.hidden;
  shape.vocabulary = shape.hidden;
  shape.sequence = 1U << 17U;
  shape.attention = workload::AttentionKind::flash;
  shape.causal = true;
  if (generating.sequences > 0) {
    step.batch.groups.push_back(generating);
  }
  if (prompt.queries > 0) {
    step.batch.groups.push_back(prompt);
  }
  return step;
}

// The part of the model's walk that has keys and values.
SimTime time_of(const AttentionStep& step, const compute::ComputeModel& model,
                const machine::Machine& machine) {
  const auto served = serving::make_language_model(step.setup);
  const serving::TileModel& tiles = *served->on_tiles();
  const serving::StepSizes sizes = tiles.sizes_of(step.batch);
  for (const serving::WalkPart& part : tiles.walk(0, sizes)) {
    const serving::TileOperation made = tiles.operation(part.op, sizes);
    if (made.cached == Bytes()) {
      continue;
    }
    if (made.apart.empty() || model.joins_sequences()) {
      return model.duration(machine, machine.tile, made.operation);
    }
    SimTime sum;
    for (const workload::Operation& one : made.apart) {
      sum += model.duration(machine, machine.tile, one);
    }
    return sum;
  }
  return {};
}

}  // namespace
}  // namespace tessera

int main(int count, char** words) {
  const auto time = [](const std::string& line, const auto& model, const auto& machine) {
    const auto step = tessera::step_of(line);
    return step ? std::optional(tessera::time_of(*step, model, machine)) : std::nullopt;
  };
  return tessera::rates_program(count, words, "step", time);
}
