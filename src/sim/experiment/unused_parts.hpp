// Notes of parts of a machine that have no effect where tiles send messages and do nothing else.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/machine/machine.hpp"

namespace tessera::sim {

// Of memory channels, slow nodes, what software takes of a memory, remote memory, coherence, and
// how fast tiles compute, as far as the section of the machine has them.
void note_parts_of_other_work(config::Section machine_section, const machine::Machine& machine);

// Of the power that computing and accesses to memory draw.
void note_power_of_other_work(config::Section machine_section, const machine::Machine& machine);

// Of what software takes of a memory.
void note_unused_framework(config::Section machine_section, const machine::Machine& machine,
                           std::string_view with);

// Of compute models that have keys, those of types of tiles among them.
void note_compute_of_other_work(config::Section machine_section);

// Of what only computing takes, and of the power of accesses, where work has none of it.
void note_parts_of_computing(config::Section machine_section, const machine::Machine& machine);
void note_power_of_accesses(config::Section machine_section, const machine::Machine& machine);

// Of the parts with these names.
void note_unused_parts(config::Section machine_section, std::span<const std::string_view> parts);

}  // namespace tessera::sim
