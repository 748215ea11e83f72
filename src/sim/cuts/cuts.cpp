#include "tessera/sim/cuts/cuts.hpp"

#include <algorithm>

namespace tessera::sim {

Registry<Cutter>& cutters() {
  static Registry<Cutter> registry("partition");
  return registry;
}

std::vector<PartInfo> partition_infos() {
  std::vector<PartInfo> infos = machine::partitioners().infos();
  const std::vector<PartInfo> own = cutters().infos();
  infos.insert(infos.end(), own.begin(), own.end());
  infos.push_back({automatic_partition,
                   "the partition predicted to be fastest, on as many ranks as are worthwhile "
                   "(the default)",
                   {}});
  std::sort(infos.begin(), infos.end(),
            [](const PartInfo& a, const PartInfo& b) { return a.name < b.name; });
  return infos;
}

std::vector<std::string> partition_names() {
  std::vector<std::string> names;
  for (const PartInfo& info : partition_infos()) {
    names.push_back(info.name);
  }
  return names;
}

std::string partition_objection(const Experiment& experiment, const std::string& name) {
  if (cutters().contains(name)) {
    return cutters().at(name).objection(experiment);
  }
  if (name == automatic_partition) {
    return "";
  }
  try {  // only the partitioner knows what it can cut
    machine::partitioners().at(name)(*experiment.machine.topology, 1, {});
  } catch (const ConfigError& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

}  // namespace tessera::sim
