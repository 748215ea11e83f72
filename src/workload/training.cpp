#include "training.hpp"

#include <cstdint>
#include <string>

#include "tessera/config/data_type_key.hpp"
#include "tessera/config/key.hpp"

namespace tessera::workload {
namespace {

enum class Optimizer : std::uint8_t { adam, sgd };
enum class Update : std::uint8_t { fused, eager };

// Made when asked for, as kinds of work register before this file's own objects are there.
struct TrainingKeys {
  config::RequiredKey<std::uint64_t> batch{
      "batch", "samples of one step over all replicas",
      config::between<std::uint64_t>(1, std::uint64_t{1} << 32)};
  config::ChoiceKey<bool> training{
      "mode", {{"training", true}, {"inference", false}}, "training", "training or inference"};
  config::ChoiceKey<DataType> data_type{"data_type", config::data_types(), "fp16",
                                        "of weights, activations and gradients"};
  config::ChoiceKey<Optimizer> optimizer{"optimizer",
                                         {{"adam", Optimizer::adam}, {"sgd", Optimizer::sgd}},
                                         "adam",
                                         "adam or sgd; of no effect in inference, as the next two"};
  config::ChoiceKey<Update> update{
      "update",
      {{"fused", Update::fused}, {"eager", Update::eager}},
      "fused",
      "fused: one kernel reads and writes everything once; eager: an operation at a time in fp32, "
      "gradients clipped by their norm before"};
  config::ChoiceKey<DataType> gradient_type =
      config::ChoiceKey<DataType>("gradient_type", config::data_types(), "data_type",
                                  "of the gradients of weights as they are kept and added up")
          .derived();
};

const TrainingKeys& training_keys() {
  static const TrainingKeys made;
  return made;
}

Bytes optimizer_bytes(Optimizer optimizer, DataType type) {
  const Bytes element = element_size(type);
  const bool own_master = element >= element_size(DataType::fp32);
  const Bytes master = own_master ? Bytes(0) : element_size(DataType::fp32);
  const Bytes moment = own_master ? element : element_size(DataType::fp32);
  return optimizer == Optimizer::adam ? master + moment * 2 : master;
}

// Reads and writes of an update in fp32, an operation at a time. Clipping: the norm 1, scaled 2
// (PyTorch, clip_grad_norm_). Adam as Composer's DecoupledAdamW
// (composer/optim/decoupled_weight_decay.py) without decay: of the first moment mul 2, add 3, of
// the second mul 2, addcmul 3, the denominator sqrt 2, div 2, add 2, the step addcdiv 4. SGD: the
// step 3.
Bytes eager_update_bytes(Optimizer optimizer) {
  constexpr std::uint64_t clipping = 3;
  constexpr std::uint64_t adam = 20;
  constexpr std::uint64_t sgd = 3;
  return element_size(DataType::fp32) * (clipping + (optimizer == Optimizer::adam ? adam : sgd));
}

}  // namespace

std::optional<Workload> read_training(config::Section& section) {
  Workload workload;
  workload.samples = training_keys().batch.read(section);
  workload.training = training_keys().training.read(section);
  workload.data_type = training_keys().data_type.read(section);
  const Optimizer optimizer = training_keys().optimizer.read(section);
  const Update update = training_keys().update.read(section);
  const DataType gradient =
      training_keys().gradient_type.read(section, to_string(workload.data_type));
  workload.product_type = workload.data_type;
  if (workload.samples == 0) {
    return std::nullopt;
  }
  if (workload.training) {
    workload.gradient_bytes_per_parameter = element_size(gradient);
    workload.optimizer_bytes_per_parameter = optimizer_bytes(optimizer, workload.data_type);
    if (update == Update::eager) {
      workload.update_bytes_per_parameter = eager_update_bytes(optimizer);
    }
  }
  return workload;
}

std::vector<ParameterInfo> training_parameters() {
  return {training_keys().batch,     training_keys().training, training_keys().data_type,
          training_keys().optimizer, training_keys().update,   training_keys().gradient_type};
}

DataType read_data_type(config::Section& section) {
  return training_keys().data_type.read(section);
}

void drop_training(Workload& workload) {
  for (Layer& layer : workload.layers) {
    for (Operator& op : layer.operators) {
      op.backward_flops = Flops();
      op.weight_gradient_flops = Flops();
      op.stored_cut = Bytes();
      op.stored_whole = Bytes();
      op.recomputed_selectively = false;
      op.backward_all_reduce_elements = 0;
    }
  }
}

}  // namespace tessera::workload
