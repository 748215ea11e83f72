#include <array>
#include <iostream>
#include <limits>
#include <optional>
#include <sstream>

#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/compute/convolution.hpp"
#include "tessera/compute/systolic.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/version.hpp"
#include "tessera/trace/json_text.hpp"

namespace tessera::cli {
namespace {

using compute::Convolution;
using compute::MatrixShape;
using workload::MatrixProduct;

constexpr std::int64_t longest = 1 << 20;

Options systolic_options() {
  Options options(
      "systolic",
      "Print the cycles of matrix products on a systolic array. PRODUCTS are ROWSxDEPTHxCOLUMNS "
      "or, with --kernel, images HEIGHTxWIDTHxCHANNELS; several are separated by commas and run "
      "one after another.",
      "list of products", "PRODUCTS");
  options.add("array", "rows and columns of the array", text_value("128x128"), "RxC")
      .add("dataflow", "dataflow, one of " + join(compute::dataflows().names()), text_value("tpu"),
           "NAME")
      .add("kernel", "compute convolutions with this kernel: HEIGHTxWIDTHxFILTERS", text_value(),
           "SHAPE")
      .add("stride", "stride of the kernel", text_value("1"), "N")
      .add("padding", "padding of the images, at each edge", text_value("0"), "N")
      .add("groups", "groups of channels and filters; as many as channels: depth-wise",
           text_value("1"), "N")
      .add("macs-per-pe", "multiply-accumulates of a processing element per cycle", text_value("1"),
           "N")
      .add("step", "also step every unit of the array with random data, and check the products")
      .add("type", "of that data", text_value("int8"), "int8 or fp32")
      .add("seed", "of that data", text_value("1"), "N")
      .add("json", "print one JSON object");
  return options;
}

// "AxBxC", each from 1 to 2^20.
std::array<std::uint64_t, 3> three_sides(const std::string& text) {
  std::array<std::uint64_t, 3> sides{};
  std::istringstream stream(text);
  std::string problem;
  std::size_t found = 0;
  for (std::string word; std::getline(stream, word, 'x'); ++found) {
    const auto side = config::parse_as<std::int64_t>(word, problem);
    if (found == sides.size() || !side || *side < 1 || *side > longest) {
      found = 0;
      break;
    }
    sides[found] = static_cast<std::uint64_t>(*side);
  }
  if (found != sides.size() || text.back() == 'x') {
    throw ConfigError("'" + text + "' is not three sides from 1 to 2^20; write e.g. 64x128x32");
  }
  return sides;
}

MatrixProduct convolution(const Options& options, const std::array<std::uint64_t, 3>& image) {
  const auto [kernel_height, kernel_width, filters] = three_sides(options.text("kernel"));
  const auto number = [&](const char* name, std::int64_t least) {
    return static_cast<std::uint64_t>(options.number(name, least, longest));
  };
  const Convolution convolution{image[0],
                                image[1],
                                image[2],
                                kernel_height,
                                kernel_width,
                                filters,
                                number("stride", 1),
                                number("padding", 0),
                                number("groups", 1)};
  if (!is_possible(convolution)) {
    throw ConfigError("--kernel must fit in the image, and --groups divide channels and filters");
  }
  return as_product(convolution);
}

std::vector<MatrixProduct> read_products(const Options& options) {
  std::vector<MatrixProduct> products;
  std::istringstream stream(options.subject());
  for (std::string word; std::getline(stream, word, ',');) {
    const auto sides = three_sides(word);
    products.push_back(options.has("kernel") ? convolution(options, sides)
                                             : MatrixProduct{sides[0], sides[2], sides[1], 1});
  }
  if (products.empty()) {
    throw ConfigError("no product in '" + options.subject() + "'");
  }
  return products;
}

std::string text_of(const MatrixProduct& product) {
  const std::string text = std::to_string(product.rows) + "x" + std::to_string(product.depth) +
                           "x" + std::to_string(product.columns);
  return product.count == 1 ? text : std::to_string(product.count) + " of " + text;
}

std::string percent(double share) {
  std::ostringstream stream;
  stream.precision(2);
  stream << std::fixed << 100 * share << " %";
  return stream.str();
}

// Cycles of a product: from when the one before was complete.
std::int64_t own_cycles(const auto& completions, std::size_t number) {
  return static_cast<std::int64_t>(completions[number]) -
         (number > 0 ? static_cast<std::int64_t>(completions[number - 1]) : 0);
}

std::vector<MatrixProduct> folded(const std::vector<MatrixProduct>& products,
                                  std::uint64_t macs_per_pe) {
  std::vector<MatrixProduct> all;
  for (const MatrixProduct& product : products) {
    all.push_back(compute::folded(product, macs_per_pe));
  }
  return all;
}

std::string table(const MatrixShape& array, const compute::Dataflow& dataflow,
                  const std::vector<MatrixProduct>& products, std::uint64_t macs_per_pe) {
  const std::vector<MatrixProduct> as_taken = folded(products, macs_per_pe);
  const auto exact = dataflow.completions(array, as_taken);
  const auto paper = dataflow.paper_completions(array, as_taken);
  std::vector<std::string> head{"product", "cycles", "complete at", "utilisation", "mapped"};
  if (!paper.empty()) {
    head.insert(head.end(), {"paper", "off by"});
  }
  TextTable rows(head);
  double macs = 0;
  for (std::size_t i = 0; i < products.size(); ++i) {
    macs += utilisation(array, products[i], 1) / static_cast<double>(macs_per_pe);
    const std::int64_t cycles = own_cycles(exact, i);
    std::vector<std::string> row{text_of(products[i]), std::to_string(cycles),
                                 std::to_string(exact[i]),
                                 percent(macs / static_cast<double>(exact[i])),
                                 percent(mapping_efficiency(dataflow, array, as_taken[i]))};
    if (!paper.empty()) {
      const std::int64_t by_paper = own_cycles(paper, i);
      row.push_back(std::to_string(by_paper));
      row.push_back(std::to_string(by_paper - cycles));
    }
    rows.add(std::move(row));
  }
  return rows.to_string();
}

// The same as the table has it; shares in place of per cent.
trace::JsonText json_of_products(const MatrixShape& array, const compute::Dataflow& dataflow,
                                 const std::vector<MatrixProduct>& products,
                                 std::uint64_t macs_per_pe) {
  const std::vector<MatrixProduct> as_taken = folded(products, macs_per_pe);
  const auto exact = dataflow.completions(array, as_taken);
  const auto paper = dataflow.paper_completions(array, as_taken);
  trace::JsonText list = trace::JsonText::list();
  double macs = 0;
  for (std::size_t i = 0; i < products.size(); ++i) {
    macs += utilisation(array, products[i], 1) / static_cast<double>(macs_per_pe);
    list.add(trace::JsonText::object()
                 .put("rows", products[i].rows)
                 .put("depth", products[i].depth)
                 .put("columns", products[i].columns)
                 .put("count", products[i].count)
                 .put("cycles", own_cycles(exact, i))
                 .put("complete_cycle", exact[i])
                 .put("utilization", macs / static_cast<double>(exact[i]))
                 .put("mapping_efficiency", mapping_efficiency(dataflow, array, as_taken[i]))
                 .put("paper_cycles", paper.empty() ? trace::JsonText::null()
                                                    : trace::JsonText(own_cycles(paper, i))));
  }
  return list;
}

DataType read_type(const Options& options) {
  const std::optional<DataType> type = data_type_from(options.text("type"));
  if (type != DataType::int8 && type != DataType::fp32) {
    throw ConfigError("--type: expected int8 or fp32; got '" + options.text("type") + "'");
  }
  return *type;
}

// What stepping found, in a line.
std::string stepped(const MatrixShape& array, const compute::Dataflow& dataflow,
                    const std::vector<MatrixProduct>& products, DataType type, std::uint64_t seed,
                    std::uint64_t macs_per_pe) {
  const auto completions = stepped_completions(dataflow, array, products, type, seed, macs_per_pe);
  ensure(completions == dataflow.completions(array, folded(products, macs_per_pe)),
         "a stepped array takes the cycles of the closed form");
  return "stepped with " + to_string(type) + ": the same cycles, products right\n";
}

int systolic_command(const Words& words, comm::Communicator& world) {
  Options options = systolic_options();
  if (!options.parse(words, world)) {
    return 0;
  }
  const std::optional<MatrixShape> array = compute::matrix_shape_from(options.text("array"));
  if (!array) {
    throw ConfigError("--array: '" + options.text("array") +
                      "' is not an array; write rows and columns, e.g. 128x128");
  }
  const auto dataflow = compute::dataflows().at(options.text("dataflow"))();
  const std::vector<MatrixProduct> products = read_products(options);
  const DataType type = read_type(options);
  const std::int64_t seed = options.number("seed", 0, std::numeric_limits<std::int64_t>::max());
  const auto macs_per_pe = static_cast<std::uint64_t>(options.number("macs-per-pe", 1, 64));
  if (world.rank() == 0 && options.flag("json")) {
    const std::string step = options.flag("step")
                                 ? stepped(*array, *dataflow, products, type,
                                           static_cast<std::uint64_t>(seed), macs_per_pe)
                                 : "";
    std::cout << trace::JsonText::object()
                     .put("file_type", "tessera-systolic")
                     .put("format_version", "1.0")
                     .put("array_rows", array->rows)
                     .put("array_columns", array->columns)
                     .put("dataflow", options.text("dataflow"))
                     .put("macs_per_pe", macs_per_pe)
                     .put("stepped", !step.empty())
                     .put("products", json_of_products(*array, *dataflow, products, macs_per_pe))
                     .put("versions", trace::JsonText::object()
                                          .put("tessera", std::string(version()))
                                          .put("git", std::string(git_hash())))
                     .to_string()
              << std::flush;
  } else if (world.rank() == 0) {
    std::cout << table(*array, *dataflow, products, macs_per_pe) << std::flush;
    if (options.flag("step")) {
      std::cout << stepped(*array, *dataflow, products, type, static_cast<std::uint64_t>(seed),
                           macs_per_pe)
                << std::flush;
    }
  }
  return 0;
}

const Registration systolic_registration(
    commands(), {"systolic", "cycles of matrix products on a systolic array", {}},
    Command{"systolic PRODUCTS [options]", systolic_command});

}  // namespace
}  // namespace tessera::cli
