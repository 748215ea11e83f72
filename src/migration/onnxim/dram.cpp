#include "onnxim/dram.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "numbers.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::migration::onnxim {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_channels = 4096;

// A device with the timing of a preset of Ramulator 2 as ONNXim's fork has it (src/dram/impl), as
// in configs/dram; cycles that are absent are those of our preset.
struct Device {
  const char* timing;  // there
  const char* preset;  // here
  std::int64_t burst;  // bytes
  std::int64_t bytes_a_cycle;
  const char* cycles;
  std::vector<const char*> more;  // further keys
};
const std::vector<Device>& devices() {
  static const std::vector<const char*> hbm2_keys{"refresh: false"};
  static const std::vector<const char*> ddr4_keys{
      "ranks: 1", "mapping: [row, bank, group, rank, pseudo, column, channel]"};
  static const std::vector<Device> all{
      {"HBM2_2Gbps", "HBM2-PC", 32, 32, "", hbm2_keys},
      {"HBM2_2.5Gbps", "HBM2-PC", 32, 32,
       "{BL: 2, tCL: 9, tCWL: 3, tRCDRD: 9, tRCDWR: 9, tRP: 9, tRAS: 21, tRC: 23, tWR: 10, tRTP: "
       "4, tCCD_S: 1, tCCD_L: 2, tRRD_S: 3, tRRD_L: 4, tWTR_S: 4, tWTR_L: 5, tFAW: 19, tRTW: 4}",
       hbm2_keys},
      {"DDR4_1600J", "DDR4", 64, 16,
       "{tCL: 10, tCWL: 9, tRCDRD: 10, tRCDWR: 10, tRP: 10, tRAS: 28, tRC: 38, tWR: 12, tRTP: 6, "
       "tCCD_L: 5, tRRD_S: 4, tRRD_L: 5, tWTR_S: 2, tWTR_L: 6, tFAW: 16, tRTW: 2, tRTRS: 2, "
       "tREFI: 6240, tRFC: 440}",
       ddr4_keys},
      {"DDR4_2400R", "DDR4", 64, 16,
       "{tCL: 16, tRCDRD: 16, tRCDWR: 16, tRP: 16, tRC: 55, tRTW: 2, tRTRS: 2, tRFC: 433, tREFI: "
       "9364}",
       ddr4_keys}};
  return all;
}

// Where the configuration's name of the file leads: it is relative to where the program runs.
std::vector<std::string> places_of(const std::string& named, const std::string& source) {
  const fs::path beside = fs::path(source).parent_path();
  const fs::path name(named);
  return {(beside / name).lexically_normal().string(),
          (beside / name.parent_path().filename() / name.filename()).string(),
          (beside / name.filename()).string()};
}

// Of several ranks all try the same ones.
std::optional<std::string> find(const std::vector<std::string>& places,
                                const config::TextLoader& load) {
  for (const std::string& place : places) {
    try {
      load(place);
      return place;
    } catch (const IoError&) {
      continue;
    }
  }
  return std::nullopt;
}

std::string ramulator_file(Source& config, const std::string& named, Request& request) {
  const std::string said = config.take<std::string>("dram_config_path").value_or("");
  if (!named.empty()) {
    return named;
  }
  const auto found =
      said.empty() ? std::nullopt : find(places_of(said, request.source), request.load);
  if (!found) {
    config.error("dram_config_path",
                 "no such file beside the configuration; name Ramulator 2's "
                 "file by --with dram=FILE");
  }
  return found.value_or("");
}

const Device* device_of(const std::string& timing) {
  const auto found = std::find_if(devices().begin(), devices().end(),
                                  [&](const Device& device) { return timing == device.timing; });
  return found == devices().end() ? nullptr : &*found;
}

// The device that a file of Ramulator 2 describes.
const Device* read_ramulator(const std::string& path, Request& request, Migrated& migrated) {
  const config::Value root = read_yaml(path, request, migrated);
  if (!request.diagnostics.empty()) {
    return nullptr;
  }
  Source file(root, request, migrated);
  file.leave("Frontend", "accesses come from the cores");
  Source memory = file.section("MemorySystem");
  memory.leave("impl", "controllers are those of machine.memory");
  memory.leave("clock_ratio", "memory has a clock of its own, dram_freq");
  memory.leave("Controller", "the scheduler is oldest-ready, as FRFCFS; see refresh for the rest");
  memory.leave("AddrMapper", "fields of addresses are in the order of RoBaRaCoCh");
  Source dram = memory.section("DRAM");
  dram.leave("impl", "the preset of the timing says it");
  dram.leave("org", "the organisation is that of the preset here; channels are dram_channels");
  Source timing = dram.section("timing");
  const auto name = timing.need<std::string>("preset");
  const Device* device = device_of(name);
  if (device == nullptr && request.diagnostics.empty()) {
    std::vector<std::string> names;
    for (const Device& known : devices()) {
      names.emplace_back(known.timing);
    }
    timing.error("preset", unknown_name("timing", name, names));
  }
  timing.leave_rest();
  dram.leave_rest();
  memory.leave_rest();
  file.leave_rest();
  return device;
}

