#include "tessera/memory/dram/spec.hpp"
#include "tessera/core/fastest_clock.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "dram/memory_map.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/memory/dram/channel.hpp"

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

// Keys are made when asked for: memories register with their rows.
struct CountKey {
  CountKey(std::string name, std::uint32_t DramOrganization::*count, std::uint32_t most,
           std::string help)
      : member(count),
        key(std::move(name), "from the preset", std::move(help), config::between(1U, most)) {}

  std::uint32_t DramOrganization::*member;
  config::DerivedKey<std::uint32_t> key;
};

const std::array<CountKey, 7>& count_keys() {
  static const std::array<CountKey, 7> keys{
      {{"channels", &DramOrganization::channels, 4096, "channels, each with its own controller"},
       {"pseudo_channels", &DramOrganization::pseudo_channels, 64,
        "data buses of a channel, which share its command bus"},
       {"ranks", &DramOrganization::ranks, 64, "ranks of a pseudo-channel"},
       {"groups", &DramOrganization::groups, 64, "bank groups of a rank"},
       {"banks", &DramOrganization::banks, 64, "banks of a group"},
       {"rows", &DramOrganization::rows, 1U << 31, "rows of a bank"},
       {"row_bursts", &DramOrganization::bursts, 1U << 20, "bursts of a row"}}};
  return keys;
}

const config::NameKey& preset_key() {
  static const config::NameKey key{"preset", [] { return dram_presets().names(); }, "HBM2",
                                   "the device, see `tessera list dram-presets`"};
  return key;
}

// Of a device; defaults are the preset's.
struct DeviceKeys {
  config::DerivedKey<Bytes> access{"access", "from the preset",
                                   "bytes of a burst: the access granularity",
                                   config::between(Bytes(1), Bytes(4096))};
  config::DerivedKey<Clock> clock{"clock", "from the preset", "command clock",
                                  config::between(Clock::hertz(1), fastest_clock)};
  config::OtherKey timing{
      "timing", "mapping", "from the preset",
      "timing constraints in cycles: BL, tCL, tCWL, tRCDRD, tRCDWR, tRP, tRAS, …"};
  config::DerivedKey<std::uint32_t> commands{
      "commands", "from the preset", "commands per cycle; 2: one for rows and one for columns",
      config::between(1U, 2U)};
  config::OtherKey mapping{"mapping", "list of name", "from the preset",
                           "fields of an address, from the highest"};
};

const DeviceKeys& device_keys() {
  static const DeviceKeys keys;
  return keys;
}

// Of a rank; every preset has an interval.
config::Key<bool> refresh_key(bool usual) {
  return {"refresh", usual, "whether ranks are refreshed, each once per tREFI"};
}

enum class Page : std::uint8_t { open, closed, strict };

const char* page_of(const DramController& controller) {
  return controller.strict_page ? "strict" : controller.closed_page ? "closed" : "open";
}

// Of a controller, which is as `usual` if not given.
struct ControllerKeys {
  explicit ControllerKeys(const DramController& usual);

  config::NameKey scheduler;
  config::ChoiceKey<Page> page;
  config::ChoiceKey<bool> hash_channels;
  config::Key<std::uint32_t> read_queue;
  config::Key<std::uint32_t> write_queue;
  config::Key<std::uint32_t> bank_queue;
};

constexpr std::uint32_t longest_queue = 1U << 20;
constexpr std::string_view with_bank_queues = "bank-queues";

ControllerKeys::ControllerKeys(const DramController& usual)
    : scheduler(
          "scheduler", [] { return dram_schedulers().names(); }, usual.scheduler,
          "oldest-ready or bank-queues"),
      page("page", {{"open", Page::open}, {"closed", Page::closed}, {"strict", Page::strict}},
           page_of(usual),
           "open; closed: a row for which no request waits is closed at once; strict: every row is "
           "closed by the request that opened it"),
      hash_channels("hash", {{"none", false}, {"ipoly", true}}, "none",
                    "none, or ipoly: pseudo-random channels"),
      read_queue("read_queue", usual.read_queue, "reads that a channel can queue",
                 config::between(1U, longest_queue)),
      write_queue("write_queue", usual.write_queue, "writes that a channel can queue",
                  config::between(1U, longest_queue)),
      bank_queue("bank_queue", usual.bank_queue, "requests that a bank can queue, with bank-queues",
                 config::between(1U, 1024U)) {}

