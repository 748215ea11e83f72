#include "tessera/npu/tiled_operator.hpp"

#include <algorithm>

#include "cut.hpp"
#include "tessera/npu/specs.hpp"
#include "tessera/workload/whole_product.hpp"

namespace tessera::npu {

Registry<OperatorMaker>& operators() {
  static Registry<OperatorMaker> registry("operator");
  return registry;
}

double flops_behind(std::uint64_t elements, std::uint64_t residuals,
                    const std::optional<VectorWork>& then) {
  return static_cast<double>(elements) * static_cast<double>(residuals + (then ? then->flops : 0));
}

double flops_of_scores(const AttentionSpec& spec) {
  const std::uint64_t scores = spec.batch * spec.heads * spec.queries * spec.keys;
  return static_cast<double>(scores) *
         static_cast<double>(vector_work("softmax").flops + vector_work("mul").flops +
                             vector_work("add").flops);
}

Bytes TiledOperator::least_traffic() const {
  Bytes all;
  for (const Operand& operand : operands()) {
    all += operand.bytes;
  }
  return all;
}

std::unique_ptr<TiledOperator> lower(const workload::Operation& operation, const Target& target) {
  if (operation.is_matrix_product()) {
    const workload::MatrixProduct product = workload::whole_product(operation);
    ProductSpec spec;
    spec.shape = {product.rows, product.columns, product.depth, product.count};
    spec.residuals = operation.added > Bytes() ? 1 : 0;
    return lower(spec, target);
  }
  // Half of the bytes are read, half are written, and each element takes its share of the FLOPs.
  const std::uint64_t pairs =
      quotient_up((operation.bytes + operation.added).count(), 2 * target.element().count());
  StreamSpec spec;
  spec.columns = std::max<std::uint64_t>(pairs, 1);
  spec.inputs.push_back({"input", 0, spec.columns});
  spec.work.adds = quotient_up(operation.flops.count(), spec.columns);
  return lower(spec, target);
}

}  // namespace tessera::npu
