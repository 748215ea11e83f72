// A language model on NPU cores, which share its operators.
#include <map>
#include <utility>

#include "language/model.hpp"
#include "layers/operators.hpp"

namespace tessera::serving {
namespace {

class CoreModel final : public LanguageModel {
 public:
  explicit CoreModel(const LanguageSetup& setup) : LanguageModel(setup), operators_(setup) {}

  std::uint64_t operand_begin(std::uint32_t op, std::uint8_t operand) const override {
    return layer_of(op) * operators_.layer_bytes() + operators_.operand_begin(part_of(op), operand);
  }
  std::uint64_t memory_end() const override {
    return (shape_.layers + 1) * operators_.layer_bytes();
  }
  Step step(const Batch& batch) const override;
  std::shared_ptr<const npu::TiledOperator> make(std::uint32_t op, std::uint64_t shape,
                                                 std::uint64_t cores) const override {
    return operators_.make(part_of(op), shape, cores);
  }

 private:
  // Puts the parts of a step behind each other.
  struct Builder;
  std::vector<std::uint64_t> groups_in_window(const Batch& batch) const;

  LayerOperators operators_;
};

struct CoreModel::Builder {
  const CoreModel& model;
  Step step;
  std::vector<std::vector<std::uint32_t>> last;  // [shards] parts that the next one waits for

  explicit Builder(const CoreModel& the_model) : model(the_model), last(the_model.tensor_) {}

  // On every shard of a stage, behind what it did last.
  void add(std::uint32_t stage, std::uint32_t op, const std::vector<std::uint64_t>& shapes) {
    for (std::uint32_t shard = 0; shard < model.tensor_; ++shard) {
      std::vector<std::uint32_t> made;
      for (const std::uint64_t shape : shapes) {
        made.push_back(static_cast<std::uint32_t>(step.size()));
        step.push_back({op, shape, static_cast<std::uint32_t>(stage * model.tensor_ + shard), false,
                        last[shard]});
      }
      last[shard] = std::move(made);
    }
  }
  void add(std::uint32_t stage, std::uint32_t op, std::uint64_t shape) {
    add(stage, op, std::vector<std::uint64_t>{shape});
  }

  // Waits for all shards, and all wait for it.
  void exchange(std::uint32_t stage, std::uint32_t op, std::uint64_t rows) {
    std::vector<std::uint32_t> after;
    for (const auto& of_shard : last) {
      after.insert(after.end(), of_shard.begin(), of_shard.end());
    }
    const auto place = static_cast<std::uint32_t>(step.size());
    step.push_back(
        {op, rows, static_cast<std::uint32_t>(stage * model.tensor_), true, std::move(after)});
    for (auto& of_shard : last) {
      of_shard = {place};
    }
  }

  // `groups` of sequences that see all, `seen` the same in a window.
  void layer(std::uint64_t number, std::uint64_t rows, const std::vector<std::uint64_t>& groups,
             const std::vector<std::uint64_t>& seen);
};

void CoreModel::Builder::layer(std::uint64_t number, std::uint64_t rows,
                               const std::vector<std::uint64_t>& groups,
                               const std::vector<std::uint64_t>& seen) {
  const std::uint32_t stage = model.stage_of(number);
  for (const Part part : model.parts_of(number)) {
    if (is_exchange(part)) {
      exchange(stage, op_of(number, part), rows);
    } else if (part == attention || part == local_attention) {
      add(stage, op_of(number, part), part == attention ? groups : seen);
    } else {
      add(stage, op_of(number, part), rows);
    }
  }
}

// Those that look alike there go together.
std::vector<std::uint64_t> CoreModel::groups_in_window(const Batch& batch) const {
  if (shape_.window == 0) {
    return {};
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> sequences;
  for (const SequenceGroup& group : batch.groups) {
    const SequenceGroup seen = shapes_.in_window(group);
    sequences[{seen.queries, seen.keys}] += seen.sequences;
  }
  std::vector<std::uint64_t> codes;
  for (const auto& [sizes, count] : sequences) {
    codes.push_back(code_of({count, sizes.first, sizes.second}));
  }
  return codes;
}

Step CoreModel::step(const Batch& batch) const {
  Builder builder(*this);
  const std::uint64_t rows = batch.tokens();
  std::vector<std::uint64_t> groups;
  for (const SequenceGroup& group : batch.groups) {
    groups.push_back(code_of(group));
  }
  const std::vector<std::uint64_t> seen = groups_in_window(batch);
  builder.add(0, outside() + embedding, rows);
  for (std::uint64_t layer = 0; layer < shape_.layers; ++layer) {
    builder.layer(layer, rows, groups, seen);
  }
  if (batch.emitting > 0) {
    for (const Part part : shapes_.sources().head()) {
      builder.add(setup_.pipeline - 1, outside() + part, batch.emitting);
    }
  }
  return std::move(builder.step);
}

}  // namespace

std::unique_ptr<ServedModel> model_on_cores(const LanguageSetup& setup) {
  return std::make_unique<CoreModel>(setup);
}

}  // namespace tessera::serving