config::DerivedKey<std::uint32_t> write_high_key(std::uint32_t write_queue) {
  return {"write_high", "4/5 of write_queue", "number of queued writes at which writing begins",
          config::between(1U, write_queue)};
}
config::DerivedKey<std::uint32_t> write_low_key(std::uint32_t write_high) {
  return {"write_low", "1/4 of write_high", "number of queued writes at which writing ends",
          config::between(0U, write_high)};
}

unsigned address_bits(const DramOrganization& of) {
  int bits = std::countr_zero(of.burst.count());
  for (const CountKey& count : count_keys()) {
    bits += std::countr_zero(of.*count.member);
  }
  return static_cast<unsigned>(bits);
}

void read_organization(config::Section& section, DramOrganization& of) {
  for (const auto& [member, key] : count_keys()) {
    const std::uint32_t count = key.read(section, of.*member);
    if (std::has_single_bit(count)) {
      of.*member = count;
    } else {
      section.error(key.key(), "must be a power of two");
    }
  }
  const Bytes burst = device_keys().access.read(section, of.burst);
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
  timing.clock = device_keys().clock.read(section, timing.clock);
  config::Section keys = section.section(device_keys().timing.key());
  const bool usual = timing.refi > 0;  // of the preset
  for (const TimingKey& key : timing_keys) {
    timing.*key.member = keys.get_or<std::int64_t>(
        key.name, timing.*key.member, config::between<std::int64_t>(key.least, 1'000'000'000));
  }
  if (!refresh_key(usual).read(section)) {
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
  const std::string_view key = device_keys().mapping.key();
  const std::vector<std::string> given =
      section.get_list<std::string>(key, names_of(controller.mapping));
  std::vector<DramField> mapping;
  for (const std::string& name : given) {
    const auto found = std::find(field_names.begin(), field_names.end(), name);
    if (found == field_names.end()) {
      const std::vector<std::string> known(field_names.begin(), field_names.end());
      section.error(key, unknown_name("field", name, known));
      return;
    }
    const auto field = static_cast<DramField>(found - field_names.begin());
    if (std::find(mapping.begin(), mapping.end(), field) != mapping.end()) {
      section.error(key, "has '" + name + "' twice");
      return;
    }
    mapping.push_back(field);
  }
  if (mapping.size() < dram_fields) {
    section.error(key, "must have each of channel, pseudo, rank, group, bank, row, column");
    return;
  }
  controller.mapping = mapping;
}

void read_controller(config::Section& section, DramController& controller) {
  const ControllerKeys keys(controller);
  controller.scheduler = keys.scheduler.read(section);
  const Page page = keys.page.read(section);
  controller.closed_page = page == Page::closed;
  controller.strict_page = page == Page::strict;
  controller.two_commands =
      device_keys().commands.read(section, controller.two_commands ? 2 : 1) == 2;
  controller.hash_channels = keys.hash_channels.read(section);
  read_mapping(section, controller);
  controller.read_queue = keys.read_queue.read(section);
  controller.write_queue = keys.write_queue.read(section);
  const std::uint32_t usual = std::exchange(controller.bank_queue, keys.bank_queue.read(section));
  if (controller.bank_queue != usual && controller.scheduler != with_bank_queues) {
    config::note_without_effect(section, keys.bank_queue.key(),
                                "scheduler: " + controller.scheduler);
  }
  const std::uint32_t writes = controller.write_queue;
  controller.write_high =
      write_high_key(writes).read(section, std::max<std::uint32_t>(1, writes * 4 / 5));
  controller.write_low =
      write_low_key(controller.write_high).read(section, controller.write_high / 4);
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
  DramSpec spec = dram_presets().at(preset_key().read(section))();
  read_organization(section, spec.organization);
  read_timing(section, spec.timing);
  read_controller(section, spec.controller);
  return spec;
}

std::vector<ParameterInfo> dram_parameters() {
  std::vector<ParameterInfo> list{preset_key().info()};
  for (const CountKey& count : count_keys()) {
    list.push_back(count.key);
  }
  const DeviceKeys& device = device_keys();
  const ControllerKeys controller{DramController{}};
  list.insert(list.end(),
              {device.access, device.clock, device.timing, refresh_key(true),
               controller.scheduler.info(), controller.page, device.commands, device.mapping,
               controller.hash_channels, controller.read_queue, controller.write_queue,
               controller.bank_queue, write_high_key(longest_queue), write_low_key(longest_queue)});
  return list;
}

}  // namespace tessera::memory
