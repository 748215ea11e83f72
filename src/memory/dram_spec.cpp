#include "tessera/memory/dram_spec.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "dram_memory_map.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/memory/dram_channel.hpp"

namespace tessera::memory {
namespace {

constexpr std::uint32_t most_banks = 64;

constexpr std::array<const char*, dram_fields> field_names{"channel", "pseudo", "rank",  "group",
                                                           "bank",    "row",    "column"};

struct TimingKey {
  const char* name;
  Cycle DramTiming::*member;
  Cycle least;
};
constexpr std::array<TimingKey, 22> timing_keys{
    {{"BL", &DramTiming::burst, 1},         {"tCL", &DramTiming::cl, 1},
     {"tCWL", &DramTiming::cwl, 1},         {"tRCDRD", &DramTiming::rcd_read, 1},
     {"tRCDWR", &DramTiming::rcd_write, 1}, {"tRP", &DramTiming::rp, 1},
     {"tRAS", &DramTiming::ras, 1},         {"tRC", &DramTiming::rc, 1},
     {"tWR", &DramTiming::wr, 0},           {"tRTP", &DramTiming::rtp, 1},
     {"tCCD_S", &DramTiming::ccd_s, 1},     {"tCCD_L", &DramTiming::ccd_l, 1},
     {"tRRD_S", &DramTiming::rrd_s, 1},     {"tRRD_L", &DramTiming::rrd_l, 1},
     {"tWTR_S", &DramTiming::wtr_s, 0},     {"tWTR_L", &DramTiming::wtr_l, 0},
     {"tFAW", &DramTiming::faw, 1},         {"tRTW", &DramTiming::rtw, 0},
     {"tRTRS", &DramTiming::rtrs, 0},       {"tACT", &DramTiming::act, 1},
     {"tRFC", &DramTiming::rfc, 1},         {"tREFI", &DramTiming::refi, 0}}};

struct CountKey {
  const char* name;
  std::uint32_t DramOrganization::*member;
  std::uint32_t most;
  const char* help;
};
constexpr std::array<CountKey, 7> count_keys{
    {{"channels", &DramOrganization::channels, 4096, "channels, each with its own controller"},
     {"pseudo_channels", &DramOrganization::pseudo_channels, 64,
      "data buses of a channel, which share its commands"},
     {"ranks", &DramOrganization::ranks, 64, "ranks of a pseudo-channel"},
     {"groups", &DramOrganization::groups, 64, "bank groups of a rank"},
     {"banks", &DramOrganization::banks, 64, "banks of a group"},
     {"rows", &DramOrganization::rows, 1U << 31, "rows of a bank"},
     {"row_bursts", &DramOrganization::bursts, 1U << 20, "bursts of a row"}}};

unsigned address_bits(const DramOrganization& of) {
  int bits = std::countr_zero(of.burst.count());
  for (const CountKey& key : count_keys) {
    bits += std::countr_zero(of.*key.member);
  }
  return static_cast<unsigned>(bits);
}

void read_organization(config::Section& section, DramOrganization& of) {
  for (const CountKey& key : count_keys) {
    const auto count = static_cast<std::uint32_t>(section.get_or<std::int64_t>(
        key.name, of.*key.member, config::between<std::int64_t>(1, key.most)));
    if (std::has_single_bit(count)) {
      of.*key.member = count;
    } else {
      section.error(key.name, "must be a power of two");
    }
  }
  const auto burst =
      section.get_or<Bytes>("access", of.burst, config::between(Bytes(1), Bytes(4096)));
  if (std::has_single_bit(burst.count())) {
    of.burst = burst;
  } else {
    section.error("access", "must be a power of two");
  }
  const std::uint64_t banks = std::uint64_t{of.pseudo_channels} * of.ranks * of.groups * of.banks;
  if (banks > most_banks) {
    section.error("banks", "a channel has " + std::to_string(banks) + " banks; " +
                               std::to_string(most_banks) + " are the most");
  } else if (address_bits(of) > dram_address_bits) {
    section.error("rows", "the device has 2^" + std::to_string(address_bits(of)) + " bytes; 2^" +
                              std::to_string(dram_address_bits) + " are the most");
  }
}

void read_timing(config::Section& section, DramTiming& timing) {
  timing.clock = section.get_or<Clock>("clock", timing.clock, config::at_least(Clock::hertz(1)));
  config::Section keys = section.section("timing");
  const bool usual = timing.refi > 0;  // of the preset
  for (const TimingKey& key : timing_keys) {
    timing.*key.member = keys.get_or<std::int64_t>(
        key.name, timing.*key.member, config::between<std::int64_t>(key.least, 1'000'000'000));
  }
  if (!section.get_or<bool>("refresh", usual)) {
    timing.refi = 0;
  } else if (timing.refi <= timing.rfc) {
    keys.error("tREFI", "must be above tRFC, or `refresh: false`");
  }
}

std::vector<std::string> names_of(const std::vector<DramField>& fields) {
  std::vector<std::string> names;
  for (const DramField field : fields) {
    names.emplace_back(field_names[static_cast<std::size_t>(field)]);
  }
  return names;
}

void read_mapping(config::Section& section, DramController& controller) {
  const std::vector<std::string> given =
      section.get_list<std::string>("mapping", names_of(controller.mapping));
  std::vector<DramField> mapping;
  for (const std::string& name : given) {
    const auto found = std::find(field_names.begin(), field_names.end(), name);
    if (found == field_names.end()) {
      const std::vector<std::string> known(field_names.begin(), field_names.end());
      section.error("mapping", unknown_name("field", name, known));
      return;
    }
    const auto field = static_cast<DramField>(found - field_names.begin());
    if (std::find(mapping.begin(), mapping.end(), field) != mapping.end()) {
      section.error("mapping", "has '" + name + "' twice");
      return;
    }
    mapping.push_back(field);
  }
  if (mapping.size() < dram_fields) {
    section.error("mapping", "must have each of channel, pseudo, rank, group, bank, row, column");
    return;
  }
  controller.mapping = mapping;
}

std::uint32_t read_count(config::Section& section, const char* key, std::uint32_t by_default,
                         std::uint32_t least, std::uint32_t most) {
  return static_cast<std::uint32_t>(
      section.get_or<std::int64_t>(key, by_default, config::between<std::int64_t>(least, most)));
}

void read_controller(config::Section& section, DramController& controller) {
  controller.scheduler =
      section.get_name("scheduler", dram_schedulers().names(), controller.scheduler);
  const std::string page = section.get_name("page", {"open", "closed", "strict"},
                                            controller.strict_page   ? "strict"
                                            : controller.closed_page ? "closed"
                                                                     : "open");
  controller.closed_page = page == "closed";
  controller.strict_page = page == "strict";
  controller.two_commands =
      read_count(section, "commands", controller.two_commands ? 2 : 1, 1, 2) == 2;
  controller.hash_channels = section.get_name("hash", {"none", "ipoly"}, "none") == "ipoly";
  read_mapping(section, controller);
  constexpr std::uint32_t most = 1U << 20;
  controller.read_queue = read_count(section, "read_queue", controller.read_queue, 1, most);
  controller.write_queue = read_count(section, "write_queue", controller.write_queue, 1, most);
  controller.bank_queue = read_count(section, "bank_queue", controller.bank_queue, 1, 1024);
  const std::uint32_t writes = controller.write_queue;
  controller.write_high =
      read_count(section, "write_high", std::max<std::uint32_t>(1, writes * 4 / 5), 1, writes);
  controller.write_low =
      read_count(section, "write_low", controller.write_high / 4, 0, controller.write_high);
}

}  // namespace

Bytes DramOrganization::capacity() const {
  return burst * bursts * rows * banks_of_channel() * channels;
}

Bandwidth DramSpec::peak() const {
  const Wide bytes = static_cast<Wide>(organization.burst.count()) * organization.channels *
                     organization.pseudo_channels * timing.clock.frequency_hz();
  return Bandwidth::bytes_per_second(
      static_cast<std::uint64_t>(bytes / static_cast<std::uint64_t>(timing.burst)));
}

Registry<DramPresetMaker>& dram_presets() {
  static Registry<DramPresetMaker> registry("DRAM preset");
  return registry;
}

Registry<DramSchedulerMaker>& dram_schedulers() {
  static Registry<DramSchedulerMaker> registry("DRAM scheduler");
  return registry;
}

std::unique_ptr<DramChannel> make_dram_channel(const DramSpec& spec) {
  return dram_schedulers().at(spec.controller.scheduler)(spec);
}

DramSpec read_dram_spec(config::Section& section) {
  const std::string preset = section.get_name("preset", dram_presets().names(), "HBM2");
  DramSpec spec = dram_presets().at(dram_presets().contains(preset) ? preset : "HBM2")();
  read_organization(section, spec.organization);
  read_timing(section, spec.timing);
  read_controller(section, spec.controller);
  return spec;
}

std::vector<ParameterInfo> dram_parameters() {
  std::vector<ParameterInfo> list{
      {"preset", "", "HBM2", "the device, see `tessera list dram-presets`"}};
  for (const CountKey& key : count_keys) {
    list.push_back({key.name, "", "of the preset", key.help});
  }
  const std::vector<ParameterInfo> others{
      {"access", "B", "of the preset", "bytes of a burst: the access granularity"},
      {"clock", "Hz", "of the preset", "of commands"},
      {"timing", "", "of the preset", "cycles: BL, tCL, tCWL, tRCDRD, tRCDWR, tRP, tRAS, …"},
      {"refresh", "", "true", "of a rank every tREFI"},
      {"scheduler", "", "oldest-ready", "or bank-queues"},
      {"page", "", "open",
       "or closed: a row no request waits for is closed at once; strict: every row is, by the "
       "request that opened it"},
      {"commands", "", "of the preset", "commands a cycle: 2 is one for rows and one for columns"},
      {"mapping", "", "of the preset", "fields of an address, the highest first"},
      {"hash", "", "none", "or ipoly: pseudo-random channels"},
      {"read_queue", "", "64", "reads that a channel holds"},
      {"write_queue", "", "64", "writes that a channel holds"},
      {"bank_queue", "", "8", "requests that a bank holds, with bank-queues"},
      {"write_high", "", "4/5 of write_queue", "writes at which writing begins"},
      {"write_low", "", "1/4 of write_high", "writes at which it ends"}};
  list.insert(list.end(), others.begin(), others.end());
  return list;
}

}  // namespace tessera::memory
