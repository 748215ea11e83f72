// SCALE-Sim v3: its configuration (.cfg), and beside it a topology (.csv), of convolutions or of
// products. Cycles are those that it reports without stalls (`total_cycles` is the index of the
// last one, one less than their number), a nanosecond each. A topology of several layers is an
// experiment of the first and a sweep over all, as it runs each by itself.
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "source.hpp"
#include "tables.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/text.hpp"
#include "text.hpp"

namespace tessera::migration {
namespace {

using config::ChoiceKey;
using config::OtherKey;
using config::Value;

constexpr std::int64_t most_side = 16'777'216;  // of features of a layer here
constexpr std::int64_t most_channels = 65'536;  // that are layers of their own

enum class Rows { by_head, convolutions, products };

const OtherKey topology_key{"topology", "file", "", "CSV file of layers"};
const ChoiceKey<Rows> rows_key{
    "rows",
    {{"by-head", Rows::by_head}, {"conv", Rows::convolutions}, {"gemm", Rows::products}},
    "by-head",
    "format of the topology's rows: conv, gemm (SCALE-Sim's option -i), or by its header"};

struct Array {
  std::string name;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::string dataflow;
  std::string origin;  // of all three
};

struct Layer {
  std::string name;
  std::int64_t rows = 1;
  std::int64_t depth = 1;
  std::int64_t columns = 1;
  std::string origin;
};

// Keys that cycles without stalls do not depend on.
void leave_memory(Source& architecture) {
  for (const char* key :
       {"IfmapSramSzkB", "FilterSramSzkB", "OfmapSramSzkB", "IfmapSramSz", "FilterSramSz",
        "OfmapSramSz", "Bandwidth", "MemoryBanks", "ReadRequestBuffer", "WriteRequestBuffer"}) {
    architecture.leave(key, "cycles are those without stalls: memory is not modelled");
  }
  for (const char* key : {"IfmapOffset", "FilterOffset", "OfmapOffset"}) {
    architecture.leave(key, "addresses change no cycles without stalls");
  }
}

void leave_sections(Source& file) {
  Source layout = file.section("layout");
  for (const char* matrix : {"Ifmap", "Filter", "Ofmap"}) {
    for (const char* key : {"CustomLayout", "SRAMBankBandwidth", "SRAMBankNum", "SRAMBankPort"}) {
      layout.leave(std::string(matrix) + key, "conflicts of banks are not modelled");
    }
  }
  layout.leave_rest();
  Source sparsity = file.section("sparsity");
  for (const char* key : {"SparsitySupport", "SparseRep", "OptimizedMapping", "BlockSize",
                          "RandomNumberGeneratorSeed"}) {
    sparsity.leave(key, "operands are dense here");
  }
  sparsity.leave_rest();
  Source presets = file.section("run_presets");
  presets.leave("InterfaceBandwidth", "cycles are those without stalls, as with CALC");
  presets.leave("UseRamulatorTrace", "cycles are those without stalls");
  presets.leave_rest();
}

Array read_array(Request& request, Migrated& migrated) {
  const std::string text = read_text(request.source, request, migrated);
  Source file(read_ini(request.source, text, request.diagnostics), request, migrated);
  Array array;
  if (!request.diagnostics.empty()) {
    return array;
  }
  Source general = file.section("general");
  array.name = general.take<std::string>("run_name").value_or(request.name);
  general.leave_rest();
  Source architecture = file.section("architecture_presets", true);
  array.height = architecture.need<std::int64_t>("ArrayHeight", {1, 65'536});
  array.width = architecture.need<std::int64_t>("ArrayWidth", {1, 65'536});
  array.dataflow = architecture.name("Dataflow", {"ws", "is", "os"});
  array.origin = architecture.origin("ArrayHeight") + ": ArrayHeight, ArrayWidth, Dataflow";
  leave_memory(architecture);
  architecture.leave_rest();
  leave_sections(file);
  file.leave_rest();
  return array;
}

bool equals_in_any_case(std::string text, const std::string& other) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text == other;
}

// What a row of products is called by its head: "Layer, M, N, K".
bool has_head_of_products(const std::vector<Cell>& head) {
  return head.size() >= 4 && equals_in_any_case(head[1].text, "m") &&
         equals_in_any_case(head[2].text, "n") && equals_in_any_case(head[3].text, "k");
}

// Whole numbers of a row behind its name; zeros after a complaint.
template <std::size_t count>
std::array<std::int64_t, count> numbers_of(const std::vector<Cell>& row, Request& request,
                                           Migrated& migrated) {
  std::array<std::int64_t, count> numbers{};
  if (row.size() < count + 1) {
    request.diagnostics.error(row.back().place, "expected a name and " + std::to_string(count) +
                                                    " numbers; got " +
                                                    std::to_string(row.size() - 1));
    return numbers;
  }
  for (std::size_t n = 0; n < count; ++n) {
    const Cell& cell = row[n + 1];
    std::string problem;
    const auto number = config::parse_as<std::int64_t>(cell.text, problem);
    if (!number || *number < 1 || *number > most_side) {
      request.diagnostics.error(cell.place,
                                number ? "must be between 1 and 2^24; got " + cell.text : problem);
    }
    numbers[n] = number.value_or(0);
  }
  for (std::size_t n = count + 1; n < row.size(); ++n) {
    migrated.left_out.push_back({row[n].place,
                                 "column " + std::to_string(n + 1) + ": " + row[n].text,
                                 "a layer is given by the columns before it"});
  }
  return numbers;
}

// Positions of a filter along a side, rounded up as there, so that the last may leave the image.
std::int64_t positions(std::int64_t image, std::int64_t filter, std::int64_t stride) {
  return (image - filter + stride + stride - 1) / stride;
}

// One with DP in its name is depth-wise: a layer for each channel, which all filters see.
std::vector<Layer> read_convolution(const std::vector<Cell>& row, Request& request,
                                    Migrated& migrated) {
  const auto [height, width, filter_height, filter_width, channels, filters, stride] =
      numbers_of<7>(row, request, migrated);
  if (stride == 0 || !request.diagnostics.empty()) {
    return {};
  }
  if (filter_height > height || filter_width > width) {
    request.diagnostics.error(row[3].place, "the filter is larger than the image");
    return {};
  }
  const Layer whole{
      row[0].text,
      positions(height, filter_height, stride) * positions(width, filter_width, stride),
      filter_height * filter_width * channels, filters, origin_of(row[0].place)};
  if (whole.name.find("DP") == std::string::npos) {
    return {whole};
  }
  if (channels > most_channels) {
    request.diagnostics.error(row[5].place, "a depth-wise layer has at most " +
                                                std::to_string(most_channels) +
                                                " channels here, each a layer of its own");
    return {};
  }
  std::vector<Layer> layers(static_cast<std::size_t>(channels), whole);
  for (std::size_t channel = 0; channel < layers.size(); ++channel) {
    layers[channel].name += "Channel_" + std::to_string(channel);
    layers[channel].depth /= channels;
  }
  return layers;
}

Layer read_product(const std::vector<Cell>& row, Request& request, Migrated& migrated) {
  const auto [rows, columns, depth] = numbers_of<3>(row, request, migrated);
  return {row[0].text, rows, depth, columns, origin_of(row[0].place)};
}

std::vector<Layer> read_layers(const std::string& path, Rows kind, Request& request,
                               Migrated& migrated) {
  const auto rows = read_csv(path, read_text(path, request, migrated));
  std::vector<Layer> layers;
  if (rows.size() < 2) {
    request.diagnostics.error({path, 1, 1}, "expected a head and a row for each layer");
    return layers;
  }
  const bool products =
      kind == Rows::products || (kind == Rows::by_head && has_head_of_products(rows.front()));
  for (std::size_t n = 1; n < rows.size(); ++n) {
    for (Layer& layer : products ? std::vector{read_product(rows[n], request, migrated)}
                                 : read_convolution(rows[n], request, migrated)) {
      if (request.diagnostics.empty() && (layer.rows > most_side || layer.depth > most_side)) {
        request.diagnostics.error(rows[n][0].place, "a layer of more than 2^24 rows or inputs");
      }
      layers.push_back(std::move(layer));
    }
  }
  return layers;
}

std::string input_of(const Layer& layer) {
  return "[" + std::to_string(layer.rows) + ", " + std::to_string(layer.depth) + "]";
}

std::string layers_of(const Layer& layer) {
  return "[{name: " + yaml_text(layer.name) +
         ", kind: linear, outputs: " + std::to_string(layer.columns) + ", bias: false}]";
}

std::string experiment_of(const Array& array, const Layer& layer) {
  YamlLines lines;
  const FlopRate peak =
      FlopRate::flops_per_second(static_cast<std::uint64_t>(array.height) *
                                 static_cast<std::uint64_t>(array.width) * 2'000'000'000ULL);
  lines.add(0, "name: " + yaml_text(array.name));
  lines.add(0, "machine:");
  lines.add(2, "topology: {kind: mesh, rows: 1, columns: 1, bandwidth: 1 GB/s, latency: 1 ns}",
            "one tile: no link is used");
  lines.add(2, "tile: {peak: {int8: " + to_string(peak) + "}}", "two operations a unit and cycle");
  lines.add(2, "dram: {at: none}");
  lines.add(2,
            "compute: {model: systolic, array: " +
                list_of(std::vector<std::int64_t>{array.height, array.width}) +
                ", dataflow: " + array.dataflow + ", clock: 1 GHz}",
            array.origin);
  lines.add(0, "workload:");
  lines.add(2, "kind: layers");
  lines.add(2, "mode: inference");
  lines.add(2, "batch: 1");
  lines.add(2, "data_type: int8");
  lines.add(2, "input: " + input_of(layer), layer.origin + ": rows and depth of the product");
  lines.add(2, "layers: " + layers_of(layer), layer.origin);
  lines.add(0, "strategy: {pipeline: 1, tensor: 1, data: 1, micro_batch: 1}");
  return lines.text();
}

std::string sweep_of(const Array& array, const std::vector<Layer>& layers,
                     const std::string& experiment) {
  YamlLines lines;
  lines.add(0, "name: " + yaml_text(array.name));
  lines.add(0, "experiment: " + yaml_text(experiment));
  lines.add(0, "linked:", "a point for each layer");
  lines.add(2, "- workload.input:");
  for (const Layer& layer : layers) {
    lines.add(6, "- " + input_of(layer), layer.origin);
  }
  lines.add(4, "workload.layers:");
  for (const Layer& layer : layers) {
    lines.add(6, "- " + layers_of(layer), layer.origin);
  }
  lines.add(0, "objective: {minimize: iteration_time_ps}", "the shortest layer");
  return lines.text();
}

Migrated read_scale_sim(Request& request) {
  Migrated migrated;
  const auto topology = request.given.get<std::string>(topology_key.key());
  const Rows kind = rows_key.read(request.given);
  const Array array = read_array(request, migrated);
  if (topology.empty() || !request.diagnostics.empty()) {
    return migrated;
  }
  const std::vector<Layer> layers = read_layers(topology, kind, request, migrated);
  if (!request.diagnostics.empty()) {
    return migrated;
  }
  migrated.assumed.push_back("1 GHz, so that a cycle is a nanosecond; cycles do not depend on it");
  migrated.files.push_back({FileKind::experiment, "", experiment_of(array, layers.front())});
  if (layers.size() > 1) {
    migrated.files.push_back({FileKind::sweep, "_layers", sweep_of(array, layers, request.file)});
  }
  return migrated;
}

const Registration scale_sim_registration(
    formats(),
    {"scale-sim",
     "SCALE-Sim v3: the configuration, with a topology of layers as key",
     {topology_key, rows_key}},
    read_scale_sim);

}  // namespace
}  // namespace tessera::migration
