// What the experts with most to do come to.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "tessera/core/wide.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::workload {
namespace {

// Of the part of the experts that has most.
std::uint64_t most_copies(const std::vector<std::uint64_t>& copies, std::uint64_t in_part) {
  std::uint64_t most = 0;
  for (std::size_t first = 0; first < copies.size(); first += in_part) {
    const auto begin = copies.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end =
        copies.begin() + static_cast<std::ptrdiff_t>(std::min(first + in_part, copies.size()));
    most = std::max(most, std::accumulate(begin, end, std::uint64_t{0}));
  }
  return most;
}

Operator with_most(Operator op, std::uint32_t parts) {
  const ExpertCopies& loads = op.loads;
  const std::uint64_t in_part = std::max<std::uint64_t>(1, loads.of_expert.size() / parts);
  const std::uint64_t most = most_copies(loads.of_expert, in_part);
  const std::uint64_t counted = loads.counted * in_part;
  const auto scale = [&](std::uint64_t& value) {
    value = static_cast<std::uint64_t>((Wide{value} * most + counted - 1) / counted);
  };
  const auto scale_bytes = [&](Bytes& bytes) {
    std::uint64_t value = bytes.count();
    scale(value);
    bytes = Bytes(value);
  };
  const auto scale_flops = [&](Flops& flops) {
    std::uint64_t value = flops.count();
    scale(value);
    flops = Flops(value);
  };
  scale(op.product.rows);
  for (Flops* flops : {&op.forward_flops, &op.backward_flops, &op.weight_gradient_flops}) {
    scale_flops(*flops);
  }
  if (loads.taken) {
    scale(op.input_elements);
  }
  if (loads.given) {
    scale(op.output_elements);
    scale(op.kept_results);
  }
  scale_bytes(op.stored_cut);
  scale_bytes(op.stored_whole);
  for (std::uint64_t* elements :
       {&op.exchange_elements, &op.forward_all_reduce_elements, &op.backward_all_reduce_elements}) {
    scale(*elements);
  }
  op.loads = {};
  return op;
}

}  // namespace

std::optional<Workload> of_busiest(const Workload& workload, std::uint32_t parts) {
  std::optional<Workload> busy;
  for (std::size_t layer = 0; layer < workload.layers.size(); ++layer) {
    const std::vector<Operator>& operators = workload.layers[layer].operators;
    for (std::size_t place = 0; place < operators.size(); ++place) {
      if (operators[place].loads.of_expert.empty()) {
        continue;
      }
      if (!busy) {
        busy = workload;
      }
      Operator& op = busy->layers[layer].operators[place];
      op = with_most(op, parts);
    }
  }
  return busy;
}

}  // namespace tessera::workload
