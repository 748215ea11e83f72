#include "training.hpp"

#include <string>

namespace tessera::workload {
namespace {

Bytes optimizer_bytes(const std::string& optimizer, DataType type) {
  const Bytes element = element_size(type);
  const bool own_master = element >= element_size(DataType::fp32);
  const Bytes master = own_master ? Bytes(0) : element_size(DataType::fp32);
  const Bytes moment = own_master ? element : element_size(DataType::fp32);
  return optimizer == "adam" ? master + moment * 2 : master;
}

}  // namespace

std::uint64_t read_count(config::Section& section, const char* key, std::int64_t most) {
  return static_cast<std::uint64_t>(
      section.get<std::int64_t>(key, config::between<std::int64_t>(1, most)));
}

std::uint64_t read_count_or(config::Section& section, const char* key, std::uint64_t usual,
                            std::int64_t most) {
  return static_cast<std::uint64_t>(section.get_or<std::int64_t>(
      key, static_cast<std::int64_t>(usual), config::between<std::int64_t>(1, most)));
}

std::optional<Workload> read_training(config::Section& section) {
  Workload workload;
  workload.samples = read_count(section, "batch", std::int64_t{1} << 32);
  const std::string mode = section.get_name("mode", {"training", "inference"}, "training");
  workload.training = mode == "training";
  const auto type =
      data_type_from(section.get_name("data_type", data_type_names(), to_string(DataType::fp16)));
  const std::string optimizer = section.get_name("optimizer", {"adam", "sgd"}, "adam");
  const std::string same = to_string(type.value_or(DataType::fp16));
  const auto gradient = data_type_from(section.get_name("gradient_type", data_type_names(), same));
  if (workload.samples == 0 || !type || !gradient) {
    return std::nullopt;
  }
  workload.data_type = *type;
  if (workload.training) {
    workload.gradient_bytes_per_parameter = element_size(*gradient);
    workload.optimizer_bytes_per_parameter = optimizer_bytes(optimizer, *type);
  }
  return workload;
}

std::vector<ParameterInfo> training_parameters() {
  return {{"batch", "", "", "samples of one step over all replicas"},
          {"mode", "", "training", "training or inference"},
          {"data_type", "", "fp16", "of weights, activations and gradients"},
          {"optimizer", "", "adam", "adam or sgd"},
          {"gradient_type", "", "data_type", "of the gradients of weights as they are kept"}};
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
