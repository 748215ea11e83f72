// Times that the compute model of a machine file gives matrix products, for gemm_fit.py.
//
//     gemm_rates MACHINE.yaml < SHAPES
//
// SHAPES has a line "rows columns depth data_type" for each product; prints its time [ps] with
// matrix_efficiency 1 and its operands moved once. Measured products follow each other without a
// gap, so that nothing is launched here.
#include <iostream>
#include <optional>
#include <string>

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

int print_times(const std::string& path) {
  config::Diagnostics diagnostics;
  config::Value root = config::parse(path, config::load_text_file(path), diagnostics);
  for (const char* setting : {"compute.matrix_efficiency=1", "compute.launch_overhead=0 us"}) {
    config::apply_override(root, setting, diagnostics);
  }
  config::Section section(root, "", diagnostics);
  const std::optional<machine::Machine> machine = machine::read_machine(section);
  const auto model = compute::read_compute(section.section("compute"));
  diagnostics.throw_if_any();
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t depth = 0;
  std::string name;
  while (std::cin >> rows >> columns >> depth >> name) {
    const std::optional<DataType> type = data_type_from(name);
    if (!type) {
      std::cerr << "no data type '" << name << "'\n";
      return 2;
    }
    std::cout
        << model->duration(*machine, machine->tile, product_of(rows, columns, depth, *type)).ps()
        << '\n';
  }
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int count, char** words) {
  if (count != 2) {
    std::cerr << "usage: gemm_rates MACHINE.yaml < SHAPES\n";
    return 2;
  }
  try {
    return tessera::print_times(words[1]);
  } catch (const tessera::Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
