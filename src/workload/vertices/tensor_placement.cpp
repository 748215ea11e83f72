#include "vertices/tensor_placement.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace tessera::workload {
namespace {

using Home = TensorPlacement::Home;

std::vector<std::uint32_t> filling_order(const std::vector<Tensor>& tensors,
                                         const std::vector<std::uint32_t>& first_use) {
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(-tensors[a].priority, first_use[a], a) <
           std::tuple(-tensors[b].priority, first_use[b], b);
  });
  return order;
}

bool has(const Tensor& tensor, std::uint32_t npu) {
  return tensor.everywhere || std::binary_search(tensor.places.begin(), tensor.places.end(), npu);
}

// NPUs of one kind of memory that have the same tensors are alike.
void classify(TensorPlacement& placement) {
  placement.class_of = placement.memories.kind_of;
  for (const Tensor& tensor : placement.tensors) {
    if (tensor.everywhere) {
      continue;
    }
    std::map<std::pair<std::uint32_t, bool>, std::uint32_t> numbers;
    for (std::uint32_t npu = 0; npu < placement.class_of.size(); ++npu) {
      placement.class_of[npu] =
          numbers.try_emplace({placement.class_of[npu], has(tensor, npu)}, numbers.size())
              .first->second;
    }
  }
}

TensorPlacement::Class fill(const TensorPlacement& placement, std::uint32_t npu,
                            const std::vector<std::uint32_t>& order) {
  TensorPlacement::Class filled;
  filled.kind = placement.memories.kind_of[npu];
  filled.homes.resize(placement.tensors.size(), Home::none);
  const Bytes capacity = placement.memories.kinds[filled.kind].capacity;
  for (const std::uint32_t number : order) {
    const Tensor& tensor = placement.tensors[number];
    if (!has(tensor, npu)) {
      continue;
    }
    const bool fits = capacity == Bytes() || tensor.bytes <= capacity - filled.local;
    filled.homes[number] = fits ? Home::local : Home::remote;
    (fits ? filled.local : filled.remote) += tensor.bytes;
  }
  return filled;
}

void fill_all(TensorPlacement& placement, const std::vector<std::uint32_t>& order) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (std::uint32_t npu = 0; npu < placement.class_of.size(); ++npu) {
    const auto [found, is_new] =
        numbers.try_emplace(placement.class_of[npu], placement.classes.size());
    if (is_new) {
      placement.classes.push_back(fill(placement, npu, order));
    }
    placement.class_of[npu] = found->second;
    ++placement.classes[found->second].npus;
  }
}

struct Excess {
  std::uint32_t npu = 0;
  std::uint32_t tensor = 0;
};

std::string beyond(const TensorPlacement& placement, Excess first) {
  const NpuMemories::Kind& kind = placement.memories.kinds[placement.memories.kind_of[first.npu]];
  return "'" + placement.tensors[first.tensor].name + "' of NPU " + std::to_string(first.npu) +
         (kind.type.empty() ? "" : " (" + kind.type + ")") + " does not fit in its own memory, " +
         to_short_string(kind.capacity);
}

}  // namespace

std::string place_tensors(const std::vector<std::uint32_t>& first_use, TensorPlacement& placement,
                          std::uint32_t& culprit) {
  const NpuMemories& memories = placement.memories;
  const std::vector<std::uint32_t> order = filling_order(placement.tensors, first_use);
  classify(placement);
  fill_all(placement, order);
  placement.held.resize(memories.holders.size());
  std::vector<std::optional<Excess>> excess(memories.holders.size());
  for (std::uint32_t npu = 0; npu < placement.class_of.size(); ++npu) {
    const TensorPlacement::Class& own = placement.classes[placement.class_of[npu]];
    if (own.remote == Bytes()) {
      continue;
    }
    for (const std::uint32_t number : order) {
      if (own.homes[number] != Home::remote) {
        continue;
      }
      if (memories.holders.empty()) {
        culprit = number;
        return beyond(placement, {npu, number}) + ", which is " + to_short_string(own.remote) +
               " too small for all of its tensors, and the machine has no other memory "
               "(machine.remote_memory, nodes of kind memory, or machine.dram at nodes that do not "
               "compute)";
      }
      const std::uint32_t holder = memories.holder_of[npu];
      Bytes& held = placement.held[holder];
      held += placement.tensors[number].bytes;
      const Bytes capacity = memories.holders[holder].capacity;
      if (capacity > Bytes() && held > capacity && !excess[holder]) {
        excess[holder] = Excess{npu, number};
      }
    }
  }
  for (std::size_t holder = 0; holder < excess.size(); ++holder) {
    if (excess[holder]) {
      culprit = excess[holder]->tensor;
      const Bytes capacity = memories.holders[holder].capacity;
      return beyond(placement, *excess[holder]) + ", nor in " + memories.holders[holder].name +
             ", which holds " + to_short_string(capacity) + ": tensors there take " +
             to_short_string(placement.held[holder]) + ", " +
             to_short_string(placement.held[holder] - capacity) + " too much";
    }
  }
  return "";
}

}  // namespace tessera::workload
