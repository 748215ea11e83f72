#include "training.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/config/data_type_key.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"

namespace tessera::workload {
namespace {

enum class Optimizer : std::uint8_t { adam, sgd };
enum class Update : std::uint8_t { fused, eager };

// Made when asked for, as kinds of work register before this file's own objects are there.
struct TrainingKeys {
  config::RequiredKey<std::uint64_t> batch{
      "batch", "samples of one step, over all replicas",
      config::between<std::uint64_t>(1, std::uint64_t{1} << 32)};
  config::ChoiceKey<bool> training{"mode",
                                   {{"training", true}, {"inference", false}},
                                   Workload{}.training,
                                   "training or inference"};
  config::ChoiceKey<DataType> data_type{"data_type", config::data_types(), Workload{}.data_type,
                                        "type of weights, activations and gradients"};
  config::ChoiceKey<Optimizer> optimizer{"optimizer",
                                         {{"adam", Optimizer::adam}, {"sgd", Optimizer::sgd}},
                                         "adam",
                                         "adam or sgd; has no effect in inference, nor have the "
                                         "keys below"};
  config::ChoiceKey<Update> update{
      "update",
      {{"fused", Update::fused}, {"eager", Update::eager}},
      "fused",
      "fused: one kernel reads and writes everything once; eager: one operation at a time in "
      "fp32, after gradient clipping by norm"};
  config::ChoiceKey<DataType> gradient_type =
      config::ChoiceKey<DataType>("gradient_type", config::data_types(), "data_type",
                                  "type in which weight gradients are kept and accumulated")
          .derived();
  config::ChoiceKey<DataType> master_type =
      config::ChoiceKey<DataType>(
          "master_type", config::data_types(), "fp32; data_type if that is wider",
          "type of the weights that the optimizer updates; if no wider than data_type, weights "
          "are updated in place")
          .derived();
  config::ChoiceKey<DataType> moment_type =
      config::ChoiceKey<DataType>("moment_type", config::data_types(),
                                  "fp32; data_type if that is wider",
                                  "type in which both moments of adam are kept")
          .derived();
};

const TrainingKeys& training_keys() {
  static const TrainingKeys made;
  return made;
}

// What an optimizer keeps of a parameter.
struct OptimizerState {
  Optimizer optimizer{};
  Bytes master;  // 0: the weight itself
  Bytes moment;  // of Adam each of two

  Bytes bytes() const { return optimizer == Optimizer::adam ? master + moment * 2 : master; }
};

// Reads and writes of an update, an operation at a time in fp32 or what is kept narrower. Clipping:
// the norm 1, scaled 2 (PyTorch, clip_grad_norm_). Adam as Composer's DecoupledAdamW
// (composer/optim/decoupled_weight_decay.py) without decay: of the first moment mul 2, add 3, of
// the second mul 2, addcmul 3, the denominator sqrt 2, div 2, add 2, the step addcdiv 4. Of these
// 20 five are of each moment and two of the weight. SGD: the step 3, likewise.
Bytes eager_update_bytes(const OptimizerState& state, Bytes weight) {
  const Bytes fp32 = element_size(DataType::fp32);
  constexpr std::uint64_t clipping = 3;
  constexpr std::uint64_t of_weight = 2;
  const Bytes weights = std::min(fp32, state.master > Bytes(0) ? state.master : weight) * of_weight;
  if (state.optimizer == Optimizer::sgd) {
    return fp32 * (clipping + 1) + weights;
  }
  return fp32 * (clipping + 8) + weights + std::min(fp32, state.moment) * 10;
}

// Weights that are no narrower are their own master copy.
OptimizerState read_optimizer(config::Section& section, const Workload& workload) {
  const TrainingKeys& keys = training_keys();
  const Bytes weight = element_size(workload.data_type);
  const std::string usual =
      to_string(weight >= element_size(DataType::fp32) ? workload.data_type : DataType::fp32);
  OptimizerState state;
  state.optimizer = keys.optimizer.read(section);
  const DataType master = keys.master_type.read(section, usual);
  const DataType moment = keys.moment_type.read(section, usual);
  state.master = element_size(master) > weight ? element_size(master) : Bytes(0);
  state.moment = element_size(moment);
  const auto note = [&](const config::ChoiceKey<DataType>& key, DataType type,
                        std::string_view with) {
    if (to_string(type) != usual) {
      config::note_without_effect(section, key.key(), with);
    }
  };
  if (!workload.training) {
    note(keys.master_type, master, "inference");
    note(keys.moment_type, moment, "inference");
    if (state.optimizer != Optimizer::adam) {
      config::note_without_effect(section, keys.optimizer.key(), "inference");
    }
  } else if (state.optimizer == Optimizer::sgd) {
    note(keys.moment_type, moment, "optimizer: sgd");
  }
  return state;
}

}  // namespace

std::optional<Workload> read_training(config::Section& section) {
  Workload workload;
  workload.samples = training_keys().batch.read(section);
  workload.training = training_keys().training.read(section);
  workload.data_type = training_keys().data_type.read(section);
  const OptimizerState state = read_optimizer(section, workload);
  const Update update = training_keys().update.read(section);
  const DataType gradient =
      training_keys().gradient_type.read(section, to_string(workload.data_type));
  workload.product_type = workload.data_type;
  workload.product_format = format_of(workload.data_type);
  if (workload.samples == 0) {
    return std::nullopt;
  }
  if (workload.training) {
    workload.gradient_bytes_per_parameter = element_size(gradient);
    workload.optimizer_bytes_per_parameter = state.bytes();
    workload.has_master = state.master > Bytes(0);
    if (update == Update::eager) {
      workload.update_bytes_per_parameter =
          eager_update_bytes(state, element_size(workload.data_type));
    }
  } else {
    if (update != Update::fused) {
      config::note_without_effect(section, training_keys().update.key(), "inference");
    }
    if (gradient != workload.data_type) {
      config::note_without_effect(section, training_keys().gradient_type.key(), "inference");
    }
  }
  return workload;
}

std::vector<ParameterInfo> training_parameters() {
  return {training_keys().batch,       training_keys().training,   training_keys().data_type,
          training_keys().optimizer,   training_keys().update,     training_keys().gradient_type,
          training_keys().master_type, training_keys().moment_type};
}

DataType read_data_type(config::Section& section) {
  return training_keys().data_type.read(section);
}

void note_training_keys(config::Section& section, std::string_view with) {
  for (const ParameterInfo& info : training_parameters()) {
    if (info.name != training_keys().data_type.key()) {
      config::note_without_effect(section, info.name, with);
    }
  }
}

void drop_training(Workload& workload) {
  for (Layer& layer : workload.layers) {
    for (Operator& op : layer.operators) {
      op.backward_flops = Flops();
      op.weight_gradient_flops = Flops();
      op.stored_cut = Bytes();
      op.stored_whole = Bytes();
      op.recomputed_selectively = false;
    }
  }
}

}  // namespace tessera::workload
