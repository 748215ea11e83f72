#include "machine_and_work.hpp"

#include <optional>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/sim/cuts/cut_workload.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/sections.hpp"

namespace tessera::explore {
namespace {

std::optional<workload::Workload> read_work(config::Section& job) {
  config::Section section = job.section("workload");
  auto workload = sim::read_cut_workload(section);
  if (job.has("execution")) {
    job.raw("execution");
    job.error("execution",
              "strategies are compared by their programs, not as graphs; leave it out");
  }
  return workload;
}

}  // namespace

MachineAndWork read_machine_and_work(const std::string& path,
                                     const std::vector<std::string>& overrides,
                                     const config::TextLoader& load) {
  config::Diagnostics diagnostics;
  config::Section root(sim::read_configuration(path, overrides, load), "", diagnostics);
  root.declare([] { return sim::sections_of_file("experiment"); });
  config::Section machine_section = root.section("machine");
  auto machine = machine::read_machine(machine_section);
  sim::Platform platform;
  if (machine) {
    platform.machine = std::move(*machine);
  }
  std::optional<config::Section> job = sim::section_to_cut(root, machine ? &platform : nullptr);
  std::optional<workload::Workload> workload = job ? read_work(*job) : std::nullopt;
  diagnostics.throw_if_any();
  ensure(machine && workload, "a part was not read and nothing was complained about");
  return {std::move(platform.machine), std::move(*workload)};
}

}  // namespace tessera::explore
