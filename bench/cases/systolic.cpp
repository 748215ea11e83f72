// What stepping a systolic array with data costs: multiply-accumulate units times cycles.

#include "tessera/compute/systolic.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "case.hpp"
#include "cost.hpp"
#include "tessera/core/error.hpp"

namespace tessera::bench {
namespace {

void describe(OptionList& options) {
  options("side", "rows and columns of the array", text_option("256"), "N");
  options("dataflow", "of the array: " + join(compute::dataflows().names()), text_option("tpu"),
          "NAME");
  options("type", "of the operands: int8 or fp32", text_option("int8"), "NAME");
  options("rows", "of the product", text_option("1024"), "N");
  options("columns", "of the product", text_option("512"), "N");
  options("depth", "of the product", text_option("512"), "N");
}

template <class T>
double best_cpu_s(const compute::Dataflow& dataflow, const compute::MatrixShape& array,
                  const workload::MatrixProduct& product, const Setting& setting,
                  std::uint64_t& cycles) {
  const auto operands = compute::random_operands<T>(product, setting.seed, 100);
  std::vector<double> seconds;
  for (unsigned run = 0; run < setting.repeats; ++run) {
    const Cost cost = cost_of(setting.ranks_are_threads, [&] {
      cycles = dataflow.step(array, std::span(&operands, 1)).cycles;
    });
    seconds.push_back(cost.cpu_s);
  }
  ensure(cycles == compute::systolic_cycles(dataflow, array, product),
         "the stepped array takes the cycles of the closed form");
  return *std::min_element(seconds.begin(), seconds.end());
}

Report run(const CaseOptions& options, const Setting& setting, comm::Communicator& communicator) {
  if (communicator.size() > 1) {
    throw ConfigError("systolic: on one rank only");
  }
  const std::uint64_t side = options.count("side", 1, 4096);
  const workload::MatrixProduct product{options.count("rows", 1, 1 << 20),
                                        options.count("columns", 1, 1 << 20),
                                        options.count("depth", 1, 1 << 20), 1};
  const std::vector<std::string> names = compute::dataflows().names();
  const std::string name = names[options.choice("dataflow", names)];
  const std::vector<std::string> types{"int8", "fp32"};
  const std::string type = types[options.choice("type", types)];
  const auto dataflow = compute::dataflows().at(name)();
  std::uint64_t cycles = 0;
  const double cpu_s =
      type == "int8" ? best_cpu_s<std::int8_t>(*dataflow, {side, side}, product, setting, cycles)
                     : best_cpu_s<float>(*dataflow, {side, side}, product, setting, cycles);
  Report report;
  report.parameters = {
      {"side", side},         {"dataflow", name},           {"type", type},
      {"rows", product.rows}, {"columns", product.columns}, {"depth", product.depth}};
  report.fields = {{"cycles", cycles},
                   {"mac_steps", cycles * side * side},
                   {"cpu_s", cpu_s},
                   {"mac_steps_per_cpu_s", static_cast<double>(cycles * side * side) / cpu_s}};
  return report;
}

}  // namespace

Case systolic_case() {
  return {"systolic", "a systolic array stepped with data", {"tessera"}, describe, run};
}

}  // namespace tessera::bench
