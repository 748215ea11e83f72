#include "machine_and_work.hpp"

#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/sim/cuts/cut_workload.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::explore {

MachineAndWork read_machine_and_work(const std::string& path,
                                     const std::vector<std::string>& overrides,
                                     const config::TextLoader& load) {
  config::Diagnostics diagnostics;
  config::Section root(sim::read_configuration(path, overrides, load), "", diagnostics);
  config::Section machine_section = root.section("machine");
  config::Section workload_section = root.section("workload");
  auto machine = machine::read_machine(machine_section);
  auto workload = sim::read_cut_workload(workload_section);
  if (root.has("execution")) {
    root.raw("execution");
    root.error("execution",
               "strategies are compared by their programs, not as graphs; leave it out");
  }
  diagnostics.throw_if_any();
  ensure(machine && workload, "a part was not read and nothing was complained about");
  return {std::move(*machine), std::move(*workload)};
}

}  // namespace tessera::explore
