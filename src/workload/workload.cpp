#include "tessera/workload/workload.hpp"

#include "tessera/core/error.hpp"
#include "tessera/workload/keys.hpp"

namespace tessera::workload {

std::string to_string(Sharding sharding) {
  switch (sharding) {
    case Sharding::replicated:
      return "replicated";
    case Sharding::column:
      return "column";
    case Sharding::row:
      return "row";
    case Sharding::heads:
      return "heads";
  }
  throw InternalError("a sharding outside its enumeration");
}

Flops Layer::forward_flops() const {
  Flops sum;
  for (const Operator& op : operators) {
    sum += op.forward_flops;
  }
  return sum;
}

Flops Layer::backward_flops() const {
  Flops sum;
  for (const Operator& op : operators) {
    sum += op.backward_flops;
  }
  return sum;
}

Flops Layer::matrix_flops() const {
  Flops sum;
  for (const Operator& op : operators) {
    sum += op.product.flops();
  }
  return sum;
}

std::uint64_t Layer::parameters() const {
  std::uint64_t sum = 0;
  for (const Operator& op : operators) {
    sum += op.parameters;
  }
  return sum;
}

std::uint64_t Layer::shared_parameters() const {
  std::uint64_t sum = 0;
  for (const Operator& op : operators) {
    sum += op.shared_parameters;
  }
  return sum;
}

std::uint64_t Workload::parameters() const {
  std::uint64_t sum = 0;
  for (const Layer& layer : layers) {
    sum += layer.parameters();
  }
  return sum;
}

Flops Workload::flops_per_sample() const {
  Flops sum;
  for (const Layer& layer : layers) {
    sum += layer.forward_flops();
    if (training) {
      sum += layer.backward_flops();
    }
  }
  return sum;
}

Registry<WorkloadMaker>& workloads() {
  static Registry<WorkloadMaker> registry("workload kind");
  return registry;
}

std::optional<Workload> read_workload(config::Section& section) {
  const std::string kind = kind_key([] { return workloads().names(); }).read(section);
  const std::string name = title_key().read(section, kind);
  if (!workloads().contains(kind)) {
    return std::nullopt;
  }
  std::optional<Workload> workload = workloads().at(kind)(section);
  section.finish();  // here, as nothing else may come after a workload that was not read
  if (workload) {
    workload->name = name;
  }
  return workload;
}

}  // namespace tessera::workload
