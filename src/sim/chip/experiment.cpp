// Reads the workload `operators`, whose keys are in chip/keys.hpp; those of an operator's kind are
// npu::operators()'s.
#include "chip/experiment.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "chip/job_cores.hpp"
#include "chip/keys.hpp"
#include "results/trace_names.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/npu/core/cores.hpp"

namespace tessera::sim {
namespace {

using config::Section;

// The numbers of those that it comes after.
std::vector<std::uint32_t> read_after(Section& section, std::uint32_t number,
                                      const std::map<std::string, std::uint32_t>& numbers) {
  const config::OtherKey& key = chip_keys().after;
  if (!section.has(key.key())) {
    return number == 0 ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{number - 1};
  }
  std::vector<std::uint32_t> after;
  for (const std::string& name : section.get_list<std::string>(key.key())) {
    const auto found = numbers.find(name);
    if (found == numbers.end()) {
      std::vector<std::string> names;
      for (const auto& [known, place] : numbers) {
        names.push_back(known);
      }
      section.error(key.key(), unknown_name("operator before it", name, names));
    } else if (std::find(after.begin(), after.end(), found->second) == after.end()) {
      after.push_back(found->second);
    }
  }
  return after;
}

}  // namespace

ChipStart begin_chip(Section& workload, const machine::Machine& machine,
                     const std::vector<EntityId>& cores, const compute::ComputeModel& compute,
                     Section& machine_section, Section* tenant) {
  ChipStart start{std::make_unique<executor::ChipWork>()};
  executor::ChipWork& work = *start.work;
  const npu::CoreConfig* const core = core_of_all(
      machine, cores, compute, "operators are of a chip of cores", machine_section, tenant);
  start.is_complete = core != nullptr;
  if (core != nullptr) {
    work.core = *core;
  }
  work.cores = cores;
  work.message = chip_keys().message.read(workload);
  return start;
}

void number_names(executor::ChipWork& work) {
  std::map<std::string, std::uint16_t> numbers;
  for (const executor::ChipOperator& op : work.operators) {
    const bool is_known = numbers.contains(op.name);
    const std::string text =
        is_known || numbers.size() < most_names ? op.name : std::string("(other names)");
    const auto [name, is_new] = numbers.emplace(text, static_cast<std::uint16_t>(numbers.size()));
    if (is_new) {
      work.names.push_back(text);
    }
    work.name_of.push_back(name->second);
  }
}

std::unique_ptr<executor::ChipWork> read_operators(Section& workload, ChipStart start) {
  executor::ChipWork& work = *start.work;
  work.data_type = chip_keys().data_type.read(workload);
  std::vector<Section> sections = workload.sections("operators");
  if (sections.empty()) {
    workload.raw("operators");
    workload.error("operators", "expected a list of at least one mapping");
  }
  std::map<std::string, std::uint32_t> numbers;
  std::uint32_t tiled = 0;  // operators that have tiles, so far
  const bool has_core = start.is_complete;
  bool is_complete = has_core && !sections.empty();
  for (Section& section : sections) {
    const auto number = static_cast<std::uint32_t>(work.operators.size());
    const std::string kind = chip_keys().kind.read(section);
    executor::ChipOperator op;
    op.name = chip_keys().name.read(section, kind + std::to_string(number));
    op.after = read_after(section, number, numbers);
    op.first_core = first_core_key(static_cast<std::uint32_t>(work.cores.size())).read(section);
    if (!has_core || !npu::operators().contains(kind)) {
      for (const std::string& key : section.keys()) {
        section.raw(key);
      }
      is_complete = false;
    } else {
      op.tiles = npu::operators().at(kind)(section, {work.core, work.cores.size(), work.data_type});
      is_complete = is_complete && op.tiles != nullptr;
    }
    // What moves nothing is not there for the cores, as in a model, where it is no operator.
    if (tiled != number && !op.first_core && has_core) {
      op.first_core = tiled % static_cast<std::uint32_t>(work.cores.size());
    }
    tiled += op.tiles != nullptr && op.tiles->groups() == 0 ? 0 : 1;
    if (!numbers.emplace(op.name, number).second) {
      section.error("name", "two operators are called '" + op.name + "'");
    }
    work.operators.push_back(std::move(op));
  }
  number_names(work);
  return is_complete ? std::move(start.work) : nullptr;
}

SimTime ideal_time(const executor::ChipWork& work, const machine::Machine& machine,
                   const memory::MemoryModel& memory) {
  std::map<std::uint64_t, Wide> macs;  // by those of a processing element a cycle
  Bytes operands;
  for (const executor::ChipOperator& op : work.operators) {
    macs[op.tiles->target().macs_per_pe()] += op.tiles->macs();
    operands += op.tiles->least_traffic();
  }
  std::uint64_t bandwidth = 0;
  bool is_bounded = true;
  for (std::uint32_t channel = 0; channel < machine.channels.size(); ++channel) {
    const std::optional<Bandwidth> peak = memory.peak_of(machine, channel);
    is_bounded = is_bounded && peak;
    bandwidth += peak ? peak->bytes_per_second() : 0;
  }
  Wide steps = 0;
  for (const auto& [a_cycle, count] : macs) {
    steps += count / a_cycle;
  }
  const auto cycles =
      static_cast<std::uint64_t>(steps / (Wide{work.core.array_size()} * work.cores.size()));
  const SimTime arithmetic = work.core.clock.time_of_cycle(cycles);
  return bandwidth == 0 || !is_bounded
             ? arithmetic
             : std::max(arithmetic,
                        serialization_time(operands, Bandwidth::bytes_per_second(bandwidth)));
}

}  // namespace tessera::sim
