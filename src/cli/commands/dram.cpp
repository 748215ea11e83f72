#include <iomanip>
#include <iostream>
#include <limits>
#include <sstream>

#include "file_kinds.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/core/text.hpp"
#include "tessera/memory/dram/drive.hpp"

namespace tessera::cli {
namespace {

Options dram_options() {
  Options options("dram",
                  "Drive a DRAM with a pattern of requests and print bandwidth and latency. The "
                  "file, if given, has the keys of a device, as machine.memory has.",
                  "device", "[DEVICE.yaml]");
  options.add_settings();
  options.add("preset", "device, one of those of tessera list dram-presets", text_value(), "NAME")
      .add("pattern",
           "pattern of requests: stream, random, conflict (rows of one bank), conflict-each (in "
           "each channel), hit",
           text_value("stream"), "NAME")
      .add("requests", "number of bursts", text_value("100000"), "N")
      .add("outstanding", "maximum number of requests in flight (0: as many as are accepted)",
           text_value("0"), "N")
      .add("per-cycle",
           "maximum number of requests submitted per cycle (0: as many as are accepted)",
           text_value("0"), "N")
      .add("start", "cycle of the first request", text_value("0"), "N")
      .add("interval", "minimum number of cycles between two requests", text_value("0"), "N")
      .add("writes", "fraction of writes, drawn for each request", text_value("0"), "SHARE")
      .add("by-channel", "a full channel does not block other channels")
      .add("seed", "seed of the random draws", text_value("1"), "N")
      .add("json", "print one JSON object");
  return options;
}

memory::DramPattern pattern_of(const std::string& name) {
  using memory::DramPattern;
  const std::vector<std::pair<std::string, DramPattern>> patterns{
      {"stream", DramPattern::stream},
      {"random", DramPattern::random},
      {"conflict", DramPattern::conflict},
      {"conflict-each", DramPattern::conflict_each},
      {"hit", DramPattern::hit}};
  std::vector<std::string> names;
  for (const auto& [known, pattern] : patterns) {
    if (known == name) {
      return pattern;
    }
    names.push_back(known);
  }
  throw ConfigError("--pattern: " + unknown_name("pattern", name, names));
}

memory::DramSpec read_spec(const Options& options, comm::Communicator& world) {
  config::Diagnostics diagnostics;
  config::Value root;
  root.kind = config::Value::Kind::mapping;
  if (options.has_subject()) {
    const std::string path = options.subject();
    root = config::parse(path, config::load_named(path, shared_loader(world)), diagnostics);
  }
  if (options.has("preset")) {
    config::apply_override(root, "preset=" + options.text("preset"), diagnostics);
  }
  for (const std::string& setting : options.settings()) {
    config::apply_override(root, setting, diagnostics);
  }
  config::Section section(root, "", diagnostics);
  section.declare([] { return sections_of_file("dram"); });
  memory::DramSpec spec = memory::read_dram_spec(section);
  section.finish();
  diagnostics.throw_if_any();
  return spec;
}

memory::DramDrive read_drive(const Options& options) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto count = [&](const char* name, std::int64_t least) {
    return static_cast<std::uint64_t>(options.number(name, least, most));
  };
  memory::DramDrive drive;
  drive.pattern = pattern_of(options.text("pattern"));
  drive.requests = static_cast<std::uint64_t>(options.number("requests", 1, 1'000'000'000));
  drive.outstanding = count("outstanding", 0);
  drive.per_cycle = count("per-cycle", 0);
  drive.first = options.number("start", 0, 1'000'000'000);
  drive.interval = options.number("interval", 0, 1'000'000'000);
  drive.writes = *options.value<Fraction>("writes");
  drive.by_channel = options.flag("by-channel");
  drive.seed = count("seed", 0);
  return drive;
}

struct Line {
  std::string name;  // in JSON
  std::string value;
  std::string shown;  // for people
};

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::vector<Line> lines_of(const memory::DramSpec& spec, const memory::DramMeasure& measure) {
  const double seconds = static_cast<double>(measure.duration()) /
                         static_cast<double>(spec.timing.clock.frequency_hz());
  const double bytes = static_cast<double>(measure.requests * spec.organization.burst.count());
  const double use = measure.utilization(spec);
  const auto count = [](const std::string& name, std::uint64_t value, const std::string& shown) {
    return Line{name, std::to_string(value), std::to_string(value) + shown};
  };
  return {count("requests", measure.requests, " of " + to_string(spec.organization.burst)),
          count("cycles", static_cast<std::uint64_t>(measure.cycles),
                " at " + to_string(spec.timing.clock)),
          {"bandwidth_bytes_per_s", fixed(bytes / seconds, 0),
           fixed(bytes / seconds * 1e-9, 3) + " GB/s of " + to_string(spec.peak())},
          {"utilization", fixed(use, 6), fixed(use * 100, 2) + " %"},
          {"mean_latency_cycles", fixed(measure.mean_latency(), 4),
           fixed(measure.mean_latency(), 2) + " cycles, " +
               fixed(measure.mean_latency() * 1e9 /
                         static_cast<double>(spec.timing.clock.frequency_hz()),
                     2) +
               " ns"},
          count("most_latency_cycles", static_cast<std::uint64_t>(measure.latency_most), " cycles"),
          count("row_hits", measure.counts.hits, ""),
          count("row_misses", measure.counts.misses, ""),
          count("row_conflicts", measure.counts.conflicts, ""),
          count("refreshes", measure.counts.refreshes, "")};
}

int dram_command(const Words& words, comm::Communicator& world) {
  Options options = dram_options();
  if (!options.parse(words, world)) {
    return 0;
  }
  const memory::DramSpec spec = read_spec(options, world);
  const memory::DramDrive drive = read_drive(options);
  if (world.rank() != 0) {
    return 0;
  }
  const bool json = options.flag("json");
  std::string text = json ? "{\"file_type\": \"tessera-dram\", \"format_version\": \"1.0\"" : "";
  for (const Line& line : lines_of(spec, memory::drive_dram(spec, drive))) {
    if (json) {
      text += ", \"" + line.name + "\": " + line.value;
    } else {
      std::string name = line.name.substr(0, line.name.find("_cycles"));
      name = name.substr(0, name.find("_bytes"));
      name.resize(16, ' ');
      text += name + line.shown + "\n";
    }
  }
  std::cout << text << (json ? "}\n" : "");
  return 0;
}

const Registration dram_registration(
    commands(), {"dram", "drive a DRAM with a pattern and print bandwidth and latency", {}},
    Command{"dram [DEVICE.yaml] [options]", dram_command});

}  // namespace
}  // namespace tessera::cli
