#include "tessera/npu/tiled_operator.hpp"

#include <algorithm>
#include <numeric>

#include "cut.hpp"
#include "tessera/npu/specs.hpp"
#include "tessera/workload/whole_product.hpp"

namespace tessera::npu {
namespace {

constexpr std::uint64_t most_columns = std::uint64_t{1} << 56U;  // specs.hpp

// Each element takes its share of the FLOPs. Work without operands in memory that does not say how
// many elements it goes through has as many as FLOPs.
StreamSpec vector_spec(const workload::Operation& operation, Bytes element) {
  const Bytes moved = operation.bytes + operation.added;
  StreamSpec spec;
  if (operation.elements > 0 || moved == Bytes()) {
    const std::uint64_t elements =
        operation.elements > 0 ? operation.elements : operation.flops.count();
    spec.columns = std::clamp<std::uint64_t>(elements, 1, most_columns);
    spec.stored_per = 0;
    if (const std::uint64_t read = quotient_up(moved.count(), element.count()); read > 0) {
      const std::uint64_t common = std::gcd(read, spec.columns);
      spec.inputs.push_back({"input", 0, spec.columns, read / common, spec.columns / common});
    }
  } else {
    spec.columns = quotient_up(moved.count(), 2 * element.count());
    spec.inputs.push_back({"input", 0, spec.columns});
  }
  spec.work.adds = quotient_up(operation.flops.count(), spec.columns);
  return spec;
}

// What lies beside few weights, such as a bias, makes them no wider than the widest type.
std::optional<StoredWeights> stored_weights_of(const workload::Operation& operation,
                                               const Target& target) {
  const workload::MatrixProduct& product = operation.product;
  const std::uint64_t weights = product.columns * product.depth * product.count;
  if (!operation.stored_weights || weights == 0) {
    return std::nullopt;
  }
  const std::uint64_t bytes =
      std::min(operation.stored_weights->count(), most_weight_bytes * weights);
  const bool is_plain = bytes == 0 || bytes == weights * target.element().count();
  return is_plain ? std::nullopt : std::optional(StoredWeights(bytes, weights));
}

}  // namespace

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
    spec.stored = stored_weights_of(operation, target);
    return lower(spec, target);
  }
  return lower(vector_spec(operation, target.element()), target);
}

}  // namespace tessera::npu
