// Times that the compute model of a machine file gives single operators, for gemm_fit.py and
// results/operators.md.
//
//     gemm_rates MACHINE.yaml [KEY=VALUE]... < OPERATORS
//
// OPERATORS has a line for each: "rows columns depth data_type" is a matrix product whose operands
// are moved once, "vector bytes data_type [class [row]]" work without a matrix product whose
// arithmetic is hidden behind its bytes, those of a row among them; its class of kernel is `norm`,
// `activation`, `rotary`, `sum`, `lookup` or, if not given, none of them. Prints the time of each
// [ps].
// Settings are as of `tessera run --set`, without `machine.`. Ends with 2 at the first line that is
// neither.
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "rates.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/machine/machine.hpp"

namespace tessera {
namespace {

workload::Operation product_of(std::uint64_t rows, std::uint64_t columns, std::uint64_t depth,
                               DataType type) {
  workload::Operation operation;
  operation.product = {rows, columns, depth, 1};
  operation.flops = operation.product.flops();
  operation.bytes = element_size(type) * (rows * depth + depth * columns + rows * columns);
  operation.data_type = type;
  return operation;
}

std::optional<workload::Kernel> kernel_from(const std::string& name) {
  using workload::Kernel;
  for (const auto& [known, kernel] :
       {std::pair("", Kernel::plain), std::pair("norm", Kernel::norm),
        std::pair("activation", Kernel::activation), std::pair("rotary", Kernel::rotary),
        std::pair("sum", Kernel::sum), std::pair("lookup", Kernel::lookup)}) {
    if (name == known) {
      return kernel;
    }
  }
  return std::nullopt;
}

std::optional<workload::Operation> vector_work(std::uint64_t bytes, DataType type,
                                               const std::string& name, std::uint64_t row) {
  const std::optional<workload::Kernel> kernel = kernel_from(name);
  if (!kernel) {
    return std::nullopt;
  }
  workload::Operation operation;
  operation.bytes = Bytes(bytes);
  operation.data_type = type;
  operation.kernel = *kernel;
  operation.row = Bytes(row);
  return operation;
}

std::optional<workload::Operation> operation_of(const std::string& line) {
  std::istringstream words(line);
  const bool vector = line.starts_with("vector ");
  std::string name;
  std::uint64_t first = 0;
  std::uint64_t columns = 0;
  std::uint64_t depth = 0;
  if (vector) {
    words >> name >> first >> name;
  } else {
    words >> first >> columns >> depth >> name;
  }
  const std::optional<DataType> type = data_type_from(name);
  if (!words || !type) {
    return std::nullopt;
  }
  if (!vector) {
    return product_of(first, columns, depth, *type);
  }
  std::string kernel;
  std::uint64_t row = 0;
  words >> kernel >> row;
  return vector_work(first, *type, kernel, row);
}

}  // namespace
}  // namespace tessera

int main(int count, char** words) {
  const auto time = [](const std::string& line, const auto& model, const auto& machine) {
    const auto operation = tessera::operation_of(line);
    return operation ? std::optional(model.duration(machine, machine.tile, *operation))
                     : std::nullopt;
  };
  return tessera::rates_program(count, words, "operator", time);
}
