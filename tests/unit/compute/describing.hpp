// A machine and its compute model from YAML, and times of operations on it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tessera/compute/compute.hpp"

namespace tessera::compute::testing {

struct Described {
  machine::Machine machine;
  std::unique_ptr<ComputeModel> model;

  std::int64_t time_of(const workload::Operation& operation) const {
    return model->duration(machine, machine.tile, operation).ps();
  }
};

// `tile`, `compute` and `dram` are the keys inside these mappings. Throws ConfigError on any
// complaint.
inline Described described(const std::string& tile, const std::string& compute = "",
                           const std::string& dram = "at: none") {
  config::Diagnostics diagnostics;
  const std::string text =
      "topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 1 GB/s, latency: 1 ns}\n"
      "tile: {" +
      tile + "}\ncompute: {" + compute + "}\ndram: {" + dram + "}\n";
  config::Section section(config::parse("m.yaml", text, diagnostics), "", diagnostics);
  std::optional<machine::Machine> machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  Described result{*std::move(machine), read_compute(section.section("compute"))};
  section.finish();
  diagnostics.throw_if_any();
  return result;
}

inline workload::Operation vector_work(std::uint64_t flops, std::uint64_t bytes,
                                       DataType type = DataType::fp16) {
  return {.product = {}, .flops = Flops(flops), .bytes = Bytes(bytes), .data_type = type};
}

inline workload::Operation product_of(std::uint64_t rows, std::uint64_t columns,
                                      std::uint64_t depth, std::uint64_t count = 1,
                                      std::uint64_t bytes = 0, DataType type = DataType::fp16) {
  const workload::MatrixProduct product{rows, columns, depth, count};
  return {.product = product, .flops = product.flops(), .bytes = Bytes(bytes), .data_type = type};
}

}  // namespace tessera::compute::testing
