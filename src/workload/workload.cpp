#include "tessera/workload/workload.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/core/wide.hpp"
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

std::uint64_t Operator::shard_columns(std::uint64_t degree) const {
  if (blocks.empty()) {
    return quotient_up(product.columns, degree);
  }
  std::uint64_t columns = 0;
  for (const ColumnBlock& block : blocks) {
    columns += quotient_up(block.pieces, degree) * block.width;
  }
  return columns;
}

MatrixProduct Operator::shard_product(std::uint64_t degree) const {
  MatrixProduct shard = product;
  switch (sharding) {
    case Sharding::replicated:
      break;
    case Sharding::column:
      shard.columns = shard_columns(degree);
      break;
    case Sharding::row:
      shard.depth = quotient_up(product.depth, degree);
      break;
    case Sharding::heads:
      shard.count = quotient_up(product.count, degree);
      break;
  }
  return shard;
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

NumberFormat Workload::sent_format(DataType type) const {
  return type == product_type && type != data_type ? product_format : format_of(type);
}

NumberFormat Workload::sent_weights_format(DataType type) const {
  NumberFormat format = sent_format(type);
  if (format != format_of(type)) {
    format.group_size *= format.group_size;
  }
  return format;
}

std::uint64_t Workload::parameters() const {
  std::uint64_t sum = 0;
  for (const Layer& layer : layers) {
    sum += layer.parameters();
  }
  return sum;
}

namespace {

// Of experts that have not as much to do each: of all copies that they work on.
Flops of_all_copies(const Operator& op, Flops flops) {
  const std::vector<std::uint64_t>& copies = op.loads.of_expert;
  if (copies.empty()) {
    return flops;
  }
  const Wide worked = std::accumulate(copies.begin(), copies.end(), Wide{0});
  const Wide counted = Wide{op.loads.counted} * copies.size();
  return Flops(static_cast<std::uint64_t>(Wide{flops.count()} * worked / counted));
}

}  // namespace

Flops Workload::flops_per_sample() const {
  Flops sum;
  for (const Layer& layer : layers) {
    for (const Operator& op : layer.operators) {
      sum += of_all_copies(op, op.forward_flops);
      if (training) {
        sum += of_all_copies(op, op.backward_flops);
      }
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
