#include "experiment/unused_parts.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tessera/compute/compute.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/machine/parameters.hpp"

namespace tessera::sim {
namespace {

using config::Section;

constexpr std::string_view messages_alone = "synthetic traffic, whose tiles only send";

bool takes_something(const machine::Framework& framework) {
  return framework.context > Bytes() || framework.communicator > Bytes() ||
         framework.block > Bytes() || framework.fragmentation.millionths() > 0 ||
         framework.pools_apart;
}

bool has_keys(const std::string& compute_model) {
  return std::ranges::any_of(compute::compute_models().infos(), [&](const PartInfo& info) {
    return info.name == compute_model && !info.parameters.empty();
  });
}

// A model without keys is the one that resolved configurations state where nobody chose.
void note_compute(Section part, std::string_view with) {
  const config::Value compute = part.raw("compute");
  const config::Value::Member* const model = compute.find("model");
  if (model != nullptr && has_keys(model->value.text)) {
    config::note_without_effect(part, "compute", with);
  }
}

void note_compute_models(Section machine_section, std::string_view with) {
  note_compute(machine_section, with);
  if (machine_section.has("types")) {
    Section types = machine_section.section("types");
    for (const std::string& name : types.keys()) {
      note_compute(types.section(name), with);
    }
  }
}

void note_power(Section machine_section, const char* key, double watts, std::string_view with) {
  if (watts > 0) {
    Section power = machine_section.section("power");
    config::note_without_effect(power, key, with);
  }
}

}  // namespace

void note_unused_parts(Section machine_section, std::span<const std::string_view> parts) {
  for (const std::string_view part : parts) {
    config::note_without_effect(machine_section, part, messages_alone);
  }
}

void note_unused_framework(Section machine_section, const machine::Machine& machine,
                           std::string_view with) {
  if (takes_something(machine.framework)) {
    config::note_without_effect(machine_section, "framework", with);
  }
}

void note_parts_of_other_work(Section machine_section, const machine::Machine& machine) {
  note_unused_parts(machine_section, std::array<std::string_view, 2>{"remote_memory", "coherence"});
  if (!machine.channels.empty()) {
    config::note_without_effect(machine_section, "dram", messages_alone);
  }
  note_unused_framework(machine_section, machine, messages_alone);
  if (machine_section.has("faults")) {
    Section faults = machine_section.section("faults");
    for (const char* const slow : {"nodes", "random"}) {
      config::note_without_effect(faults, slow, messages_alone);
    }
  }
  machine::note_tile_keys_without_effect(machine_section, messages_alone);
}

void note_power_of_other_work(Section machine_section, const machine::Machine& machine) {
  if (machine.power) {
    note_power(machine_section, "compute", machine.power->compute_w, messages_alone);
    note_power(machine_section, "memory", machine.power->memory_w, messages_alone);
  }
}

void note_compute_of_other_work(Section machine_section) {
  note_compute_models(std::move(machine_section), messages_alone);
}

void note_parts_of_computing(Section machine_section, const machine::Machine& machine) {
  constexpr std::string_view with = "work that computes nothing";
  note_compute_models(machine_section, with);
  if (machine.power) {
    note_power(machine_section, "compute", machine.power->compute_w, with);
  }
}

void note_power_of_accesses(Section machine_section, const machine::Machine& machine) {
  if (machine.power) {
    note_power(machine_section, "memory", machine.power->memory_w, "work that accesses no memory");
  }
}

}  // namespace tessera::sim
