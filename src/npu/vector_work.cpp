#include "tessera/npu/vector_work.hpp"

#include <map>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::npu {
namespace {

std::uint64_t passes(const CoreConfig& core, std::uint64_t elements) {
  return elements / core.vector_width + (elements % core.vector_width != 0 ? 1 : 0);
}

// Levels of passes until one value is left.
std::uint64_t tree_passes(const CoreConfig& core, std::uint64_t elements) {
  std::uint64_t sum = 1;
  while (core.vector_width > 1 && elements > core.vector_width) {
    elements = passes(core, elements);
    sum += elements;
  }
  return core.vector_width > 1 ? sum : elements;
}

// Counts of elementary passes for each element, from the formulas; FLOPs as of the operators of
// ONNX by these names.
const std::map<std::string, VectorWork>& table() {
  static const std::map<std::string, VectorWork> works{
      {"add", {.adds = 1, .flops = 1}},
      {"mul", {.muls = 1, .flops = 1}},
      {"copy", {.adds = 1}},
      {"relu", {.adds = 1, .flops = 1}},
      {"exp", {.exps = 1, .flops = 1}},
      {"div", {.divs = 1, .flops = 1}},
      {"sqrt", {.divs = 1, .flops = 1}},
      {"gelu", {.gelus = 1, .flops = 5}},
      // 1 / (1 + exp(-x)); x times that; 2 sigmoid(2x) - 1
      {"sigmoid", {.adds = 1, .exps = 1, .divs = 1, .flops = 4}},
      {"silu", {.adds = 1, .muls = 1, .exps = 1, .divs = 1, .flops = 5}},
      {"tanh", {.adds = 2, .muls = 2, .exps = 1, .divs = 1, .flops = 1}},
      // Largest and sum of a row; difference, exponential, scaling.
      {"softmax", {.adds = 1, .muls = 1, .exps = 1, .trees = 2, .flops = 5}},
      // Mean and variance; difference, square, scaling, gain, bias (ONNXim: 2 add, 3 mul).
      {"layer_norm",
       {.adds = 2, .muls = 3, .trees = 2, .scalar_muls = 2, .scalar_sqrts = 1, .flops = 7}},
      {"rms_norm", {.muls = 3, .trees = 1, .scalar_muls = 1, .scalar_sqrts = 1, .flops = 4}}};
  return works;
}

}  // namespace

VectorWork operator+(const VectorWork& a, const VectorWork& b) {
  return {a.adds + b.adds,
          a.muls + b.muls,
          a.exps + b.exps,
          a.divs + b.divs,
          a.gelus + b.gelus,
          a.trees + b.trees,
          a.scalar_muls + b.scalar_muls,
          a.scalar_sqrts + b.scalar_sqrts,
          a.flops + b.flops};
}

std::vector<std::string> vector_names() {
  std::vector<std::string> names;
  for (const auto& [name, work] : table()) {
    names.push_back(name);
  }
  return names;
}

VectorWork vector_work(const std::string& name) {
  const auto found = table().find(name);
  if (found == table().end()) {
    throw ConfigError(unknown_name("vector operation", name, vector_names()));
  }
  return found->second;
}

VectorWork multiplications(std::uint64_t count) {
  return {.adds = count, .muls = count};
}

VectorWork any_vector_work() {
  return {1, 1, 1, 1, 1, 1, 1, 1};
}

std::set<std::string> names_of_passes(const VectorWork& work) {
  std::set<std::string> names;
  for (const auto& [name, count] : {std::pair{"add", work.adds},
                                    {"mul", work.muls},
                                    {"exp", work.exps},
                                    {"div", work.divs},
                                    {"gelu", work.gelus},
                                    {"tree", work.trees},
                                    {"scalar_mul", work.scalar_muls},
                                    {"scalar_sqrt", work.scalar_sqrts}}) {
    if (count > 0) {
      names.insert(name);
    }
  }
  return names;
}

std::uint64_t vector_cycles(const CoreConfig& core, const VectorWork& work, std::uint64_t rows,
                            std::uint64_t columns) {
  const VectorLatencies& latency = core.vector;
  const std::uint64_t of_elements = work.adds * latency.add + work.muls * latency.mul +
                                    work.exps * latency.exp + work.divs * latency.div +
                                    work.gelus * latency.gelu;
  const std::uint64_t of_row = work.trees * tree_passes(core, columns) * latency.tree +
                               work.scalar_muls * latency.scalar_mul +
                               work.scalar_sqrts * latency.scalar_sqrt;
  return of_elements * passes(core, rows * columns) + of_row * rows;
}

}  // namespace tessera::npu
