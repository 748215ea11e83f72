#include "tessera/compute/compute.hpp"

#include <utility>

namespace tessera::compute {

Registry<ComputeMaker>& compute_models() {
  static Registry<ComputeMaker> registry("compute model");
  return registry;
}

std::unique_ptr<ComputeModel> read_compute(config::Section section) {
  const std::string model = section.get_name("model", compute_models().names(), "roofline");
  if (!compute_models().contains(model)) {
    return nullptr;
  }
  section.leave_keys_of_others(compute_models().infos(), model);
  return compute_models().at(model)(section);
}

}  // namespace tessera::compute
