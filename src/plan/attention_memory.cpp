// Keys and values of attention, as they are copied and gathered.

#include "tessera/plan/sharder.hpp"

namespace tessera::plan {
namespace {

using workload::Operator;

constexpr std::uint64_t sum_bytes = 4;  // fp32

}  // namespace

Bytes Sharder::gathered_context(const Operator& op) const {
  const Bytes whole = tensor_bytes(op.context_elements) * strategy_.context;
  return Bytes(divided_up(whole.count(), strategy_.degrees.tensor));
}

Bytes Sharder::repeated_keys(const Operator& op) const {
  if (!strategy_.software.repeats_kv_heads || !has_fewer_kv_heads(op)) {
    return {};
  }
  const Bytes once(divided_up(tensor_bytes(op.context_elements).count(), strategy_.degrees.tensor));
  return once * (op.product.count / op.kv_heads - 1);
}

Bytes Sharder::gathered_keys(const Operator& op) const {
  return strategy_.context > 1 ? gathered_context(op) + repeated_keys(op) * strategy_.context
                               : Bytes();
}

// Gradients of keys and values in fp32: sums, what is sent of them and what comes in. Keys and
// values once more in rows that lie together, and as they are sent. Gradients of queries in fp32.
Bytes Sharder::key_gradients(const Operator& op) const {
  const Bytes whole = gathered_keys(op);
  if (!strategy_.software.passes_context_sums || whole == Bytes() ||
      op.kernel != workload::Kernel::fused_attention) {
    return whole;
  }
  const std::uint64_t element = element_size(workload_.data_type).count();
  const auto summed = [&](Bytes bytes) {
    return Bytes(divided_up(bytes.count(), element)) * sum_bytes;
  };
  const Bytes own(divided_up(whole.count(), strategy_.context));
  return summed(own) * 3 + own * 2 + summed(operands(op).outputs);
}

}  // namespace tessera::plan
