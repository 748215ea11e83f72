// ONNXim (H. Ham et al., 2024): a configuration of cores, interconnect and DRAM, with the file of
// Ramulator 2 that it names. A machine is written whose cores cut and time operators as its public
// code does (`tiling: onnxim`, `timing: onnxim`), as configs/machines/onnxim_*.yaml do;
// results/npu.md says how far cycles are off.
#include <algorithm>
#include <utility>

#include "numbers.hpp"
#include "onnxim/dram.hpp"
#include "source.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/text.hpp"
#include "text.hpp"

namespace tessera::migration {
namespace {

using config::OtherKey;

constexpr std::int64_t most_cores = 4096;
constexpr std::int64_t longest_side = 65'536;
constexpr std::int64_t bits_of_a_byte = 8;

const OtherKey dram_key{"dram", "file", "the file in dram_config_path",
                        "configuration file of Ramulator 2"};

struct Core {
  std::int64_t width = 1;
  std::int64_t height = 1;
  std::int64_t scratchpad = 1;  // KiB
  std::int64_t accumulator = 1;
  std::int64_t vector_bits = 1;
  std::vector<std::pair<std::string, std::int64_t>> latencies;  // ours, cycles
  std::string origin;
  bool operator==(const Core& other) const {
    return width == other.width && height == other.height && scratchpad == other.scratchpad &&
           accumulator == other.accumulator && vector_bits == other.vector_bits &&
           latencies == other.latencies;
  }
};

void read_latencies(Source& source, Core& core) {
  const std::vector<std::pair<std::string, std::string>> names{
      {"add_latency", "add"},
      {"mul_latency", "mul"},
      {"exp_latency", "exp"},
      {"div_latency", "div"},
      {"gelu_latency", "gelu"},
      {"add_tree_latency", "tree"},
      {"scalar_mul_latency", "scalar_mul"},
      {"scalar_sqrt_latency", "scalar_sqrt"}};
  for (const auto& [theirs, ours] : names) {
    if (const auto cycles = source.take<std::int64_t>(theirs, {0, 1'000'000})) {
      core.latencies.emplace_back(ours, *cycles);
    }
  }
}

// Of all cores, said once.
void leave_of_core(Source& source, bool is_first) {
  const std::vector<std::pair<std::string, std::string>> keys{
      {"mac_latency", "no operator of the cores uses it"},
      {"scalar_add_latency", "no operator of the cores uses it"},
      {"sram_width", "the scratchpad is no limit"}};
  for (const auto& [key, because] : keys) {
    if (is_first) {
      source.leave(key, because);
    } else {
      source.pass_over(key);
    }
  }
}

Core read_core(Source& source, bool is_first) {
  Core core;
  source.name("core_type", {"systolic_ws"});
  core.width = source.need<std::int64_t>("core_width", {1, longest_side});
  core.height = source.need<std::int64_t>("core_height", {1, longest_side});
  core.scratchpad = source.need<std::int64_t>("spad_size", {1, 1 << 24});
  core.accumulator = source.need<std::int64_t>("accum_spad_size", {1, 1 << 24});
  core.vector_bits = source.need<std::int64_t>("vector_process_bit", {1, std::int64_t{1} << 32});
  read_latencies(source, core);
  leave_of_core(source, is_first);
  core.origin = source.origin("core_width");
  return core;
}

// One for each core, or in older files keys that are for all.
Core read_cores(Source& config, std::int64_t cores, const Request& request) {
  if (!config.has("core_config")) {
    return read_core(config, true);
  }
  Source all = config.section("core_config");
  std::optional<Core> first;
  for (std::int64_t n = 0; n < cores; ++n) {
    const std::string key = "core_" + std::to_string(n);
    if (!all.has(key)) {
      all.error("", "there is no '" + key + "', but num_cores is " + std::to_string(cores));
      break;
    }
    Source source = all.section(key);
    const Core core = read_core(source, n == 0);
    source.leave_rest();
    if (request.diagnostics.empty() && first && !(core == *first)) {
      all.error(key,
                "a core unlike core_0; cores of several types are machine.types here, which "
                "this import does not write");
      break;
    }
    first = first.value_or(core);
  }
  all.leave_rest();
  return first.value_or(Core{});
}

struct Interconnect {
  Bandwidth of_core;
  Bandwidth of_memory;  // that of all cores
  SimTime latency;
  std::int64_t period_ps = 1;
  std::int64_t request = 32;  // bytes
  std::string origin;
};

Interconnect read_interconnect(Source& config, std::int64_t cores, Migrated& migrated) {
  Interconnect network;
  const std::string type = config.name("icnt_type", {"simple", "booksim2"});
  const auto period = period_of(config.need<double>("icnt_freq"));
  if (!period) {
    config.error("icnt_freq", "expected MHz, more than 0");
    return network;
  }
  network.period_ps = period->ps;
  network.request = config.take<std::int64_t>("dram_req_size", {1, 4096}).value_or(32);
  const auto ports =
      config.take<std::int64_t>("icnt_injection_ports_per_core", {1, 1024}).value_or(1);
  const auto cycles = config.take<std::int64_t>("icnt_latency", {0, 1'000'000}).value_or(1);
  const auto rate = static_cast<std::uint64_t>(ports * network.request) * ps_per_second /
                    static_cast<std::uint64_t>(period->ps);
  const auto of_memory = product({rate, static_cast<std::uint64_t>(cores)});
  if (!of_memory) {
    config.error("icnt_freq", "all cores together have more than 2^63 B/s");
  }
  network.of_core = Bandwidth::bytes_per_second(rate);
  network.of_memory = Bandwidth::bytes_per_second(of_memory.value_or(0));
  network.latency = SimTime::from_ps(std::max<std::int64_t>(1, cycles * period->ps));
  network.origin = config.origin("icnt_freq") + ": icnt_freq, dram_req_size, ports, icnt_latency";
  if (type.starts_with("booksim")) {
    migrated.assumed.push_back("a crossbar in place of the network of BookSim 2");
  }
  config.leave("icnt_config_path", "the interconnect is a crossbar");
  config.leave("icnt_print_interval", "what is recorded is run.trace here");
  return network;
}

std::string read_type(Source& config, std::int64_t& bytes) {
  bytes = config.take<std::int64_t>("precision", {1, 4}).value_or(2);
  if (bytes == 3) {
    config.error("precision", "expected 1, 2 or 4 bytes");
  }
  return bytes == 1 ? "int8" : bytes == 2 ? "fp16" : "fp32";
}

void leave_other_keys(Source& config) {
  config.leave("layout", "what lies where is that of tiling: onnxim");
  config.leave("scheduler", "operators go one after the other, or as workloads say");
  config.leave("partition", "tenants are placed by the workload here");
  config.leave("core_print_interval", "what is recorded is run.trace here");
}

std::string kib(std::int64_t size) {
  return to_string(Bytes(static_cast<std::uint64_t>(size) * 1024));
}

void add_topology(YamlLines& lines, std::int64_t cores, std::int64_t capacity_gib,
                  const std::string& capacity_origin, const Interconnect& network) {
  const std::string latency = ", latency: " + to_string(network.latency) + "}";
  lines.add(0, "topology:");
  lines.add(2, "kind: graph");
  lines.add(2, "nodes:");
  lines.add(4, "core: {count: " + std::to_string(cores) + "}", "num_cores");
  lines.add(4, "crossbar: {kind: switch}");
  lines.add(4, "memory: {kind: memory, capacity: " + std::to_string(capacity_gib) + " GiB}",
            capacity_origin);
  lines.add(2, "links:");
  lines.add(4, "- {from: core, to: crossbar, bandwidth: " + to_string(network.of_core) + latency,
            network.origin);
  lines.add(4,
            "- {from: memory, to: crossbar, bandwidth: " + to_string(network.of_memory) + latency,
            "as of all cores: the limit are the channels");
}

void add_core(YamlLines& lines, const Core& core, const WholePeriod& period, std::int64_t bytes,
              const onnxim::Dram& dram, const Interconnect& network, Source& config) {
  lines.add(0, "compute:");
  lines.add(2, "model: npu");
  lines.add(2, "clock: " + to_string(period.clock), config.origin("core_freq") + ": core_freq");
  lines.add(2, "array: " + list_of(std::vector<std::int64_t>{core.height, core.width}),
            core.origin + ": core_height, core_width");
  lines.add(2,
            "vector_width: " + std::to_string(std::max<std::int64_t>(
                                   1, core.vector_bits / (bits_of_a_byte * bytes))),
            "vector_process_bit over the bits of an element");
  if (!core.latencies.empty()) {
    lines.add(2, "latencies:");
    for (const auto& [name, cycles] : core.latencies) {
      lines.add(4, name + ": " + std::to_string(cycles));
    }
  }
  lines.add(2, "scratchpad: " + kib(core.scratchpad), "spad_size, KiB");
  lines.add(2, "accumulator: " + kib(core.accumulator), "accum_spad_size, KiB");
  lines.add(2, "queue: " + std::to_string(core.height), "as its code: the height of the array");
  lines.add(2, "timing: onnxim");
  lines.add(2, "tiling: onnxim");
  lines.add(
      2,
      std::string("dma: {access: row, ") +
          (dram.splits_accesses ? "request: " + std::to_string(network.request) + " B, " : "") +
          "open: 16384}",
      "its code has no limit");
}

Migrated read_onnxim(Request& request) {
  Migrated migrated;
  const auto dram_file = request.given.get_optional<std::string>(dram_key.key());
  const config::Value root = read_json(request.source, request, migrated);
  if (!request.diagnostics.empty()) {
    return migrated;
  }
  Source config(root, request, migrated);
  const auto cores = config.need<std::int64_t>("num_cores", {1, most_cores});
  const auto period = period_of(config.need<double>("core_freq"));
  if (!period) {
    config.error("core_freq", "expected MHz, more than 0");
  }
  std::int64_t bytes = 2;
  const std::string type = read_type(config, bytes);
  const Core core = read_cores(config, cores, request);
  const Interconnect network = read_interconnect(config, cores, migrated);
  const auto capacity = config.take<std::int64_t>("dram_size", {1, 1 << 20});
  const std::string capacity_origin =
      capacity ? config.origin("dram_size") + ": dram_size, GiB" : "assumed";
  if (!request.diagnostics.empty()) {
    config.leave_rest();
    return migrated;
  }
  const onnxim::Dram dram = onnxim::read_dram(
      config, dram_file.value_or(""), {network.request, network.period_ps}, request, migrated);
  leave_other_keys(config);
  config.leave_rest();
  const auto rate = product({static_cast<std::uint64_t>(core.width * core.height), 2,
                             period ? period->clock.frequency_hz() : 0});
  if (!rate) {
    config.error("core_freq", "an array of this size does more than 2^63 FLOP/s");
  }
  if (!request.diagnostics.empty()) {
    return migrated;
  }
  constexpr std::int64_t usual_capacity = 16;  // GiB
  const FlopRate peak = FlopRate::flops_per_second(rate.value_or(0));
  YamlLines lines;
  lines.add(0, "name: " + yaml_text(request.name));
  add_topology(lines, cores, capacity.value_or(usual_capacity), capacity_origin, network);
  lines.add(
      0,
      "tile: {peak: {" + type + ": " + to_string(peak) + "}, sram: " + kib(core.scratchpad) + "}",
      "two operations a MAC and cycle; precision");
  lines.add(0,
            "dram: {at: memories, bandwidth: " + to_string(dram.bandwidth) +
                ", latency: " + to_string(dram.latency) + "}",
            dram.origin);
  lines.add(0, "network: {model: packet}");
  YamlLines compute;
  add_core(compute, core, *period, bytes, dram, network, config);
  migrated.files.push_back(
      {FileKind::machine, "", lines.text() + dram.section.text() + compute.text()});
  return migrated;
}

const Registration onnxim_registration(
    formats(),
    {"onnxim", "ONNXim: a configuration of cores, interconnect and DRAM, as a machine", {dram_key}},
    read_onnxim);

}  // namespace
}  // namespace tessera::migration