void add_device(YamlLines& lines, const Device& device, std::int64_t channels,
                const WholePeriod& period, Source& config) {
  lines.add(2, "model: dram");
  lines.add(2, std::string("preset: ") + device.preset, device.timing);
  lines.add(2, "channels: " + std::to_string(channels),
            config.origin("dram_channels") + ": dram_channels");
  lines.add(2, "clock: " + to_string(period.clock),
            config.origin("dram_freq") + ": dram_freq, MHz, in whole ps");
  if (*device.cycles != '\0') {
    lines.add(2, std::string("timing: ") + device.cycles,
              std::string(device.timing) + " of its Ramulator 2");
  }
  for (const char* key : device.more) {
    lines.add(2, key, "as its Ramulator 2 does");
  }
  lines.add(2, "hash: ipoly", "of channels");
  for (const char* queue :
       {"read_queue: 513", "write_queue: 513", "write_high: 205", "write_low: 51"}) {
    lines.add(2, queue, "its controller: configs/dram/ramulator2_*.yaml");
  }
}

void add_port(YamlLines& lines, std::int64_t burst, const Port& port) {
  constexpr std::int64_t requests_of_a_message = 8;  // as configs/machines/onnxim_server.yaml
  const std::int64_t transfer = port.request < burst ? burst : requests_of_a_message * port.request;
  const auto rate = Bandwidth::bytes_per_second(static_cast<std::uint64_t>(burst) * ps_per_second /
                                                static_cast<std::uint64_t>(port.period_ps));
  lines.add(2, "port: " + to_string(rate), "of a channel: a burst a cycle of icnt_freq");
  lines.add(2, "request: " + to_string(Bytes(static_cast<std::uint64_t>(port.request))),
            "dram_req_size: a request takes as much with data or without");
  lines.add(2, "transfer: " + to_string(Bytes(static_cast<std::uint64_t>(transfer))),
            "messages between cores and memory");
  lines.add(2, "window: 32 MiB", "requests of a core are not limited");
}

}  // namespace

Dram read_dram(Source& config, const std::string& named, const Port& port, Request& request,
               Migrated& migrated) {
  Dram dram;
  const std::string type = config.name("dram_type", {"ramulator2", "simple"});
  const auto channels = config.need<std::int64_t>("dram_channels", {1, most_channels});
  const auto period = period_of(config.need<double>("dram_freq"));
  const auto latency = config.take<std::int64_t>("dram_latency", {0, 1'000'000}).value_or(0);
  if (!period) {
    config.error("dram_freq", "expected MHz, more than 0");
  }
  if (!request.diagnostics.empty()) {
    return dram;
  }
  const bool is_simple = type.starts_with("simple");
  const Device* device = nullptr;
  if (is_simple) {
    config.leave("dram_config_path", "dram_type is simple");
  } else if (const std::string file = ramulator_file(config, named, request); !file.empty()) {
    device = read_ramulator(file, request, migrated);
  }
  config.leave("dram_nbl", "the length of a burst is the device's");
  config.leave("dram_print_interval", "what is recorded is run.trace here");
  const std::int64_t a_cycle = device == nullptr ? port.request : device->bytes_a_cycle;
  const auto rate =
      product({static_cast<std::uint64_t>(channels * a_cycle), period->clock.frequency_hz()});
  if (!rate) {
    config.error("dram_freq", "all channels together have more than 2^63 B/s");
  }
  dram.bandwidth = Bandwidth::bytes_per_second(rate.value_or(0));
  dram.latency = SimTime::from_ps(latency * period->ps);
  dram.origin = config.origin("dram_channels") + ": dram_channels, dram_freq, dram_latency";
  dram.section.add(0, "memory:");
  if (device != nullptr) {
    dram.splits_accesses = port.request < device->burst;
    add_device(dram.section, *device, channels, *period, config);
    add_port(dram.section, device->burst, port);
  } else {
    dram.section.add(2, "model: channel", "dram_type: simple: latency and bandwidth");
  }
  return dram;
}

}  // namespace tessera::migration::onnxim
