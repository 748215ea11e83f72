#include "tessera/compute/compute.hpp"

#include <utility>

#include "tessera/compute/keys.hpp"

namespace tessera::compute {

Registry<ComputeMaker>& compute_models() {
  static Registry<ComputeMaker> registry("compute model");
  return registry;
}

const config::NameKey& model_key() {
  static const config::NameKey key{"compute.model", [] { return compute_models().names(); },
                                   "roofline", "how long operators take"};
  return key;
}

std::unique_ptr<ComputeModel> read_compute(config::Section section) {
  const std::string model = model_key().read(section);
  if (!compute_models().contains(model)) {
    return nullptr;
  }
  section.leave_keys_of_others(compute_models().infos(), model);
  return compute_models().at(model)(section);
}

}  // namespace tessera::compute
